//! What did not pass: a line for each check of a cell. Repetitions of a configuration in which it did not pass for the
//! same cause share a line.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::render::clean;
use crate::render::differing_parameters::{Axis, DifferingParameters};
use crate::state::{State, StateBadge};
use crate::summary::{CellSummary, Summary};

#[derive(Serialize)]
pub(crate) struct Problem {
    /// The section of the first of its cells.
    pub(crate) anchor: String,
    pub(crate) cell: String,
    pub(crate) check: String,
    pub(crate) reason: String,
    pub(crate) state: StateBadge,
}

/// A check that did not pass in a cell, or a cell that did not though all of its checks passed.
#[derive(Clone, Copy)]
struct OpenCheck<'a> {
    place: usize,
    cell: &'a CellSummary,
    state: State,
    check: &'a str,
    reason: &'a str,
}

/// All of them, the worst first.
pub(super) fn problems(summary: &Summary) -> Vec<Problem> {
    let apart = DifferingParameters::of(&summary.cells);
    let mut causes = BTreeMap::new();
    let mut alike: Vec<Vec<OpenCheck<'_>>> = Vec::new();
    for one in summary.cells.iter().enumerate().flat_map(|(place, cell)| open_checks(place, cell)) {
        let next = alike.len();
        match one.cause().map_or(next, |cause| *causes.entry(cause).or_insert(next)) {
            new if new == next => alike.push(vec![one]),
            known => alike[known].push(one),
        }
    }
    alike.sort_by_key(|checks| std::cmp::Reverse(checks[0].state));
    alike.iter().map(|checks| problem(summary, &apart, checks)).collect()
}

fn open_checks(place: usize, cell: &CellSummary) -> Vec<OpenCheck<'_>> {
    let states = || cell.checks.iter().map(move |check| (State::of_check(cell, check), check));
    let open = states().filter(|(state, _)| state.is_open_or_failed());
    let mut all: Vec<OpenCheck<'_>> = open
        .map(|(state, check)| OpenCheck { place, cell, state, check: &check.name, reason: check.reason() })
        .collect();
    let state = State::of_cell(cell);
    if state.is_open_or_failed() && states().all(|(other, _)| other < state) {
        let (check, reason) = ("cell", "no check says why; look at what is missing from it");
        all.push(OpenCheck { place, cell, state, check, reason });
    }
    all
}

impl<'a> OpenCheck<'a> {
    /// What repetitions share that are open for one cause: the reason but for its figures and names. None of a cell that
    /// was run once.
    fn cause(&self) -> Option<(State, &'a str, &'a str, String)> {
        let of = self.cell.info.repetition.as_ref()?.of.as_str();
        let is_telling = |word: &&str| word.chars().count() > 3 && !word.contains(char::is_numeric);
        Some((self.state, of, self.check, self.reason.split_whitespace().filter(is_telling).collect()))
    }
}

/// The line for checks that are open for one cause.
fn problem(summary: &Summary, apart: &DifferingParameters, alike: &[OpenCheck<'_>]) -> Problem {
    let OpenCheck { place, cell, state, check, reason } = alike[0];
    let told = clean::short(reason, 300);
    let (label, reason) = match &cell.info.repetition {
        Some(repetition) if alike.len() > 1 => {
            let repetitions = summary.cells.iter().filter_map(|cell| cell.info.repetition.as_ref());
            let all = repetitions.filter(|other| other.of == repetition.of).count();
            let first = if alike.iter().all(|one| one.reason == reason) { "" } else { ", the first" };
            let told = format!("in {} of {all} repetitions{first}: {told}", alike.len());
            (apart.label(cell, &[Axis::Repetition]), told)
        }
        _ => (apart.label(cell, &[]), told),
    };
    let anchor = format!("cell-{}", place + 1);
    Problem { anchor, cell: label, check: clean::short(check, 40), reason, state: state.into() }
}
