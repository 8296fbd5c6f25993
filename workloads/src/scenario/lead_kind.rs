//! What the lead of a program of others can rest on.

use serde::{Deserialize, Serialize};

use crate::recipes::LeadNode;

/// What a program's lead rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeadKind {
    /// The znode that came first of those that end in a sequence number.
    Queue,
    /// The one znode that is called `lock`.
    Lock,
}

impl LeadKind {
    /// The znodes that a lead can rest on.
    #[must_use]
    pub fn node(self) -> LeadNode {
        match self {
            Self::Queue => LeadNode::AnyQueue,
            Self::Lock => LeadNode::Lock,
        }
    }
}
