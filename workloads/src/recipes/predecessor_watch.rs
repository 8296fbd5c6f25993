//! `predecessor-watch`: queue up, watch only the next lower znode, list again when it goes. One wake-up a death.

use super::recipe::Recipe;

pub(super) struct PredecessorWatch;

impl Recipe for PredecessorWatch {}
