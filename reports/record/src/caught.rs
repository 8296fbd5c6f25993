//! Kinds of findings that catch a broken recipe.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::names;

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Two beliefs at once.
    Overlap,
    /// A stale write that the unfenced ledger accepted.
    StaleWrite,
    /// A write outside the terms of its sender, or under way when that gave its lead back.
    StrayWrite,
    /// A group without a leader beyond its bound, or at the end.
    Leaderless,
    /// A znode that nobody stands behind, or a candidate without one.
    Orphan,
    /// Watches that nobody waits for pile up at the servers.
    Watches,
    /// A leader's loss wakes others than the recipe promises.
    FanOut,
    /// The lead changes hands, and nothing was done to anybody.
    Unplanned,
    /// A candidate that does not stand, is never done, or has not at the servers what it should have.
    Absent,
    /// A loss that is noticed, or a lead that is taken, later than promised.
    Late,
}

names! {
    FindingKind {
        Overlap = "overlap", StaleWrite = "stale-write", StrayWrite = "stray-write", Leaderless = "leaderless",
        Orphan = "orphan", Watches = "watches", FanOut = "fan-out", Unplanned = "unplanned", Absent = "absent",
        Late = "late",
    }
}
