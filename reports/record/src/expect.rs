//! What a scenario expects of a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::names;

/// What must, must not or may be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Any sight of it is a failure.
    #[default]
    None,
    /// Known unsafe: it must be seen, or the cell fails for not showing what theory says.
    Some,
    /// Neither way is compared with the cell.
    Any,
    /// What no recipe can promise not to be may be seen, and nothing else.
    Excused,
}

impl Expectation {
    /// Whether an observation that no fault explains is a failure.
    #[must_use]
    pub fn forbids_the_unexplained(self) -> bool {
        match self {
            Self::None | Self::Excused => true,
            Self::Some | Self::Any => false,
        }
    }

    /// The expectation under randomly combined faults, derived from this one for the scenario's own faults.
    #[must_use]
    pub fn at_random(self) -> Self {
        match self {
            Self::None | Self::Excused => Self::Excused,
            // A policy that is known to be unsafe need not show it each time.
            Self::Some | Self::Any => Self::Any,
        }
    }

    /// The same, without requiring that it is observed.
    #[must_use]
    pub fn at_most(self) -> Self {
        if self == Self::Some { Self::Any } else { self }
    }

    /// How many of the observations count, after the excused ones are subtracted where they are permitted.
    #[must_use]
    pub fn counted(self, seen: u64, excused: u64) -> u64 {
        if self == Self::Excused { seen.saturating_sub(excused) } else { seen }
    }
}

/// What a scenario expects of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expect {
    /// Definite overlaps of belief while both candidates' processes run.
    pub overlap: Expectation,
    /// Largest definite overlap that is still as theory says, as a fraction of T. Larger is a failure.
    pub overlap_of_t_max: Option<f64>,
    /// Stale writes accepted by the ledger that `fencing` names.
    pub stale_writes: Expectation,
    /// Handovers that no injected fault explains.
    pub unplanned: Expectation,
    /// Leads that are lost, whether a fault explains it or not; `None`: neither way is compared with the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handovers: Option<Expectation>,
    /// Leads that are kept through a whole hang of their work; `None`: neither way is compared with the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hung_leads: Option<Expectation>,
    /// Other candidates woken per leader loss, as the recipe declares; `None`: nothing is promised.
    pub fan_out: Option<FanOut>,
    /// Id of the server that must lead the ensemble after each of its elections; `None`: whichever the votes elect.
    #[serde(default)]
    pub server_leader: Option<u32>,
    /// Why this is expected, for the report.
    pub because: String,
}

names! { Expectation { None = "none", Some = "some", Any = "any", Excused = "excused" } }

/// How many other candidates are to be woken when one is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FanOut {
    /// Exactly one: the next in the queue, if there is one.
    One,
    /// The next two in the queue, as far as they are there.
    Two,
    /// All others of the group.
    AllOthers,
    /// Nobody.
    None,
}

impl FanOut {
    /// The candidates that a loss wakes, in words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::None => "nobody",
            Self::One => "the next in line",
            Self::Two => "the next two in line",
            Self::AllOthers => "all others",
        }
    }

    /// Number of znodes that each candidate must watch for that.
    #[must_use]
    pub fn watched(self) -> u32 {
        match self {
            Self::None => 0,
            Self::One | Self::AllOthers => 1,
            Self::Two => 2,
        }
    }
}

names! { FanOut { One = "one", Two = "two", AllOthers = "all-others", None = "none" } }
