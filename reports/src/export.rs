//! Exports a record's handovers for other tools: one CSV line each, or one HdrHistogram interval a cell. Names from outside are
//! one line, and do nothing on a terminal.

use std::collections::BTreeSet;
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use serde::Serialize;

use crate::index::{Index, Loss, LossOutcome, plausible};
use crate::render::clean;
use hustings_record::{CellRecord, Event, FaultKind, Nanos, Record};

/// Why the export failed. All causes are defects of this program.
#[derive(Debug, thiserror::Error)]
#[error("the handovers could not be written down: {0}; this is a fault of hustings, please report it with the record")]
pub struct ExportError(String);

impl ExportError {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// One lost lead.
#[derive(Debug, Serialize)]
struct LossRow {
    cell: String,
    recipe: String,
    group: String,
    fault: FaultKind,
    /// When the injection was planned for, and when the lead was lost, from the cell's first event, in seconds.
    planned_s: f64,
    lost_s: f64,
    loser: u32,
    /// `completed`, `retaken` by the candidate that had lost it, or `censored`: it had not ended when the run did.
    outcome: &'static str,
    winner: Option<u32>,
    /// Time to the next grant; of a censored one, how long it had lasted.
    failover_ns: Nanos,
}

/// Every lost lead that a verified fault explains, as CSV with a header.
///
/// # Errors
/// None known.
pub fn handovers(record: &Record) -> Result<String, ExportError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for cell in &record.cells {
        each(cell, |index, loss| writer.serialize(row(index, loss)).map_err(ExportError::of))?;
    }
    let bytes = writer.into_inner().map_err(ExportError::of)?;
    String::from_utf8(bytes).map_err(ExportError::of)
}

/// The completed failovers of each cell as a histogram of nanoseconds: one interval a cell, tagged with its name. A
/// histogram cannot hold censored failovers, so a comment states their number.
///
/// # Errors
/// None known.
pub fn interval_log(record: &Record) -> Result<String, ExportError> {
    let (mut cells, mut withheld) = (Vec::new(), Vec::new());
    for cell in &record.cells {
        let mut histogram = Histogram::<u64>::new(3).map_err(ExportError::of)?;
        let (mut censored, mut span) = (0_u64, None);
        each(cell, |index, loss| {
            span = Some(index.span);
            match row(index, loss) {
                LossRow { outcome: "censored", .. } => censored += 1,
                row => histogram.saturating_record(row.failover_ns),
            }
            Ok(())
        })?;
        withheld_of(cell, &mut withheld);
        if let Some(span) = span {
            cells.push((clean::line(&cell.info.name), histogram, censored, span));
        }
    }
    let first = cells.iter().map(|cell| cell.3.0).min().unwrap_or(0);
    let mut builder = IntervalLogWriterBuilder::new();
    let run = clean::line(&record.manifest.run);
    builder.add_comment(&format!("failovers of {run} in nanoseconds")).with_max_value_divisor(1e6);
    for (name, _, censored, _) in cells.iter().filter(|cell| cell.2 > 0) {
        builder.add_comment(&format!("{name}: {censored} had not ended, and are not in it"));
    }
    withheld.iter().for_each(|line| _ = builder.add_comment(line));
    let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut log = builder.begin_log_with(&mut bytes, &mut serializer).map_err(ExportError::of)?;
    for (name, histogram, _, (from, to)) in &cells {
        let (since, long) = (Duration::from_nanos(from - first), Duration::from_nanos(to.saturating_sub(*from)));
        log.write_histogram(histogram, since, long, Tag::new(name)).map_err(ExportError::of)?;
    }
    String::from_utf8(bytes).map_err(ExportError::of)
}

/// A sentence for each cell on planned faults that were withheld. The export holds nothing of them.
#[must_use]
pub fn withheld(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    record.cells.iter().for_each(|cell| withheld_of(cell, &mut lines));
    lines
}

fn withheld_of(cell: &CellRecord, lines: &mut Vec<String>) {
    let events = || cell.events().map(|(_, event)| event);
    let planned = events().map(|event| if let Event::FaultPlan { faults, .. } = event { faults.len() } else { 0 });
    let planned: usize = planned.sum();
    let reasons: BTreeSet<&str> = events()
        .filter_map(|e| if let Event::FaultWithheld { why, .. } = e { Some(why.about()) } else { None })
        .collect();
    let count = events().filter(|event| matches!(event, Event::FaultWithheld { .. })).count();
    if count > 0 {
        let reasons = reasons.into_iter().collect::<Vec<_>>().join("; ");
        let name = clean::line(&cell.info.name);
        lines.push(format!("{name}: {count} of {planned} planned faults were withheld: {reasons}"));
    }
}

/// Calls `with` for every lead of the cell that was lost to a verified fault.
fn each(
    cell: &CellRecord,
    mut with: impl FnMut(&Index<'_>, &Loss) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let (cell, implausible) = plausible(cell);
    let index = Index::new(&cell, implausible);
    let mut lost = index.losses.all.iter().filter(|loss| loss.outcome != LossOutcome::Survived);
    lost.try_for_each(|loss| with(&index, loss))
}

fn row(index: &Index<'_>, loss: &Loss) -> LossRow {
    let fault = &index.faults.all[loss.fault];
    let loser = index.terms.all[loss.term].cand;
    let since = |t: Nanos| t.saturating_sub(index.span.0) as f64 / 1e9;
    let (outcome, winner, end) = match loss.outcome {
        LossOutcome::Completed { successor } => {
            let next = &index.terms.all[successor];
            let outcome = if next.cand == loser { "retaken" } else { "completed" };
            (outcome, Some(next.cand), next.granted.unwrap_or(next.grant))
        }
        LossOutcome::Censored { at } => ("censored", None, at),
        LossOutcome::Survived => ("survived", Some(loser), loss.effect),
    };
    LossRow {
        cell: clean::csv_text(&index.info.name),
        recipe: clean::csv_text(&index.info.recipe),
        group: clean::csv_text(&index.group_name(loss.group)),
        fault: fault.kind,
        planned_s: since(fault.intended),
        lost_s: since(loss.effect),
        loser,
        outcome,
        winner,
        failover_ns: end.saturating_sub(loss.effect),
    }
}
