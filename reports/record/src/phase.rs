//! The phases of a cell.

use serde::{Deserialize, Serialize};

/// A phase of a cell, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
