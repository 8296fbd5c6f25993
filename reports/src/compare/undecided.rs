//! Cells that a run with two sides must repeat, and how often, because the planned rounds do not decide how the sides
//! differ.

use std::collections::BTreeMap;

use super::answer::{Comparison, ComparisonRules, ComparisonVerdict};
use super::contest::{ComparedPair, sides_of};
use crate::sound::{of_all_sides, round};
use crate::summary::Summary;
use hustings_record::numbers::whole;
use hustings_record::{REPETITIONS_MAX, Repetition};

/// A few rounds estimate their variance poorly. So `MORE_TIMES` the estimate is run, and estimates of up to
/// `TRIED_AT_TIMES` the time allowed are tried. Undecided cells are run at least `AT_LEAST_TIMES` as often as planned:
/// by their variance the planned rounds should have been enough.
const MORE_TIMES: f64 = 1.3;
const AT_LEAST_TIMES: u32 = 2;
const TRIED_AT_TIMES: f64 = 2.0;

/// Their names in the scenario, of both sides, with the total of rounds that they need. None where a gate has nothing
/// undecided, or where further rounds would not make it pass: a side is worse, there is another obstacle, or far too
/// many are needed. The numbers depend on the variance of rounds, not on the difference of the sides, which would
/// favour chance findings.
///
/// What the further rounds of all cells would take at most is shared by the undecided ones. `duration_ms` estimates one
/// repetition of the cell of that name.
#[must_use]
pub fn undecided(
    summary: &Summary,
    rules: ComparisonRules,
    duration_ms: impl Fn(&str) -> u64,
) -> BTreeMap<String, u32> {
    let Ok(comparing) = sides_of(summary, rules, |_| true) else { return BTreeMap::new() };
    let rest = comparing.pairs.iter().find_map(|pair| pair.why.as_ref()).or(comparing.doubt.as_ref());
    if comparing.answer == ComparisonVerdict::Worse || rest.is_some() {
        return BTreeMap::new();
    }
    let mut open: Vec<UndecidedCell<'_>> = Vec::new();
    let (mut allowed_ms, mut estimated_ms, mut wanted_ms) = (0.0, 0.0, 0.0);
    for one in of_all_sides(summary) {
        let Some(pair) = comparing.pairs.iter().find(|pair| pair.name == one.name) else { continue };
        let Some(Repetition { of, count, at_most, .. }) = &one.first().info.repetition else { continue };
        let takes_ms = duration_ms(of) as f64;
        let done = one.all().map(round).max().unwrap_or(*count);
        allowed_ms += takes_ms * f64::from(at_most.saturating_sub(done));
        if let Some(rounds) = wanted(pair) {
            let total = whole_rounds(f64::from(rounds) * MORE_TIMES).max(AT_LEAST_TIMES * count);
            estimated_ms += takes_ms * f64::from(rounds.saturating_sub(done));
            wanted_ms += takes_ms * f64::from(total.saturating_sub(done));
            open.push(UndecidedCell { of, done, total });
        }
    }
    if estimated_ms > TRIED_AT_TIMES * allowed_ms {
        return BTreeMap::new();
    }
    let share = if wanted_ms > allowed_ms { allowed_ms / wanted_ms } else { 1.0 };
    let rounds =
        |one: &UndecidedCell<'_>| one.done + whole_rounds(f64::from(one.total.saturating_sub(one.done)) * share);
    open.iter().map(|one| (one.of.to_owned(), rounds(one).min(REPETITIONS_MAX))).collect()
}

fn whole_rounds(rounds: f64) -> u32 {
    u32::try_from(whole(rounds)).unwrap_or(u32::MAX)
}

/// An undecided cell, with the rounds that were run and the total that it needs.
struct UndecidedCell<'a> {
    of: &'a str,
    done: u32,
    total: u32,
}

/// The most rounds that an undecided comparison of a pair needs; None if all are decided.
fn wanted(pair: &ComparedPair) -> Option<u32> {
    let is_open = |found: &&Comparison| found.answer == ComparisonVerdict::CannotTell && !found.no_worse;
    pair.comparisons.iter().filter(is_open).map(|found| found.rounds_wanted.unwrap_or(u32::MAX)).max()
}
