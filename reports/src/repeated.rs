//! The configurations of a run, each with its repetitions. One that stalls of the harness spoilt decides nothing where most of the
//! others of its configuration are not: what it leaves open these tell.

use std::collections::BTreeSet;

use crate::check::CellSummary;
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::Side;

/// One configuration, of one side where a run has two.
pub(crate) struct Configuration<'a> {
    /// What the other side's is called too.
    pub(crate) name: &'a str,
    /// Repetitions that decide: all, where too many are spoilt.
    pub(crate) cells: Vec<&'a CellSummary>,
    /// Those that are left out.
    pub(crate) spoilt: Vec<&'a CellSummary>,
}

impl<'a> Configuration<'a> {
    pub(crate) fn first(&self) -> &'a CellSummary {
        self.cells[0]
    }

    pub(crate) fn verdict(&self) -> Verdict {
        self.cells.iter().map(|cell| cell.verdict).fold(Verdict::Pass, Verdict::merge)
    }

    /// The rounds of those that are left out.
    pub(crate) fn spoilt_rounds(&self) -> BTreeSet<u32> {
        self.spoilt.iter().map(|cell| round(cell)).collect()
    }

    /// How many are spoilt, whether they are left out or not, and how many there are.
    pub(crate) fn spoilt_of(&self) -> (u64, u64) {
        let all = || self.cells.iter().chain(&self.spoilt);
        (all().filter(|cell| cell.is_spoilt()).count() as u64, all().count() as u64)
    }

    fn settle(mut self) -> Self {
        let (spoilt, sound): (Vec<_>, Vec<_>) = self.cells.iter().copied().partition(|cell| cell.is_spoilt());
        if 2 * sound.len() > self.cells.len() {
            (self.cells, self.spoilt) = (sound, spoilt);
        }
        self
    }
}

/// In which round it was run.
pub(crate) fn round(cell: &CellSummary) -> u32 {
    cell.info.repetition.as_ref().map_or(1, |repetition| repetition.number)
}

/// Those of a run, in its order, of one side where it has two. Self-tests are about the harness, and cells without candidates have
/// no leads to lose.
pub(crate) fn configurations(summary: &Summary, side: Option<Side>) -> Vec<Configuration<'_>> {
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
            None => found.push(Configuration { name, cells: vec![cell], spoilt: Vec::new() }),
        }
    }
    found.into_iter().map(Configuration::settle).collect()
}

/// Of both sides, where a run has two.
pub(crate) fn of_all_sides(summary: &Summary) -> impl Iterator<Item = Configuration<'_>> {
    [None, Some(Side::Base), Some(Side::New)].into_iter().flat_map(|side| configurations(summary, side))
}

/// The record's verdict without repetitions that are left out.
#[must_use]
pub fn decided(summary: &Summary) -> Verdict {
    let judged = || summary.cells.iter().filter(|cell| !cell.info.self_test);
    let fold = |cells: &mut dyn Iterator<Item = &CellSummary>| {
        cells.map(|cell| cell.verdict).fold(Verdict::Pass, Verdict::merge)
    };
    // What is said of the record as a whole stays.
    let whole = if summary.verdict > fold(&mut judged()) { summary.verdict } else { Verdict::Pass };
    let left_out: BTreeSet<u32> =
        of_all_sides(summary).flat_map(|one| one.spoilt).map(|cell| cell.info.index).collect();
    whole.merge(fold(&mut judged().filter(|cell| !left_out.contains(&cell.info.index))))
}

/// Configurations of which fewer repetitions than were planned are not spoilt, by the names that their cells have in the scenario.
/// Of two sides both are named: what is run again is run again in turn.
#[must_use]
pub fn wanting(summary: &Summary) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for cell in summary.cells.iter().filter(|cell| cell.is_spoilt()) {
        let Some(repetition) = &cell.info.repetition else { continue };
        let is_alike = |other: &&CellSummary| match (&cell.info.contest, &other.info.contest) {
            (Some(own), Some(contest)) => own.pair == contest.pair,
            _ => other.info.repetition.as_ref().is_some_and(|other| other.of == repetition.of),
        };
        let alike: Vec<&CellSummary> = summary.cells.iter().filter(is_alike).collect();
        let spoilt: BTreeSet<u32> = alike.iter().filter(|cell| cell.is_spoilt()).map(|cell| round(cell)).collect();
        let rounds: BTreeSet<u32> = alike.iter().map(|cell| round(cell)).collect();
        if rounds.difference(&spoilt).count() < repetition.count as usize {
            let of = |cell: &&CellSummary| cell.info.repetition.as_ref().map(|repetition| repetition.of.clone());
            names.extend(alike.iter().filter_map(of));
        }
    }
    names
}
