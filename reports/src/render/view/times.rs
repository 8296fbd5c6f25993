//! The times of failovers at the head of the page: a line for each configuration, as the tables further down have them.

use serde::Serialize;

use super::pools::PoolRow;
use super::row::CellRow;
use crate::render::format;

/// Limit of the lines; the rest is in the tables below.
const LINES_MAX: usize = 16;

/// The table. Without lines if nobody lost a lead.
#[derive(Serialize)]
pub(crate) struct FailoverTimes {
    lines: Vec<TimesLine>,
    /// Configurations that there was no room for.
    more: usize,
    /// Some failovers had not ended when the run did.
    has_censored: bool,
    /// Some of the lines are of what did not pass.
    has_open: bool,
}

#[derive(Serialize)]
struct TimesLine {
    anchor: String,
    title: Vec<String>,
    fault: String,
    t: String,
    p50: String,
    /// Its cell, or its configuration, passed: the figure may be quoted.
    passed: bool,
    tail: String,
    n: String,
}

/// Of each configuration that was run several times all repetitions together, of the others their cell.
pub(super) fn times(pools: &[PoolRow], cells: &[CellRow]) -> FailoverTimes {
    let alone = cells.iter().filter(|row| pools.is_empty() || row.repetition.is_empty());
    let rows = pools.iter().map(|pool| &pool.row).chain(alone);
    let measured: Vec<&CellRow> = rows.filter(|row| row.n != format::NOTHING).collect();
    FailoverTimes {
        lines: measured.iter().take(LINES_MAX).map(|row| line(row)).collect(),
        more: measured.len().saturating_sub(LINES_MAX),
        has_censored: measured.iter().any(|row| row.n.contains('+')),
        has_open: measured.iter().any(|row| row.state.state.is_open_or_failed()),
    }
}

fn line(row: &CellRow) -> TimesLine {
    let CellRow { anchor, title, fault, t, p50, tail, n, .. } = row;
    let [anchor, fault, t, p50, tail, n] = [anchor, fault, t, p50, tail, n].map(String::clone);
    let passed = !row.state.state.is_open_or_failed();
    TimesLine { anchor, title: title.clone(), fault, t, p50, passed, tail, n }
}
