//! Time without a leader beside time without an accepted write: what an election sees, and what an application feels.

use serde::Serialize;

use crate::render::differing_parameters::DifferingParameters;
use crate::render::format;
use crate::summary::CellSummary;

#[derive(Serialize)]
pub(crate) struct GapLine {
    anchor: String,
    title: String,
    /// Without a leader, and without an accepted write: the share of time and the longest each. From one accepted write of a group
    /// to its next: how many there were, the median and the 99th percentile.
    figures: Vec<String>,
}

/// A line for each of the shown cells that has candidates.
pub(super) fn gaps(cells: &[CellSummary], shown: &[usize]) -> Vec<GapLine> {
    let with_candidates = || shown.iter().copied().filter(|&place| cells[place].info.has_candidates());
    let apart = DifferingParameters::of(with_candidates().map(|place| &cells[place]));
    with_candidates().map(|place| gap(place, &cells[place], &apart)).collect()
}

fn gap(place: usize, cell: &CellSummary, apart: &DifferingParameters) -> GapLine {
    let between = cell.effect.between.as_ref();
    let or_nothing = |ns: Option<u64>| ns.map_or_else(|| format::NOTHING.into(), format::duration);
    let figures = vec![
        format::share(cell.leaderless.share),
        format::duration(cell.leaderless.longest_ns),
        format::share(cell.effect.without_write),
        format::duration(cell.effect.longest_ns),
        between.map_or_else(|| format::NOTHING.into(), |t| format::count(t.n)),
        or_nothing(between.map(|t| t.p50)),
        or_nothing(between.map(|t| t.p99)),
    ];
    GapLine { anchor: format!("cell-{}", place + 1), title: apart.label(cell, &[]), figures }
}
