//! From a record to its summary: every checker over every cell, and the worst of their verdicts. A pure function: whoever has
//! the record gets the same summary.

mod self_test;

pub use self_test::shown;

use crate::check::{CHECKERS, CellSummary, strikes};
use crate::index::{Index, plausible};
use crate::pooling::{Kept, pools};
use crate::replay::Playlist;
use crate::summary::Summary;
use crate::timelines;
use crate::verdict::Verdict;
use crate::{exceptions, falls, load};
use hustings_record::{CellEntry, CellRecord, Event, Nanos, Record, RunState};

/// Computes everything that reports show.
#[must_use]
pub fn summarise(record: &Record) -> Summary {
    let mut playlist = Playlist::default();
    let looked = record.cells.iter().map(|cell| look(cell, ended_whole(record, cell), &mut playlist));
    let (cells, kept): (Vec<CellSummary>, Vec<Option<Kept>>) = looked.unzip();
    let end = end_in_doubt(record.manifest.state);
    let mut doubts = doubts(record);
    doubts.extend(self_test::doubts(&cells));
    let whole = if end.is_none() && doubts.is_empty() { Verdict::Pass } else { Verdict::Inconclusive };
    // A broken recipe that one fault shows need not show under every other.
    let judged = cells.iter().filter(|cell| !cell.info.self_test);
    let verdict = judged.map(|cell| cell.verdict).fold(whole, Verdict::merge);
    let end = end.map(str::to_owned).into_iter();
    let notes = end.chain(record.notes.iter().cloned()).chain(doubts).collect();
    Summary {
        verdict,
        manifest: record.manifest.clone(),
        recorded_ns: recorded(record),
        notes,
        pools: pools(&cells, kept),
        cells,
        replays: playlist.into_replays(),
    }
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

/// What the end of the run leaves in doubt.
fn end_in_doubt(state: RunState) -> Option<&'static str> {
    match state {
        RunState::Completed => None,
        RunState::Running => Some("the run did not end in order (killed, or still running)"),
        RunState::Interrupted => Some("the run was interrupted"),
        RunState::Aborted => Some("the run was ended by an error of the infrastructure"),
    }
}

/// Why the record as a whole cannot be a pass, whatever its cells say.
fn doubts(record: &Record) -> Vec<String> {
    let manifest = &record.manifest;
    let mut doubts = Vec::new();
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
        if !has_all_segments(entry, cell) {
            doubts.push(format!("cell {}: {} of {named} segments are empty", entry.name, named - read));
        }
    }
    doubts
}

/// Whether the cell ended in order, and nothing of what it wrote is missing.
fn ended_whole(record: &Record, cell: &CellRecord) -> bool {
    let entry = record.manifest.cells.iter().find(|entry| entry.index == cell.info.index);
    cell.complete && entry.is_none_or(|entry| has_all_segments(entry, cell))
}

fn has_all_segments(entry: &CellEntry, cell: &CellRecord) -> bool {
    cell.segments.len() >= entry.segments.len()
}

/// Everything that reports show of one cell.
#[must_use]
pub fn summarise_cell(cell: &CellRecord) -> CellSummary {
    look(cell, false, &mut Playlist::default()).0
}

/// The same, and what its pool needs of it where it is a repetition, and `enters`; what of it is worth a replay goes on the list.
fn look(cell: &CellRecord, enters: bool, playlist: &mut Playlist) -> (CellSummary, Option<Kept>) {
    let (cell, implausible) = plausible(cell);
    let index = Index::new(&cell, implausible);
    let mut summary = CellSummary::blank(&index);
    for checker in CHECKERS.iter().filter(|checker| (checker.applies)(&index)) {
        checker.run(&index, &mut summary);
    }
    self_test::judge(&mut summary);
    summary.strikes = strikes::seen(&index);
    summary.timelines = timelines::worst(&index);
    summary.falls = falls::falls(&index);
    summary.load = load::load(&index);
    summary.exceptions = exceptions::exceptions(&index);
    playlist.offer(&index);
    let kept = (enters && index.info.repetition.is_some()).then(|| Kept::of(&index));
    (summary, kept)
}
