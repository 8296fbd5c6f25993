//! The directions of a link, for faults that cut it off or slow it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::names;

/// Which way of a link something is done to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From host to server.
    Up,
    /// From server to host.
    Down,
    /// Both ways.
    #[default]
    Both,
}

names! {
    Direction {
        Up = "up",
        Down = "down",
        Both = "both",
    }
}

impl Direction {
    /// True unless only the direction from server to host is affected.
    #[must_use]
    pub fn is_up(self) -> bool {
        self != Self::Down
    }

    /// True unless only the direction from host to server is affected.
    #[must_use]
    pub fn is_down(self) -> bool {
        self != Self::Up
    }
}
