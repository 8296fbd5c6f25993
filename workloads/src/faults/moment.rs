//! The exact moment at which a fault hits.

use serde::{Deserialize, Serialize};

/// When a fault hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// At its planned time.
    #[default]
    Planned,
    /// From its planned time on, it waits for a candidate on one of its hosts that has won but does not believe it yet.
    /// It hits that candidate's host in that moment, and no other.
    Won,
}

impl Moment {
    /// For `skip_serializing_if`.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        *self == Self::Planned
    }
}
