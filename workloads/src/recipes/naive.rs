//! `naive`: queue up, and everyone watches the lowest znode: the herd.

use super::queue::{Discipline, Office, Succession};

pub(super) const DISCIPLINE: Discipline =
    Discipline { watched: |_| 0, succession: Succession::ListAgain, office: Office::Proper };
