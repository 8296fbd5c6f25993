//! From a record to its summary: every checker over every cell, and the worst of their verdicts. A pure function: whoever has
//! the record gets the same summary.

mod self_test;
mod timelines;

use crate::check::CHECKERS;
use crate::index::{Index, plausible};
use crate::record::{CellRecord, Event, Nanos, Record, RunState};
use crate::summary::{CellSummary, Summary};
use crate::verdict::Verdict;

/// Computes everything that reports show.
#[must_use]
pub fn summarise(record: &Record) -> Summary {
    let cells: Vec<CellSummary> = record.cells.iter().map(summarise_cell).collect();
    let mut doubts = doubts(record);
    doubts.extend(self_test::doubts(&cells));
    let whole = if doubts.is_empty() { Verdict::Pass } else { Verdict::Inconclusive };
    // A mutant that one fault shows need not show under every other.
    let judged = cells.iter().filter(|cell| !cell.info.mutant);
    let verdict = judged.map(|cell| cell.verdict).fold(whole, Verdict::merge);
    let mut notes = record.notes.clone();
    notes.extend(doubts.into_iter().filter(|doubt| !record.notes.contains(doubt)));
    Summary { verdict, manifest: record.manifest.clone(), recorded_ns: recorded(record), notes, cells }
}

/// From the first phase to the last one, by the coordinator's clock.
fn recorded(record: &Record) -> Option<Nanos> {
    let phases = || {
        record.cells.iter().flat_map(CellRecord::events).filter_map(|(_, event)| match event {
            Event::Phase { t, .. } => Some(*t),
            _ => None,
        })
    };
    Some(phases().max()?.saturating_sub(phases().min()?))
}

/// Why the record as a whole cannot be a pass, whatever its cells say.
fn doubts(record: &Record) -> Vec<String> {
    let manifest = &record.manifest;
    let mut doubts = Vec::new();
    match manifest.state {
        RunState::Completed => {}
        RunState::Running => doubts.push("the run did not end in order (killed, or still running)".into()),
        RunState::Interrupted => doubts.push("the run was interrupted".into()),
        RunState::Aborted => doubts.push("the run was ended by an error of the infrastructure".into()),
    }
    let (planned, found) = (manifest.cells_planned as usize, record.cells.len());
    if found < planned {
        doubts.push(format!("{} of {planned} planned cells are missing", planned - found));
    }
    if found == 0 {
        doubts.push("there is no cell to judge".into());
    }
    for entry in &manifest.cells {
        let Some(cell) = record.cells.iter().find(|c| c.info.index == entry.index) else { continue };
        let (named, read) = (entry.segments.len(), cell.segments.len());
        if read < named {
            doubts.push(format!("cell {}: {} of {named} segments are empty", entry.name, named - read));
        }
    }
    doubts
}

/// Everything that reports show of one cell.
#[must_use]
pub fn summarise_cell(cell: &CellRecord) -> CellSummary {
    let (cell, implausible) = plausible(cell);
    let index = Index::new(&cell, implausible);
    let mut summary = blank(&index);
    for checker in CHECKERS.iter().filter(|checker| checker.about.is_in(&index)) {
        let result = checker.run(&index, &mut summary);
        summary.verdict = summary.verdict.merge(result.verdict);
        summary.unsafe_as_expected |= result.unsafe_as_expected;
        summary.checks.push(result);
    }
    self_test::judge(&mut summary);
    summary.timelines = timelines::worst(&index);
    summary
}

/// A summary that nobody has filled in yet.
fn blank(index: &Index<'_>) -> CellSummary {
    CellSummary {
        info: index.info.clone(),
        verdict: Verdict::Pass,
        unsafe_as_expected: false,
        timeout_ms: index.timeout.map(|ns| ns / 1_000_000),
        checks: Vec::new(),
        handovers: Default::default(),
        failover: None,
        detect: None,
        spread: None,
        decide: None,
        act: None,
        excess: None,
        floor: None,
        fan_out: Default::default(),
        split_brain: Default::default(),
        writes: Default::default(),
        leaderless: Default::default(),
        ownership: Default::default(),
        enrolment: Default::default(),
        faults: Default::default(),
        receipts: Vec::new(),
        stalls: Default::default(),
        timelines: Vec::new(),
        sessions: Default::default(),
        elections: Vec::new(),
        server_states: Vec::new(),
        watch: None,
    }
}
