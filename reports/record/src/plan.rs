//! The faults of a cell's plan, and why some of them were withheld.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::FaultKind;
use crate::names::names;
use crate::nanos::Nanos;

/// One fault of a cell's plan. It is ordered, as one fault or as one for each candidate that it hits, or it is withheld.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultIntent {
    /// Its number in the plan.
    pub id: u32,
    pub kind: FaultKind,
    pub intended: Nanos,
    pub for_ms: Option<u64>,
    /// Its target, as the scenario describes it.
    pub target: String,
}

/// A heal counts as on time if it is late by less than this, or by less than a twentieth of the planned duration.
const LATE_NS: Nanos = 25_000_000;

/// Whether a fault that lasted `lasted_ns` and was planned for `planned_ms` lasted longer than planned.
#[must_use]
pub fn overran(lasted_ns: Nanos, planned_ms: u64) -> bool {
    let planned_ns = planned_ms.saturating_mul(1_000_000);
    lasted_ns > planned_ns.saturating_add((planned_ns / 20).max(LATE_NS))
}

/// Why a planned fault was not ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WithheldReason {
    NoHealthyHost,
    NoLeader,
    NoFollower,
    NoWinner,
    NoServer,
    MajorityOut,
    CutShort,
}

names! {
    WithheldReason {
        NoHealthyHost = "no-healthy-host",
        NoLeader = "no-leader",
        NoFollower = "no-follower",
        NoWinner = "no-winner",
        NoServer = "no-server",
        MajorityOut = "majority-out",
        CutShort = "cut-short",
    }
}

impl WithheldReason {
    /// The reason in words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::NoHealthyHost => "every host of its target was down or under another fault",
            Self::NoLeader => "no group of its target had a leader",
            Self::NoFollower => "no led group had a follower on a healthy host",
            Self::NoWinner => "no candidate won an election in time",
            Self::NoServer => "no server of its target served without another fault",
            Self::MajorityOut => "it would have taken out more than a minority",
            Self::CutShort => "the cell was cut short before it was due",
        }
    }
}
