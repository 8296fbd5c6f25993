//! A recipe's declarations: the promises that its cells are checked against.

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
    /// Requests that one wake-up causes, at most, while nobody else goes; None: it declares no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_wake_max: Option<u32>,
    /// Znodes of its group, besides its own, that a candidate watches at once, at most; None: as many as whom a loss wakes makes it
    /// watch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watches_max: Option<u32>,
}

impl Declaration {
    /// Largest number of znodes of its group, besides its own, that one candidate watches at once.
    #[must_use]
    pub fn watches(&self) -> u32 {
        self.watches_max.unwrap_or(self.watches_for_wake_ups())
    }

    /// How many of those it watches for reasons other than wake-ups.
    #[must_use]
    pub fn watches_besides(&self) -> u32 {
        self.watches().saturating_sub(self.watches_for_wake_ups())
    }

    /// Number of znodes that a candidate must watch, so that losses wake the declared candidates.
    #[must_use]
    pub fn watches_for_wake_ups(&self) -> u32 {
        self.leader_wakes.watched().max(self.follower_wakes.watched())
    }
}
