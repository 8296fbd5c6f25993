//! Whether a check that passed could have failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What mutations tell of a check that passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Testability {
    /// Names of mutations of this cell that it would have caught, one at least; not all were tried.
    WouldCatch(Vec<String>),
    /// It would have passed whatever had been altered: of each mutation that it is there to catch, why.
    NotTestableHere(Vec<String>),
}
