//! Cells that a run with two sides must repeat, and how often, because the planned rounds do not decide how the sides
//! differ.

use std::collections::BTreeMap;

use super::answer::{Answer, Comparison, Rules};
use super::contest::{ComparedPair, sides_of};
use crate::sound::of_all_sides;
use crate::summary::Summary;
use hustings_record::Repetition;

/// A few rounds estimate their variance poorly. So `MORE_TIMES` the estimate is run, and estimates of up to
/// `TRIED_AT_TIMES` the allowed rounds are tried. Undecided cells are run at least `AT_LEAST_TIMES` as often as
/// planned: by their variance the planned rounds should have been enough.
const MORE_TIMES: f64 = 1.3;
const AT_LEAST_TIMES: u32 = 2;
const TRIED_AT_TIMES: f64 = 2.0;

/// Their names in the scenario, of both sides, with the total of rounds that they need. None where a gate has nothing
/// undecided, or where further rounds would not make it pass: a side is worse, there is another obstacle, or far too
/// many are needed. The numbers depend on the variance of rounds, not on the difference of the sides, which would
/// favour chance findings.
#[must_use]
pub fn undecided(summary: &Summary, rules: Rules) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    let Ok(comparing) = sides_of(summary, rules, |_| true) else { return all };
    let rest = comparing.pairs.iter().find_map(|pair| pair.why.as_ref()).or(comparing.doubt.as_ref());
    if comparing.answer == Answer::Worse || rest.is_some() {
        return all;
    }
    for one in of_all_sides(summary) {
        let Some(pair) = comparing.pairs.iter().find(|pair| pair.name == one.name) else { continue };
        let Some(Repetition { of, count, at_most, .. }) = &one.first().info.repetition else { continue };
        match wanted(pair) {
            None => {}
            Some(rounds) if f64::from(rounds) > TRIED_AT_TIMES * f64::from(*at_most) => return BTreeMap::new(),
            Some(rounds) => {
                let wanted = ((f64::from(rounds) * MORE_TIMES) as u32).max(AT_LEAST_TIMES * count);
                all.insert(of.clone(), wanted.min(*at_most));
            }
        }
    }
    all
}

/// The most rounds that an undecided comparison of a pair needs; None if all are decided.
fn wanted(pair: &ComparedPair) -> Option<u32> {
    let is_open = |found: &&Comparison| found.answer == Answer::CannotTell && !found.no_worse;
    pair.comparisons.iter().filter(is_open).map(|found| found.rounds_wanted.unwrap_or(u32::MAX)).max()
}
