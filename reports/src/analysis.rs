//! Computes a record's summary: every check over every cell, and the worst of their verdicts. It is a pure function:
//! everyone with the record gets the same summary.

mod self_test;

pub use self_test::shown;

use crate::check::{CellSummary, injections, judged};
use crate::excerpts::timelines;
use crate::excerpts::{correlated_expiry, exceptions, load};
use crate::index::{Index, plausible};
use crate::mutations;
use crate::repetitions::pooling::{CellSamples, pools};
use crate::replay::Playlist;
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::{CellRecord, Event, Manifest, Nanos, Record, RecordError, RecordReader, RunState};

/// Computes everything that reports show.
#[must_use]
pub fn summarise(record: &Record) -> Summary {
    let mut looked = AnalysedCells::default();
    record.cells.iter().for_each(|cell| looked.add(&record.manifest, cell, MutationTesting::Nothing));
    looked.end(record.manifest.clone(), &record.notes, &record.changed)
}

/// Whether to test if the checks that passed could have failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutationTesting {
    /// This takes several times as long as judging the record.
    Checks,
    Nothing,
}

/// The same for a record that is read cell by cell. A cell is in memory only while it is examined.
///
/// # Errors
/// As for [`RecordReader::next_cell`].
pub fn summarise_read(mut reading: RecordReader, examine: MutationTesting) -> Result<Summary, RecordError> {
    let mut looked = AnalysedCells::default();
    while let Some(cell) = reading.next_cell()? {
        looked.add(&reading.manifest, &cell, examine);
    }
    Ok(looked.end(reading.manifest, &reading.notes, &reading.changed))
}

/// Results of the cells so far.
#[derive(Default)]
struct AnalysedCells {
    cells: Vec<CellSummary>,
    kept: Vec<Option<CellSamples>>,
    playlist: Playlist,
    /// How many segments of each cell were read.
    segments: Vec<usize>,
    /// The first phase and the last one, by the coordinator's clock.
    phases: Option<(Nanos, Nanos)>,
}

impl AnalysedCells {
    fn add(&mut self, manifest: &Manifest, cell: &CellRecord, examine: MutationTesting) {
        let (summary, kept) = look(cell, ended_whole(manifest, cell), examine, &mut self.playlist);
        self.cells.push(summary);
        self.kept.push(kept);
        self.segments.push(cell.segments.len());
        for (_, event) in cell.events() {
            if let Event::Phase { t, .. } = event {
                let (first, last) = self.phases.unwrap_or((*t, *t));
                self.phases = Some((first.min(*t), last.max(*t)));
            }
        }
    }

    fn end(self, manifest: Manifest, notes: &[String], changed: &[String]) -> Summary {
        let end = end_in_doubt(manifest.state);
        let mut doubts = changed.to_vec();
        doubts.extend(self.doubts(&manifest));
        doubts.extend(self_test::doubts(&self.cells));
        let whole = if end.is_none() && doubts.is_empty() { Verdict::Pass } else { Verdict::Inconclusive };
        let verdict = Summary::verdict_of(whole, &self.cells);
        let end = end.map(str::to_owned).into_iter();
        let notes = end.chain(notes.iter().cloned()).chain(doubts).collect();
        Summary {
            verdict,
            whole,
            manifest,
            recorded_ns: self.phases.map(|(first, last)| last.saturating_sub(first)),
            notes,
            pools: pools(&self.cells, self.kept),
            cells: self.cells,
            replays: self.playlist.into_replays(),
        }
    }

    /// Why the record as a whole cannot pass, whatever the verdicts of its cells.
    fn doubts(&self, manifest: &Manifest) -> Vec<String> {
        let mut doubts = Vec::new();
        let (planned, found) = (manifest.cells_planned as usize, self.cells.len());
        if found < planned {
            doubts.push(format!("{} of {planned} planned cells are missing", planned - found));
        }
        if found == 0 {
            doubts.push("there is no cell to judge".into());
        }
        for entry in &manifest.cells {
            let Some(at) = self.cells.iter().position(|cell| cell.info.index == entry.index) else { continue };
            let (named, read) = (entry.segments.len(), self.segments[at]);
            if read < named {
                doubts.push(format!("cell {}: {} of {named} segments are empty", entry.name, named - read));
            }
        }
        doubts
    }
}

/// The doubt that the end of the run raises.
fn end_in_doubt(state: RunState) -> Option<&'static str> {
    match state {
        RunState::Completed => None,
        RunState::Running => Some("the run did not end in order (killed, or still running)"),
        RunState::Interrupted => Some("the run was interrupted"),
        RunState::Aborted => Some("the run was ended by an error of the infrastructure"),
    }
}

/// Whether the cell ended in order, and none of its segments is missing.
fn ended_whole(manifest: &Manifest, cell: &CellRecord) -> bool {
    let entry = manifest.cells.iter().find(|entry| entry.index == cell.info.index);
    cell.complete && entry.is_none_or(|entry| cell.segments.len() >= entry.segments.len())
}

/// Everything that reports show of one cell.
#[must_use]
pub fn summarise_cell(cell: &CellRecord) -> CellSummary {
    look(cell, false, MutationTesting::Nothing, &mut Playlist::default()).0
}

/// The same, with the samples for its pool if it is a repetition and `enters`. Parts worth a replay go on the playlist.
fn look(
    cell: &CellRecord,
    enters: bool,
    examine: MutationTesting,
    playlist: &mut Playlist,
) -> (CellSummary, Option<CellSamples>) {
    let (cell, implausible) = plausible(cell);
    let index = Index::new(&cell, implausible);
    let mut summary = judged(&index, |_| true);
    // A broken recipe is meant to fail, and so shows itself whether its checks can fail.
    if examine == MutationTesting::Checks && !index.info.self_test {
        mutations::examine(&cell, &index, &mut summary);
    }
    self_test::judge(&mut summary);
    summary.injections = injections::seen(&index);
    summary.timelines = timelines::worst(&index);
    summary.correlated_expiries = correlated_expiry::correlated_expiries(&index);
    summary.load = load::load(&index);
    summary.exceptions = exceptions::exceptions(&index);
    playlist.offer(&index);
    let kept = (enters && index.info.repetition.is_some()).then(|| CellSamples::of(&index));
    (summary, kept)
}
