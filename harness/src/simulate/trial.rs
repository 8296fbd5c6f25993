//! One simulated cell in memory, and its results according to the report's own checkers.

use std::collections::BTreeSet;
use std::rc::Rc;

use hustings_record::{CellRecord, Event, Phase};
use hustings_reports::analysis::{shown, summarise_cell};
use hustings_reports::summary::{CellSummary, ExcusedOverlaps};
use hustings_reports::verdict::Verdict;
use hustings_workloads::recipes::FindingKind;
use hustings_workloads::simulation::{Simulation, simulate};

use super::recorder::Recorder;
use super::run::info;

/// Result of one simulated cell.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The names of the failed checkers.
    pub failed: BTreeSet<String>,
    /// The kinds of findings that it shows.
    pub caught: BTreeSet<FindingKind>,
    /// Overlaps that no recipe can rule out.
    pub excused_overlaps: ExcusedOverlaps,
    pub excused_writes: u64,
    pub excused_handovers: u64,
    pub handovers: u64,
    /// Number of events in the simulated world.
    pub events: u64,
    /// All candidates were enrolled and every group had a leader before the first fault.
    pub enrolled: bool,
    pub summary: CellSummary,
}

/// Runs the simulation and evaluates it.
///
/// # Errors
/// The simulation did not reach its end, which is a bug in the simulation.
pub fn try_simulation(simulation: &Simulation) -> anyhow::Result<Trial> {
    let (cell, events) = recorded(simulation)?;
    Ok(judge(&cell, events))
}

/// The record of a simulated cell, and the number of events in the simulated world.
///
/// # Errors
/// The simulation did not reach its end, which is a bug in the simulation.
pub fn recorded(simulation: &Simulation) -> anyhow::Result<(CellRecord, u64)> {
    let recorder = Rc::new(Recorder::in_memory(info(&simulation.cell)));
    let ran = simulate(simulation, recorder.clone());
    anyhow::ensure!(ran.in_order, "the simulation did not come to its end");
    let Some(recorder) = Rc::into_inner(recorder) else { anyhow::bail!("the simulation holds on to its record") };
    let Some(cell) = recorder.end(ran.end)? else { anyhow::bail!("the record was not kept in memory") };
    Ok((cell, ran.events))
}

fn judge(cell: &CellRecord, events: u64) -> Trial {
    let summary = summarise_cell(cell);
    let failed = summary.checks.iter().filter(|check| check.verdict == Verdict::Fail);
    // The measuring phase begins only after all candidates are enrolled.
    let enrolled = cell.events().any(|(_, event)| matches!(event, Event::Phase { phase: Phase::Measure, .. }));
    Trial {
        failed: failed.map(|check| check.name.clone()).collect(),
        caught: shown(&summary),
        excused_overlaps: summary.split_brain.excused,
        excused_writes: summary.writes.excused,
        excused_handovers: summary.handovers.excused,
        handovers: summary.handovers.completed,
        events,
        enrolled,
        summary,
    }
}
