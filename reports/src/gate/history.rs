//! A line of a CSV file for each run: a history that tools for change points read.

use super::figures::{FIGURES, FigureReading, Measured};
use super::items::Gated;
use crate::summary::Summary;

/// Columns before the figures. `run` is what a line is known by.
const COLUMNS: [&str; 4] = ["time", "run", "commit", "verdict"];

/// Why a line does not go into a file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    #[error(
        "its columns are those of another scenario or version ({was} of them, and this record has {is}); name another file"
    )]
    OtherColumns { was: usize, is: usize },
}

/// What is to be added to a file that holds this. None where it has a line of this run.
///
/// # Errors
/// The file's columns are others.
pub fn history(summary: &Summary, gated: &Gated, commit: &str, there: &str) -> Result<Option<String>, HistoryError> {
    // Every figure of every configuration, whether it has one this time or not: the columns are the scenario's.
    let measured = Measured::all(summary);
    let all = || measured.iter().flat_map(|of| FIGURES.iter().map(move |figure| (of, figure)));
    let names = all().map(|(of, figure)| format!("{}.{}", of.name, figure.name));
    let columns: Vec<String> = COLUMNS.iter().map(|&column| column.to_owned()).chain(names).collect();
    let head = columns.join(",");
    let figures = all().map(|(of, figure)| match figure.of(of) {
        FigureReading::Value(value) => value.to_string(),
        FigureReading::Hidden | FigureReading::Missing => String::new(),
    });
    let manifest = &summary.manifest;
    let own = [&manifest.started_utc, &manifest.run, commit, &gated.verdict.to_string()].map(str::to_owned);
    let line = own.into_iter().chain(figures).collect::<Vec<_>>().join(",");
    let mut lines = there.lines();
    match lines.next().map(str::trim_end) {
        None | Some("") => Ok(Some(format!("{head}\n{line}\n"))),
        Some(first) if first == head => {
            let known = lines.any(|line| line.split(',').nth(1) == Some(&manifest.run));
            // What stands there may have been written by hand.
            let behind = if there.ends_with('\n') { "" } else { "\n" };
            Ok((!known).then(|| format!("{behind}{line}\n")))
        }
        Some(first) => Err(HistoryError::OtherColumns { was: first.split(',').count(), is: columns.len() }),
    }
}
