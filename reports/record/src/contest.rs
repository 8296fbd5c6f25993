//! The side of a cell, where a run compares two configurations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::names;

/// A cell's part in a comparison within one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairMember {
    /// What both sides of the pair are called: the name of the base's cell.
    pub pair: String,
    pub side: ComparisonSide,
}

/// What is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonSide {
    /// What was there before.
    Base,
    /// What is compared with it.
    New,
}

names! {
    ComparisonSide { Base = "base", New = "new" }
}
