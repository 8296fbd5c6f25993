//! The ways of a link, wherever one is cut off or slowed.

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
    /// True unless it is about the way from server to host alone.
    #[must_use]
    pub fn is_up(self) -> bool {
        self != Self::Down
    }

    /// True unless it is about the way from host to server alone.
    #[must_use]
    pub fn is_down(self) -> bool {
        self != Self::Up
    }
}
