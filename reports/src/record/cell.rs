//! What a cell was meant to be, as the record keeps it: the resolved parameters and what is expected of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Resolved parameters of one cell. Names of groups and hosts come from outside and may hold anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellInfo {
    /// Place in the run, from 0.
    pub index: u32,
    /// Short unique name within the run, safe as a file name.
    pub name: String,
    pub recipe: String,
    /// `on-disconnect`, `on-expiry` or `after=<fraction>`.
    pub step_down: String,
    /// Name of the scenario's fault entry.
    pub fault: String,
    pub fault_kind: super::FaultKind,
    pub groups: Vec<String>,
    pub hosts: Vec<String>,
    pub candidates_per_group: u32,
    /// The session timeout asked for, in milliseconds. T, the negotiated one, is in the `Session` events.
    pub timeout_asked_ms: u64,
    pub tick_ms: u64,
    pub servers: u32,
    pub sessions: SessionUse,
    /// Whether hosts reached the servers over links.
    pub links: LinkUse,
    /// What the verdict on stale writes counts: with a fence, only what got past it.
    pub fencing: Fencing,
    /// Every leader writes to the resource this often, in milliseconds.
    pub work_interval_ms: u64,
    pub expect: Expect,
    /// Its recipe is broken on purpose, and must be caught.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mutant: bool,
    /// Anything else worth showing (interval of poll-race, method of lock-race's fencing …).
    pub extra: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionUse {
    PerCandidate,
    PerHost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkUse {
    Direct,
    Embedded,
    External,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fencing {
    Fenced,
    Unfenced,
}

/// What must, must not or may be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Any sight of it is a failure.
    #[default]
    None,
    /// Known unsafe: it must be seen, or the cell fails for not showing what theory says.
    Some,
    /// Neither way is held against the cell.
    Any,
}

/// What a scenario expects of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expect {
    /// Definite overlaps of belief while both candidates' processes run.
    pub overlap: Expectation,
    /// Largest definite overlap that is still as theory says, as a fraction of T. Larger is a failure.
    pub overlap_of_t_max: Option<f64>,
    /// Stale writes accepted by the ledger that `fencing` names.
    pub stale_writes: Expectation,
    /// Handovers that no injected fault explains.
    pub unplanned: Expectation,
    /// Other candidates woken per leader loss: `one`, `all-others`, `none`; `None` means what the recipe promises.
    pub fan_out: Option<String>,
    /// Id of the server that must lead the ensemble after each of its elections; `None`: whichever the votes elect.
    #[serde(default)]
    pub server_leader: Option<u32>,
    /// Why this is expected, for the report.
    pub because: String,
}
