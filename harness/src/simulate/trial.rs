//! One simulated cell in memory, and what it shows: the report's own checkers, and what only a simulation can tell apart.

use std::collections::BTreeSet;
use std::rc::Rc;

use hustings_reports::analysis::summarise_cell;
use hustings_reports::record::{CellRecord, Event, FaultKind};
use hustings_reports::summary::{Apart, CellSummary};
use hustings_reports::verdict::Verdict;
use hustings_workloads::recipes::RecipeKind;
use hustings_workloads::simulation::script::Caught;
use hustings_workloads::simulation::{Simulation, simulate};

use super::recorder::Recorder;
use super::run::info;

/// What came of one simulated cell.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What must not be.
    pub caught: BTreeSet<Caught>,
    /// Overlaps that nobody can promise not to be.
    pub apart: Apart,
    pub handovers: u64,
    /// Things that happened in the simulated world.
    pub events: u64,
    /// Everybody stood and every group was led before the first fault.
    pub enrolled: bool,
    pub summary: CellSummary,
}

/// Simulates it and looks at what it shows.
///
/// # Errors
/// When the simulation did not come to its end, which would be an error of the simulation.
pub fn try_course(simulation: &Simulation) -> anyhow::Result<Trial> {
    let recorder = Rc::new(Recorder::in_memory(info(&simulation.cell)));
    let ran = simulate(simulation, recorder.clone());
    anyhow::ensure!(ran.in_order, "the simulation did not come to its end");
    let Some(recorder) = Rc::into_inner(recorder) else { anyhow::bail!("the simulation holds on to its record") };
    let Some(cell) = recorder.end(ran.end)? else { anyhow::bail!("the record was not kept in memory") };
    Ok(judge(&cell, ran.events))
}

fn judge(cell: &CellRecord, events: u64) -> Trial {
    let summary = summarise_cell(cell);
    let forced = cell
        .events()
        .any(|(_, event)| matches!(event, Event::Fault { kind: FaultKind::Pause | FaultKind::Expire, .. }));
    let mut caught = BTreeSet::new();
    let apart = summary.split_brain.apart;
    if summary.split_brain.active.seen > apart.total() {
        caught.insert(Caught::Overlap);
    }
    let unfenced = summary.writes.unfenced.seen > 0 && !forced;
    if summary.writes.past_fence.seen > 0 || unfenced {
        caught.insert(Caught::StaleWrite);
    }
    let failed = |name: &str| summary.checks.iter().any(|check| check.name == name && check.verdict == Verdict::Fail);
    if summary.leaderless.groups_at_end > 0 || failed("liveness") {
        caught.insert(Caught::Leaderless);
    }
    if failed("fan-out") {
        caught.insert(Caught::FanOut);
    }
    if failed("handovers") {
        caught.insert(Caught::Unplanned);
    }
    let (before, after) = (Counted::at(cell, "begin"), Counted::at(cell, "end"));
    let candidates = cell.info.groups.len() as u64 * u64::from(cell.info.candidates_per_group);
    let lock = cell.info.recipe.parse().is_ok_and(RecipeKind::is_lock);
    let owned = if lock { cell.info.groups.len() as u64 } else { candidates };
    if failed("ownership") || after.ephemerals > owned {
        caught.insert(Caught::Orphan);
    }
    // A candidate waits with one watch, and a leader keeps one on its own znode instead. An order that comes between question
    // and answer may leave one more at the server, until it fires.
    if before.known && after.watches > candidates + 1 {
        caught.insert(Caught::Watches);
    }
    Trial { caught, apart, handovers: summary.handovers.completed, events, enrolled: before.known, summary }
}

/// What the servers count.
#[derive(Default)]
struct Counted {
    known: bool,
    ephemerals: u64,
    watches: u64,
}

impl Counted {
    fn at(cell: &CellRecord, when: &str) -> Self {
        let metrics = cell.events().find_map(|(_, event)| match event {
            Event::Servers { at, metrics, .. } if at == when => Some(metrics),
            _ => None,
        });
        let Some(metrics) = metrics else { return Self::default() };
        let of =
            |name: &'static str| metrics.values().map(move |server| server.get(name).copied().unwrap_or(0.0) as u64);
        Self { known: true, ephemerals: of("ephemerals_count").max().unwrap_or(0), watches: of("watch_count").sum() }
    }
}
