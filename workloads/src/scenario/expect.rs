//! A scenario's expectations for its cells: a cell known to be unsafe passes when its findings match theory.

use hustings_record::{Expectation, FanOut};
use serde::{Deserialize, Serialize};

use super::axis::Coordinates;

/// One entry of `[[expect]]`. Keys that it omits keep their earlier values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectSpec {
    /// The cells it applies to; by default all.
    #[serde(default)]
    pub when: Coordinates,
    /// Definite overlaps of belief while both candidates' processes run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Expectation>,
    /// The largest overlap that still matches theory, as a fraction of T.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_of_t_max: Option<f64>,
    /// Stale writes accepted by the ledger that `resource` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_writes: Option<Expectation>,
    /// Handovers that no injected fault explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unplanned: Option<Expectation>,
    /// Lost leads, whether a fault explains them or not; not judged by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handovers: Option<Expectation>,
    /// Leads that are kept through a whole hang of their work; not judged by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hung_leads: Option<Expectation>,
    /// Other candidates woken per leader loss. The recipe declares it; a scenario that contradicts it is rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<FanOut>,
    /// Id of the server that must lead the ensemble after each of its elections; by default any elected one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_leader: Option<u32>,
    /// Why, for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}
