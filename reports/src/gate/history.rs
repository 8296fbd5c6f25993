//! A history for tools that find change points: a CSV file with a line per run.

use super::figures::{FIGURES, FigureReading, FigureSource};
use super::items::GateResult;
use crate::render::clean;
use crate::summary::Summary;

/// Columns before the figures.
const COLUMNS: [&str; 4] = ["time", "run", "commit", "verdict"];
const TIME_COLUMN: usize = 0;
const RUN_COLUMN: usize = 1;
const COMMIT_COLUMN: usize = 2;

/// Why a line cannot be added to a file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    #[error(
        "its columns are those of another scenario or version ({was} of them, and this record has {is}); name another file"
    )]
    OtherColumns { was: usize, is: usize },
    #[error(
        "a line of it could not be written down: {0}; this is a fault of hustings, please report it with the record"
    )]
    Unwritten(String),
}

/// The text to append to a file with the content `there`. None if it has a line of this run.
///
/// # Errors
/// The file's columns differ.
pub fn history(
    summary: &Summary,
    gated: &GateResult,
    commit: &str,
    there: &str,
) -> Result<Option<String>, HistoryError> {
    // All figures of all configurations, with or without a value: the columns depend on the scenario alone.
    let measured = FigureSource::all(summary);
    let all = || measured.iter().flat_map(|of| FIGURES.iter().map(move |figure| (of, figure)));
    let names = all().map(|(of, figure)| clean::csv_text(&format!("{}.{}", of.name, figure.name)));
    let columns: Vec<String> = COLUMNS.iter().map(|&column| column.to_owned()).chain(names).collect();
    let figures = all().map(|(of, figure)| match figure.of(of) {
        FigureReading::Value(value) => value.to_string(),
        FigureReading::Hidden | FigureReading::Missing => String::new(),
    });
    let figures: Vec<String> = figures.collect();
    let verdict = gated.verdict.to_string();
    let own: [&str; 4] = [&summary.manifest.started_utc, &summary.manifest.run, commit, &verdict];
    let own = own.map(clean::csv_text);
    let line = csv_line(own.iter().chain(&figures).cloned())?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(there.as_bytes());
    let mut lines =
        reader.records().filter_map(Result::ok).filter(|line| line.iter().any(|cell| !cell.trim().is_empty()));
    // The last line may have been written by hand.
    let behind = if there.is_empty() || there.ends_with('\n') { "" } else { "\n" };
    let Some(head) = lines.next() else {
        return Ok(Some(format!("{behind}{}{line}", csv_line(columns)?)));
    };
    if !head.iter().map(|name| clean::csv_text(name.trim_end())).eq(columns.iter().cloned()) {
        return Err(HistoryError::OtherColumns { was: head.len(), is: columns.len() });
    }
    let is_known = lines.any(|line| is_of_run(&line, &own, &figures));
    Ok((!is_known).then(|| format!("{behind}{line}")))
}

/// Whether a line of the file is of the run with these cells. A run with a start is known by its name and start, and a line without
/// a start by its name. Simulated runs have no start, and share their names: such a line has the same figures, and the same commit
/// unless this run names none.
fn is_of_run(line: &csv::StringRecord, own: &[String; 4], figures: &[String]) -> bool {
    let cell = |column: usize| clean::csv_text(line.get(column).unwrap_or_default());
    let is_same = |column: usize| cell(column) == own[column];
    if !is_same(RUN_COLUMN) {
        return false;
    }
    if !own[TIME_COLUMN].is_empty() {
        return cell(TIME_COLUMN).is_empty() || is_same(TIME_COLUMN);
    }
    let has_figures = line.iter().skip(COLUMNS.len()).map(str::trim).eq(figures.iter().map(String::as_str));
    has_figures && (own[COMMIT_COLUMN].is_empty() || is_same(COMMIT_COLUMN))
}

/// These cells as a line with its end.
fn csv_line(cells: impl IntoIterator<Item = String>) -> Result<String, HistoryError> {
    let unwritten = |error: &dyn std::fmt::Display| HistoryError::Unwritten(error.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells).map_err(|error| unwritten(&error))?;
    let bytes = writer.into_inner().map_err(|error| unwritten(&error))?;
    String::from_utf8(bytes).map_err(|error| unwritten(&error))
}
