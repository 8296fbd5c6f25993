//! A candidate's terms, and how its incarnations end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nanos::Nanos;
use crate::session::SessionEnd;

/// Fencing token of a term. Ordered by `czxid` first: later znodes have larger ones, in one ensemble's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// czxid of the candidate's (or the lock's) znode.
    pub czxid: i64,
    /// The session that owns it: the incarnation.
    pub session: i64,
}

impl Token {
    /// Placeholder for an unknown czxid. No znode has this value.
    pub const UNKNOWN_CZXID: i64 = -1;

    /// Whether the token can be ordered: its czxid is known.
    #[must_use]
    pub fn is_ordered(self) -> bool {
        self.czxid != Self::UNKNOWN_CZXID
    }
}

/// Why a belief ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RevokeReason {
    /// It was asked to resign, or to stop.
    Resigned,
    /// The step-down policy spoke while the connection was lost; of a program of somebody else's: it stopped by itself,
    /// or wrote no more.
    SteppedDown,
    /// The session ended.
    SessionEnded,
    /// Its znode is gone, or belongs to another session.
    Deposed,
    /// The election itself was deleted.
    ElectionDeleted,
}

/// How a candidate's incarnation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Departure {
    /// By order. `delete` tells when the znode's deletion was sent and when it was answered, if there was one to delete.
    Resigned { delete: Option<(Nanos, Nanos)> },
    /// By order, for good.
    Stopped,
    /// Its session ended under it.
    SessionEnded(SessionEnd),
    /// The election was deleted: everybody is told and ends.
    ElectionDeleted,
    /// It cannot go on (an error the recipe has no answer to).
    Failed(String),
}

impl Departure {
    /// Result of an order to resign: when the deletion of the candidate's znode was sent and answered.
    ///
    /// # Errors
    /// A sentence on how the candidate left instead.
    pub fn resignation(&self) -> Result<(Nanos, Nanos), String> {
        match self {
            Self::Resigned { delete: Some(times) } => Ok(*times),
            Self::Resigned { delete: None } => Err("it resigned without a znode to delete".to_owned()),
            other => Err(format!("it left otherwise: {other:?}")),
        }
    }

    /// When the deletion of its znode was sent and answered, if it resigned and had one.
    #[must_use]
    pub fn deletion(&self) -> Option<(Nanos, Nanos)> {
        match self {
            Self::Resigned { delete } => *delete,
            Self::Stopped | Self::SessionEnded(_) | Self::ElectionDeleted | Self::Failed(_) => None,
        }
    }
}
