//! One simulated cell in memory, and what it shows: the report's own checkers, and what of it a search looks for.

use std::collections::BTreeSet;
use std::rc::Rc;

use hustings_record::{CellRecord, Event, Phase};
use hustings_reports::analysis::summarise_cell;
use hustings_reports::check::Section as _;
use hustings_reports::summary::{CellSummary, Excused, FanOutSeen, Handovers, Leaderless, Ownership, Promptness};
use hustings_reports::verdict::Verdict;
use hustings_workloads::recipes::Caught;
use hustings_workloads::simulation::{Simulation, simulate};

use super::recorder::Recorder;
use super::run::info;

/// What came of one simulated cell.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What must not be.
    pub caught: BTreeSet<Caught>,
    /// Overlaps that nobody can promise not to be.
    pub excused_overlaps: Excused,
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
pub fn try_simulation(simulation: &Simulation) -> anyhow::Result<Trial> {
    let recorder = Rc::new(Recorder::in_memory(info(&simulation.cell)));
    let ran = simulate(simulation, recorder.clone());
    anyhow::ensure!(ran.in_order, "the simulation did not come to its end");
    let Some(recorder) = Rc::into_inner(recorder) else { anyhow::bail!("the simulation holds on to its record") };
    let Some(cell) = recorder.end(ran.end)? else { anyhow::bail!("the record was not kept in memory") };
    Ok(judge(&cell, ran.events))
}

fn judge(cell: &CellRecord, events: u64) -> Trial {
    let summary = summarise_cell(cell);
    let failed = |name: &str| summary.checks.iter().any(|check| check.name == name && check.verdict == Verdict::Fail);
    let (writes, excused_overlaps) = (&summary.writes, summary.split_brain.excused);
    let shown = [
        (Caught::Overlap, summary.split_brain.active.seen > excused_overlaps.total()),
        (Caught::StaleWrite, writes.past_fence.seen > 0 || writes.unfenced.seen > writes.excused),
        (Caught::Leaderless, summary.leaderless.groups_at_end > 0 || failed(Leaderless::NAME)),
        (Caught::Orphan, summary.leaks.ephemerals.leaks() || failed(Ownership::NAME)),
        (Caught::Watches, summary.leaks.watches.leaks()),
        (Caught::FanOut, failed(FanOutSeen::NAME)),
        (Caught::Unplanned, failed(Handovers::NAME)),
        (Caught::Absent, summary.standing.somebody_is_absent()),
        (Caught::Late, failed(Promptness::NAME)),
    ];
    let caught = shown.into_iter().filter_map(|(what, is_shown)| is_shown.then_some(what)).collect();
    // Nothing is measured before everybody stands.
    let enrolled = cell.events().any(|(_, event)| matches!(event, Event::Phase { phase: Phase::Measure, .. }));
    Trial { caught, excused_overlaps, handovers: summary.handovers.completed, events, enrolled, summary }
}
