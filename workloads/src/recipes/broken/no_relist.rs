//! "My predecessor died, so I lead": predecessor-watch without the re-list. When a candidate in the middle of the queue goes,
//! its follower leads beside the leader.

use crate::recipes::queue::{Discipline, Office, Succession};

pub(in crate::recipes) const DISCIPLINE: Discipline =
    Discipline { watched: |place| place - 1, succession: Succession::Presumed, office: Office::Proper };
