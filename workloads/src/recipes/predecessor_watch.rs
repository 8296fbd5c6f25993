//! `predecessor-watch`: queue up, watch only the next lower znode, list again when it goes. One wake-up a death.

use super::queue::{Discipline, Office, Succession};

pub(super) const DISCIPLINE: Discipline =
    Discipline { watched: |place| place - 1, succession: Succession::ListAgain, office: Office::Proper };
