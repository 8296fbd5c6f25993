//! The znode on which the lead of an external program rests.

use serde::{Deserialize, Serialize};

/// The kind of that znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeadKind {
    /// The first created znode among those that end in a sequence number.
    Queue,
    /// The one znode of a fixed name, by default `lock`.
    Lock,
}
