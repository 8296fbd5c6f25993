//! Which repetition a cell is, where its configuration was run several times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limit on the repetitions of a cell in a run.
pub const REPETITIONS_MAX: u32 = 1_000;

/// A cell's place among the repetitions of one configuration in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// Name of the configuration: that of the scenario's cell, which its first repetition bears too.
    pub of: String,
    /// Number of this one, from 1.
    pub number: u32,
    /// How many were planned.
    pub count: u32,
    /// How many there may be at most, where the planned ones do not tell enough; 0 where that was not recorded.
    #[serde(default)]
    pub at_most: u32,
}
