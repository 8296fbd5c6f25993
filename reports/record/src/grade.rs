//! The kind of evidence that a finding rests on, and so the source that must be trusted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::names;

/// Whose word is taken. The first trusts the fewest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceSource {
    /// What the kernel says of a process.
    Process,
    /// The order in which writes came to the resource: nobody need be trusted.
    Effect,
    /// What was read off the connections, and what the servers say.
    Wire,
    /// What the candidate says of itself.
    Report,
}

names! { EvidenceSource { Process = "process", Effect = "effect", Wire = "wire", Report = "report" } }
