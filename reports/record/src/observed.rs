//! The observer's events: owners of leads, and the share of its own watches in the servers' counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nanos::Nanos;
use crate::server::WatchCounts;

/// Who owns the lead of a group says ZooKeeper, from between `from` and `to` on; `session` None: nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeadOwner {
    pub from: Nanos,
    pub to: Nanos,
    pub group: u32,
    pub session: Option<i64>,
    pub node: Option<String>,
    pub czxid: Option<i64>,
}

/// How often the servers' counters count one deletion, creation and change of data that only the observer watches, as measured
/// before enrolment. Its watch tells it of no changed children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserverWeight {
    pub t: Nanos,
    pub per_deletion: f64,
    /// None: not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_creation: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_change: Option<f64>,
    /// What that rests on: so many znodes were created, changed and deleted, and the counters of each server before and after.
    /// Nothing: not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<WatchCounts>,
}
