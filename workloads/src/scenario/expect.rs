//! What a scenario expects of its cells: a cell that is known to be unsafe passes when it shows what theory says.

use hustings_record::{Expectation, FanOut};
use serde::{Deserialize, Serialize};

use super::axis::Coordinates;

/// One entry of `[[expect]]`. What it does not mention is left as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectSpec {
    /// Which cells it is about; all without it.
    #[serde(default)]
    pub when: Coordinates,
    /// Definite overlaps of belief while both candidates' processes run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Expectation>,
    /// The largest overlap that is still as theory says, as a fraction of T.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_of_t_max: Option<f64>,
    /// Stale writes accepted by the ledger that `resource` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_writes: Option<Expectation>,
    /// Handovers that no injected fault explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unplanned: Option<Expectation>,
    /// Leads that are lost, whether a fault explains it or not; not judged unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handovers: Option<Expectation>,
    /// Leads that are kept through a whole hang of their work; not judged unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hung_leads: Option<Expectation>,
    /// Other candidates woken per leader loss. It is what the recipe declares; a scenario that says otherwise is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<FanOut>,
    /// Id of the server that must lead the ensemble after each of its elections; whichever the votes elect unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_leader: Option<u32>,
    /// Why, for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}
