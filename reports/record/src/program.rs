//! How an external program introduces itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grade::EvidenceSource;
use crate::nanos::Nanos;

/// The program, as it introduces itself. What it did is read off its connections; what it believes is known by its own word
/// (`belief` is `report`) or, where that cannot be trusted or had (`why`), by its writes alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramInfo {
    pub t: Nanos,
    pub name: String,
    pub version: String,
    /// What it says that it can do.
    pub can: Vec<String>,
    pub belief: EvidenceSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
