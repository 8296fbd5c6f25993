//! The compared configurations of either side with their injections, and reasons for refusing a comparison.

use std::collections::BTreeSet;

use crate::check::CellSummary;
use crate::check::injections::InjectionCost;
use crate::sound::{of_all_sides, round};
use crate::stats::lower_median;
use crate::summary::Summary;

use super::differences::Difference;
use super::measure::{Measure, MeasureSource};
use super::rounds::RoundValues;

/// Why two records are not compared.
#[derive(Debug, thiserror::Error)]
pub enum ComparisonRefusal {
    #[error("the two have no cell in common: {base} on the one side, {new} on the other")]
    NothingInCommon { base: String, new: String },
    #[error("{which} has {cells}, and the other has not; --force compares what both have")]
    OtherCells { which: &'static str, cells: String },
    #[error("cell {cell} is not the same on both sides: {}; --force compares them all the same", list(.differences))]
    OtherCell { cell: String, differences: Vec<Difference> },
    #[error("the two runs are not alike: {}; --force compares them all the same", list(.0))]
    OtherRuns(Vec<Difference>),
    #[error("this record has no two sides: name a second one, or make one by `hustings run A --against B`")]
    NoContest,
    #[error("there is no cell to compare: a self-test is none, nor is one without candidates")]
    NothingToCompare,
}

pub(super) fn list(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The cells of a side, without rounds that the other side leaves out: the same disturbance may have slowed this side.
pub(super) struct SideCells<'a> {
    pub(super) cells: &'a [&'a CellSummary],
    pub(super) but: BTreeSet<u32>,
}

impl SideCells<'_> {
    /// What the injections of each cell have, with the cell's round.
    fn by_round<V>(&self, of: impl Fn(&InjectionCost) -> Option<V>) -> Vec<(u32, Vec<V>)> {
        let cells = self.cells.iter().map(|cell| (round(cell), cell)).filter(|(round, _)| !self.but.contains(round));
        cells.map(|(round, cell)| (round, cell.injections.iter().filter_map(&of).collect())).collect()
    }
}

/// The values of the injections of both sides.
pub(super) fn values(measure: Measure, base: &SideCells<'_>, new: &SideCells<'_>) -> RoundValues {
    match measure.source() {
        MeasureSource::Value(of) => RoundValues::new(base.by_round(of), new.by_round(of)),
        MeasureSource::LeadTimes(of) => RoundValues::new(base.by_round(of), new.by_round(of)).slow(),
    }
}

/// The round-trip time to the servers in nanoseconds: the median floor of these cells.
pub(super) fn round_trip(cells: &[&CellSummary]) -> Option<f64> {
    let of_cell = |cell: &&CellSummary| cell.failover.floor.as_ref()?.p50;
    let mut floors: Vec<_> = cells.iter().filter_map(of_cell).collect();
    floors.sort_unstable();
    lower_median(&floors).map(|ns| ns as f64)
}

/// The names of all configurations of these runs, from which `compare` and `sides_of` select.
pub fn names<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for one in summaries.flat_map(of_all_sides) {
        if !names.contains(&one.name) {
            names.push(one.name);
        }
    }
    names
}
