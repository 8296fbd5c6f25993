//! Which cells a run with two sides has to run again, for the planned rounds do not tell how the sides differ, and how often.

use std::collections::BTreeMap;

use super::answer::{Answer, Comparison, Rules};
use super::contest::{ComparedPair, sides_of};
use crate::repetitions::sound::of_all_sides;
use crate::summary::Summary;
use hustings_record::Repetition;

/// Few rounds tell poorly how far they scatter: so many times as many are run as they want, and it is tried where they want so many
/// times as many as there may be. What is open is run twice as often as planned at least: the planned rounds would have been enough
/// by how far they scatter, and were not.
const MORE_TIMES: f64 = 1.3;
const AT_LEAST_TIMES: u32 = 2;
const TRIED_AT_TIMES: f64 = 2.0;

/// Their names in the scenario, of both sides, with how many rounds they want in all. None where a gate has nothing open, or where
/// further rounds would not make it pass: a side is worse, something but the comparison is in the way, or far too many are wanted.
/// The numbers come of how far rounds scatter and not of how far the sides lie apart, which would make chance look for itself.
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

/// How many rounds a pair wants, by the comparison that wants most of them; None where nothing is open.
fn wanted(pair: &ComparedPair) -> Option<u32> {
    let is_open = |found: &&Comparison| found.answer == Answer::CannotTell && !found.no_worse;
    pair.comparisons.iter().filter(is_open).map(|found| found.rounds_wanted.unwrap_or(u32::MAX)).max()
}
