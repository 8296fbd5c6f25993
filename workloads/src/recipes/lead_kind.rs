//! What the lead of a program of others can rest on.

use serde::{Deserialize, Serialize};

/// What a program's lead rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeadKind {
    /// The znode that came first of those that end in a sequence number.
    Queue,
    /// The one znode of a fixed name: `lock`, unless told.
    Lock,
}
