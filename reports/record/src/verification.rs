//! A fault as it was ordered, and its verification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::fault::{FaultKind, Touch, VerificationStage};
use crate::nanos::Nanos;

/// A fault was ordered. `cands` are all candidates it may hit, `groups` the groups whose leader it was aimed at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultOrder {
    pub id: u32,
    /// Its number in the cell's [plan](crate::Event::FaultPlan). None: not recorded, or of no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u32>,
    pub kind: FaultKind,
    pub t: Nanos,
    pub intended: Nanos,
    pub for_ms: Option<u64>,
    pub hosts: Vec<u16>,
    pub cands: Vec<u32>,
    pub groups: Vec<u32>,
    /// Ids of the servers that it hits, or (a partition from chosen servers) that its hosts are cut off from; none for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<u32>,
    pub detail: String,
}

/// Proof (or the lack of it) that fault `id` took effect, or ended, between `from` and `to`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationEvent {
    pub id: u32,
    pub stage: VerificationStage,
    pub from: Nanos,
    pub to: Nanos,
    pub verified: bool,
    pub evidence: String,
    pub touches: Vec<Touch>,
    /// What was looked at: all that `verified` rests on. None: not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Box<Evidence>>,
}
