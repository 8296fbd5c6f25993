//! A line of a CSV file for each run: a history that tools for change points read.

use super::figures::{FIGURES, Read};
use super::items::Gated;
use crate::summary::Summary;

/// Why a line does not go into a file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    #[error("its columns are those of another scenario ({was} of them, and this record has {is}); name another file")]
    OtherColumns { was: usize, is: usize },
}

/// What is to be added to a file that begins with this line (None: it is empty, or is not there).
///
/// # Errors
/// The file's columns are others.
pub fn history(summary: &Summary, gated: &Gated, first: Option<&str>) -> Result<String, HistoryError> {
    // Every figure of every cell, whether it has one this time or not: the columns are the scenario's.
    let judged = || summary.cells.iter().filter(|cell| !cell.info.self_test);
    let all = || judged().flat_map(|cell| FIGURES.iter().map(move |figure| (cell, figure)));
    let columns: Vec<String> = all().map(|(cell, figure)| format!("{}.{}", cell.info.name, figure.name)).collect();
    let head = format!("time,run,verdict,{}", columns.join(","));
    let figures = all().map(|(cell, figure)| match figure.of(cell) {
        Read::Value(value) => value.to_string(),
        Read::Hidden | Read::Missing => String::new(),
    });
    let figures: Vec<String> = figures.collect();
    let manifest = &summary.manifest;
    let line = format!("{},{},{},{}\n", manifest.started_utc, manifest.run, gated.verdict, figures.join(","));
    match first.map(str::trim_end) {
        None | Some("") => Ok(format!("{head}\n{line}")),
        Some(there) if there == head => Ok(line),
        Some(there) => Err(HistoryError::OtherColumns { was: there.split(',').count(), is: columns.len() + 3 }),
    }
}
