//! When exactly a fault hits, once its time has come.

use serde::{Deserialize, Serialize};

/// When a fault hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// When the plan says.
    #[default]
    Planned,
    /// From then on it lies in wait for a candidate on one of its hosts that has won and does not believe it yet: its host is
    /// hit in that very moment, and no other one.
    Won,
}

impl Moment {
    /// For `skip_serializing_if`.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        *self == Self::Planned
    }
}
