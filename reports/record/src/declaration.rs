//! What a recipe declares of itself: the promises that its cells are held against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::expect::FanOut;

/// What a recipe declares. A broken one declares what the recipe that it pretends to be declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Declaration {
    /// Which others the loss of a leader wakes. Nobody is woken for any other reason than a loss.
    pub leader_wakes: FanOut,
    /// Which others the loss of a follower wakes.
    pub follower_wakes: FanOut,
    /// Requests that one wake-up causes, at most, while nobody else goes.
    pub requests_per_wake_max: u32,
}
