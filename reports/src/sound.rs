//! The configurations of a run, each with its repetitions. A repetition that harness stalls spoilt is left out if most
//! of its configuration's are sound: those decide.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::CellSummary;
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::ComparisonSide;

/// One configuration, of one side where a run has two.
pub(crate) struct Configuration<'a> {
    /// The name on the other side too.
    pub(crate) name: &'a str,
    /// Repetitions that decide: all, if too many are spoilt.
    pub(crate) cells: Vec<&'a CellSummary>,
    /// Repetitions that are left out: spoilt ones, if most of all are not.
    pub(crate) left_out: Vec<&'a CellSummary>,
}

impl<'a> Configuration<'a> {
    pub(crate) fn first(&self) -> &'a CellSummary {
        self.cells[0]
    }

    pub(crate) fn verdict(&self) -> Verdict {
        self.cells.iter().map(|cell| cell.verdict).fold(Verdict::Pass, Verdict::merge)
    }

    /// Why it did not pass: the reason of its first worst cell.
    pub(crate) fn reason(&self) -> Option<String> {
        let verdict = self.verdict();
        let cell = self.cells.iter().find(|cell| cell.verdict == verdict).filter(|_| verdict > Verdict::Pass)?;
        let check = cell.checks.iter().find(|check| check.verdict == verdict)?;
        Some(format!("{}: {}", check.name, check.reason()))
    }

    /// The rounds of those that are left out.
    pub(crate) fn rounds_left_out(&self) -> BTreeSet<u32> {
        self.left_out.iter().map(|cell| round(cell)).collect()
    }

    /// All of them, left out or not.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'a CellSummary> {
        self.cells.iter().chain(&self.left_out).copied()
    }

    /// How many are spoilt, whether they are left out or not, and how many there are.
    pub(crate) fn spoilt_of(&self) -> (u64, u64) {
        (self.all().filter(|cell| cell.is_spoilt()).count() as u64, self.all().count() as u64)
    }

    fn settle(mut self) -> Self {
        let (spoilt, sound): (Vec<_>, Vec<_>) = self.cells.iter().copied().partition(|cell| cell.is_spoilt());
        if 2 * sound.len() > self.cells.len() {
            (self.cells, self.left_out) = (sound, spoilt);
        }
        self
    }
}

/// The round in which it was run.
pub(crate) fn round(cell: &CellSummary) -> u32 {
    cell.info.repetition.as_ref().map_or(1, |repetition| repetition.number)
}

/// The name of its configuration, which both sides share where a run has two.
pub(crate) fn configuration_name(cell: &CellSummary) -> &str {
    cell.info.contest.as_ref().map_or(cell.info.configuration(), |contest| &contest.pair)
}

/// Whether two sides are compared in this run.
pub(crate) fn has_sides(summary: &Summary) -> bool {
    summary.cells.iter().any(|cell| cell.info.contest.is_some())
}

/// Whether it is of the side with which a run compares the new one.
pub(crate) fn is_of_base(cell: &CellSummary) -> bool {
    cell.info.contest.as_ref().is_some_and(|contest| contest.side == ComparisonSide::Base)
}

/// What this verdict, on the cell or on a check of it, counts for in the verdict on the run. A base that fails does not
/// fail the run: the new side may repair it. Nothing can be compared with it, so the run is inconclusive.
pub(crate) fn counted_verdict(cell: &CellSummary, verdict: Verdict) -> Verdict {
    if is_of_base(cell) { verdict.min(Verdict::Inconclusive) } else { verdict }
}

/// The configurations of a run, in its order, of one side where it has two. Excluded are self-tests, which are about
/// the harness, and cells without candidates, which have no leaders to lose.
pub(crate) fn configurations(summary: &Summary, side: Option<ComparisonSide>) -> Vec<Configuration<'_>> {
    let mut found: Vec<Configuration<'_>> = Vec::new();
    let judged = summary.cells.iter().filter(|cell| !cell.info.self_test && cell.info.has_candidates());
    for cell in judged.filter(|cell| cell.info.contest.as_ref().map(|contest| contest.side) == side) {
        let name = configuration_name(cell);
        match found.iter_mut().find(|one| one.name == name) {
            Some(one) => one.cells.push(cell),
            None => found.push(Configuration { name, cells: vec![cell], left_out: Vec::new() }),
        }
    }
    found.into_iter().map(Configuration::settle).collect()
}

/// The configurations that a run is about: where it compares two sides, those of the new one.
pub(crate) fn of_new_side(summary: &Summary) -> Vec<Configuration<'_>> {
    configurations(summary, has_sides(summary).then_some(ComparisonSide::New))
}

/// The configurations of both sides, where a run has two.
pub(crate) fn of_all_sides(summary: &Summary) -> impl Iterator<Item = Configuration<'_>> {
    [None, Some(ComparisonSide::Base), Some(ComparisonSide::New)]
        .into_iter()
        .flat_map(|side| configurations(summary, side))
}

/// The record's verdict without repetitions that are left out. Of two sides, only the new one can fail it.
#[must_use]
pub fn decided(summary: &Summary) -> Verdict {
    let left_out: BTreeSet<u32> =
        of_all_sides(summary).flat_map(|one| one.left_out).map(|cell| cell.info.index).collect();
    let asked = summary.cells.iter().filter(|cell| !cell.info.self_test && !left_out.contains(&cell.info.index));
    asked.map(|cell| counted_verdict(cell, cell.verdict)).fold(summary.whole, Verdict::merge)
}

/// Why the run fails whatever further rounds show: a repetition failed, of the new side where the run has two. A base
/// that fails alone leaves the run inconclusive at most. None: no such failure so far.
#[must_use]
pub fn certain_failure(summary: &Summary) -> Option<String> {
    let mut asked = summary.cells.iter().filter(|cell| !cell.info.self_test && !is_of_base(cell));
    let cell = asked.find(|cell| cell.verdict == Verdict::Fail)?;
    let check = cell.checks.iter().find(|check| check.verdict == Verdict::Fail);
    let why = check.map_or_else(String::new, |check| format!(" ({}: {})", check.name, check.reason()));
    Some(format!("cell {} failed{why}", cell.info.name))
}

/// Cells to run again, by their names in the scenario. Fewer repetitions of their configuration are sound than planned,
/// or at most half, and only stalls prevent a pass. Of two sides both are named: they are run again in turn. None if
/// the run fails for certain.
#[must_use]
pub fn cells_to_repeat(summary: &Summary) -> BTreeSet<String> {
    if certain_failure(summary).is_some() {
        return BTreeSet::new();
    }
    let mut pairs: BTreeMap<&str, Vec<&CellSummary>> = BTreeMap::new();
    for one in of_all_sides(summary) {
        pairs.entry(one.name).or_default().extend(one.all());
    }
    let mut names = BTreeSet::new();
    for cells in pairs.values() {
        let Some(count) = cells.iter().find_map(|cell| Some(cell.info.repetition.as_ref()?.count)) else { continue };
        let spoilt: BTreeSet<u32> = cells.iter().filter(|cell| cell.is_spoilt()).map(|cell| round(cell)).collect();
        let rounds: BTreeSet<u32> = cells.iter().map(|cell| round(cell)).collect();
        let sound = rounds.len() - spoilt.len();
        let is_hopeless = cells.iter().any(|cell| cell.verdict > Verdict::Pass && !cell.is_spoilt());
        if !spoilt.is_empty() && !is_hopeless && (sound < count as usize || 2 * sound <= rounds.len()) {
            names.extend(cells.iter().filter_map(|cell| Some(cell.info.repetition.as_ref()?.of.clone())));
        }
    }
    names
}
