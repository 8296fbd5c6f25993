//! The phases of a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A phase of a cell, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    SetUp,
    Enrol,
    WarmUp,
    Measure,
    Heal,
    Drain,
    TearDown,
    End,
}
