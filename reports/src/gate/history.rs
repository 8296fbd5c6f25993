//! A history for tools that find change points: a CSV file with a line per run.

use super::figures::{FIGURES, FigureReading, FigureSource};
use super::items::GateResult;
use crate::render::clean;
use crate::summary::Summary;

/// Columns before the figures. `run` identifies a line.
const COLUMNS: [&str; 4] = ["time", "run", "commit", "verdict"];

/// Why a line cannot be added to a file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    #[error(
        "its columns are those of another scenario or version ({was} of them, and this record has {is}); name another file"
    )]
    OtherColumns { was: usize, is: usize },
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
    let names = all().map(|(of, figure)| format!("{}.{}", of.name, figure.name));
    let columns: Vec<String> = COLUMNS.iter().map(|&column| column.to_owned()).chain(names).collect();
    let head = clean::line(&columns.join(","));
    let figures = all().map(|(of, figure)| match figure.of(of) {
        FigureReading::Value(value) => value.to_string(),
        FigureReading::Hidden | FigureReading::Missing => String::new(),
    });
    let [time, run] = [&summary.manifest.started_utc, &summary.manifest.run].map(|text| clean::line(text));
    let own = [&time, &run, commit, &gated.verdict.to_string()].map(str::to_owned);
    let line = own.into_iter().chain(figures).collect::<Vec<_>>().join(",");
    let mut lines = there.lines();
    match lines.next().map(str::trim_end) {
        None | Some("") => Ok(Some(format!("{head}\n{line}\n"))),
        Some(first) if first == head => {
            let known = lines.any(|line| line.split(',').nth(1) == Some(&run));
            // The last line may have been written by hand.
            let behind = if there.ends_with('\n') { "" } else { "\n" };
            Ok((!known).then(|| format!("{behind}{line}\n")))
        }
        Some(first) => Err(HistoryError::OtherColumns { was: first.split(',').count(), is: columns.len() }),
    }
}
