//! What a scenario expects of its cells: a cell that is known to be unsafe passes when it shows what theory says.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, Coordinates};
use super::cell::Cell;

/// What must, must not or may be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Any sight of it is a failure.
    #[default]
    None,
    /// It must be seen: a cell that does not show it fails.
    Some,
    /// Neither way is held against the cell.
    Any,
}

impl Expectation {
    /// Its name in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Some => "some",
            Self::Any => "any",
        }
    }
}

/// How many other candidates a leader's loss is expected to wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedFanOut {
    /// Exactly one.
    One,
    /// All others of the group.
    AllOthers,
    /// Nobody.
    None,
}

impl ExpectedFanOut {
    /// Its name in scenarios and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::AllOthers => "all-others",
            Self::None => "none",
        }
    }
}

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
    /// Other candidates woken per leader loss; what the recipe promises unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<ExpectedFanOut>,
    /// Id of the server that must lead the ensemble after each of its elections; whichever the votes elect unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_leader: Option<u32>,
    /// Why, for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What is expected of one cell. Nothing unsafe, unless the scenario says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expect {
    /// Definite overlaps of belief while both candidates' processes run.
    pub overlap: Expectation,
    /// The largest overlap that is still as theory says, as a fraction of T.
    pub overlap_of_t_max: Option<f64>,
    /// Stale writes accepted by the ledger that the cell's `resource` names.
    pub stale_writes: Expectation,
    /// Handovers that no injected fault explains.
    pub unplanned: Expectation,
    /// Other candidates woken per leader loss; `None`: what the recipe promises.
    pub fan_out: Option<ExpectedFanOut>,
    /// Id of the server that must lead the ensemble after each of its elections; `None`: whichever the votes elect.
    pub server_leader: Option<u32>,
    /// Why, for the report.
    pub because: String,
}

impl Coordinates {
    /// Whether a cell lies in all the values given here.
    #[must_use]
    pub fn covers(&self, cell: &Cell) -> bool {
        Axis::holds(self.recipe.as_ref(), &cell.recipe)
            && Axis::holds(self.step_down.as_ref(), &cell.step_down)
            && Axis::holds(self.session_timeout_ms.as_ref(), &cell.session_timeout_ms)
            && Axis::holds(self.groups.as_ref(), &cell.groups)
            && Axis::holds(self.hosts.as_ref(), &cell.hosts)
            && Axis::holds(self.candidates_per_group.as_ref(), &cell.candidates_per_group)
            && Axis::holds(self.fault.as_ref(), &cell.fault_name)
            && Axis::holds(self.resource.as_ref(), &cell.resource)
            && Axis::holds(self.sessions.as_ref(), &cell.sessions)
    }
}

/// Merges all entries that are about this cell, later ones first.
pub(super) fn resolve(entries: &[ExpectSpec], cell: &Cell) -> Expect {
    let mut expect = Expect::default();
    for entry in entries.iter().filter(|entry| entry.when.covers(cell)) {
        expect.overlap = entry.overlap.unwrap_or(expect.overlap);
        expect.overlap_of_t_max = entry.overlap_of_t_max.or(expect.overlap_of_t_max);
        expect.stale_writes = entry.stale_writes.unwrap_or(expect.stale_writes);
        expect.unplanned = entry.unplanned.unwrap_or(expect.unplanned);
        expect.fan_out = entry.fan_out.or(expect.fan_out);
        expect.server_leader = entry.server_leader.or(expect.server_leader);
        if let Some(because) = &entry.because {
            expect.because.clone_from(because);
        }
    }
    expect
}
