//! The configurations of a side, each with the strikes of all its repetitions.

use crate::check::CellSummary;
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::Side;

use super::differences::Difference;
use super::measure::Measure;

/// Why two records are not compared.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("the two have no cell in common: {base} on the one side, {new} on the other")]
    NothingInCommon { base: String, new: String },
    #[error("{which} has {cells}, and the other has not; --only chooses cells, --force compares what both have")]
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

/// One configuration of one side.
pub(super) struct Configuration<'a> {
    /// What the other side's is called too.
    pub(super) name: &'a str,
    pub(super) cells: Vec<&'a CellSummary>,
}

impl<'a> Configuration<'a> {
    pub(super) fn first(&self) -> &'a CellSummary {
        self.cells[0]
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.cells.iter().map(|cell| cell.verdict).fold(Verdict::Pass, Verdict::merge)
    }

    /// Why it is no pass: what the first of its worst cells says.
    pub(super) fn reason(&self) -> Option<String> {
        let verdict = self.verdict();
        let cell = self.cells.iter().find(|cell| cell.verdict == verdict).filter(|_| verdict > Verdict::Pass)?;
        let check = cell.checks.iter().find(|check| check.verdict == verdict)?;
        Some(format!("{}: {}", check.name, check.reason()))
    }

    /// Of the strikes of each cell, with the round that it is of.
    pub(super) fn values(&self, measure: Measure) -> Vec<(u32, Vec<f64>)> {
        let of_cell = |cell: &&CellSummary| {
            let round = cell.info.repetition.as_ref().map_or(1, |repetition| repetition.number);
            (round, cell.strikes.iter().filter_map(|strike| measure.value(strike)).collect())
        };
        self.cells.iter().map(of_cell).collect()
    }
}

/// What `compare` and `sides_of` choose from: the names of all configurations of these runs.
pub fn names<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Vec<&'a str> {
    let all = summaries.flat_map(|summary| [None, Some(Side::Base), Some(Side::New)].map(|side| (summary, side)));
    let mut names: Vec<&str> = Vec::new();
    for one in all.flat_map(|(summary, side)| configurations(summary, side)) {
        if !names.contains(&one.name) {
            names.push(one.name);
        }
    }
    names
}

/// Those of a run, in its order, of one side where it has two. Self-tests are about the harness, and cells without candidates have
/// no leads to lose.
pub(super) fn configurations(summary: &Summary, side: Option<Side>) -> Vec<Configuration<'_>> {
    let mut found: Vec<Configuration<'_>> = Vec::new();
    let judged = summary.cells.iter().filter(|cell| !cell.info.self_test && cell.info.has_candidates());
    for cell in judged.filter(|cell| cell.info.contest.as_ref().map(|contest| contest.side) == side) {
        let name = match (&cell.info.contest, &cell.info.repetition) {
            (Some(contest), _) => &contest.pair,
            (None, Some(repetition)) => &repetition.of,
            (None, None) => &cell.info.name,
        };
        match found.iter_mut().find(|one| one.name == name) {
            Some(one) => one.cells.push(cell),
            None => found.push(Configuration { name, cells: vec![cell] }),
        }
    }
    found
}
