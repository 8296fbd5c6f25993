//! Cells that a run with two sides must repeat, and how often, because the planned rounds do not decide how the sides
//! differ.

use std::collections::BTreeMap;

use super::answer::{Comparison, ComparisonRules, ComparisonVerdict};
use super::contest::{ComparedPair, sides_of};
use crate::sound::{certain_failure, of_all_sides};
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::numbers::{to_u32, whole};
use hustings_record::{REPETITIONS_MAX, Repetition};

/// A few rounds estimate their variance poorly. So `MORE_TIMES` the estimate is run, and estimates of up to
/// `TRIED_AT_TIMES` the time allowed are tried. Undecided cells are run at least `AT_LEAST_TIMES` as often as planned:
/// by their variance the planned rounds should have been enough. Without an estimate they are run that often.
const MORE_TIMES: f64 = 1.3;
const AT_LEAST_TIMES: u32 = 2;
const TRIED_AT_TIMES: f64 = 2.0;

/// Their names in the scenario, of both sides, with the number of rounds that each needs besides those in the record.
/// None where a gate has nothing undecided, or where further rounds would not make it pass: the run fails for certain,
/// a side is worse, there is another obstacle, or far too many are needed. The numbers depend on the variance of
/// rounds, not on the difference of the sides, which would favour chance findings.
///
/// If stalls spoil more repetitions of the new side, pairs whose sides differ in that get as many rounds as were
/// planned. The doubt is then judged by all rounds together: it goes if it was chance, and stays if the new side causes
/// stalls.
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
    let is_hopeless = comparing.answer == ComparisonVerdict::Worse
        || comparing.pairs.iter().any(|pair| pair.why.is_some())
        || summary.whole > Verdict::Pass
        || certain_failure(summary).is_some();
    if is_hopeless {
        return BTreeMap::new();
    }
    let mut open: Vec<(&str, u32)> = Vec::new();
    let (mut allowed_ms, mut estimated_ms, mut wanted_ms) = (0.0, 0.0, 0.0);
    for one in of_all_sides(summary) {
        let Some(pair) = comparing.pairs.iter().find(|pair| pair.name == one.name) else { continue };
        let Some(Repetition { of, count, at_most, .. }) = &one.first().info.repetition else { continue };
        let takes_ms = duration_ms(of) as f64;
        // Numbers of rounds belong to the run: a cell is not in all of them.
        let done = to_u32(one.all().count());
        allowed_ms += takes_ms * f64::from(at_most.saturating_sub(done));
        let mut more = 0;
        if let Some(wanted) = RoundsWanted::of(pair, *count) {
            estimated_ms += takes_ms * f64::from(wanted.estimate.saturating_sub(done));
            more = wanted.total.saturating_sub(done);
        }
        // The record is whole, so a doubt is one by stalls. No pair has an obstacle, so what is spoilt is left out.
        if comparing.doubt.is_some() && pair.base.left_out != pair.new.left_out {
            more = more.max(*count);
        }
        wanted_ms += takes_ms * f64::from(more);
        open.push((of.as_str(), more));
    }
    if estimated_ms > TRIED_AT_TIMES * allowed_ms {
        return BTreeMap::new();
    }
    let share = if wanted_ms > allowed_ms { allowed_ms / wanted_ms } else { 1.0 };
    let shared = open.into_iter().map(|(of, more)| (of.to_owned(), whole_rounds(f64::from(more) * share)));
    shared.filter(|(_, more)| *more > 0).map(|(of, more)| (of, more.min(REPETITIONS_MAX))).collect()
}

/// How many more rounds each cell needs by the variance of all its rounds so far. It does not depend on a difference of
/// the sides that is about as large as the margin, so a run that ends by it does not end because of what it found. Cells
/// without an estimate are left out.
#[must_use]
pub fn rounds_missing(summary: &Summary, rules: ComparisonRules) -> BTreeMap<String, u32> {
    let Ok(comparing) = sides_of(summary, rules, |_| true) else { return BTreeMap::new() };
    let missing = of_all_sides(summary).filter_map(|one| {
        let pair = comparing.pairs.iter().find(|pair| pair.name == one.name)?;
        let Repetition { of, count, .. } = one.first().info.repetition.as_ref()?;
        // Rounds because of a doubt by stalls are not about the variance.
        if comparing.doubt.is_some() && pair.base.left_out != pair.new.left_out {
            return None;
        }
        let wanted = RoundsWanted::by(pair.comparisons.iter(), *count)?;
        let is_known = pair.comparisons.iter().all(|found| found.rounds_wanted.is_some());
        is_known.then(|| (of.clone(), wanted.total.saturating_sub(to_u32(one.all().count()))))
    });
    missing.collect()
}

fn whole_rounds(rounds: f64) -> u32 {
    u32::try_from(whole(rounds)).unwrap_or(u32::MAX)
}

/// The rounds that an undecided pair needs, with those in the record.
struct RoundsWanted {
    /// By the variance of its rounds.
    estimate: u32,
    /// With what such an estimate may lack.
    total: u32,
}

impl RoundsWanted {
    /// The most of all undecided comparisons of a pair with this many planned rounds; None if all are decided.
    fn of(pair: &ComparedPair, planned: u32) -> Option<Self> {
        let is_open = |found: &&Comparison| found.answer == ComparisonVerdict::CannotTell && !found.no_worse;
        Self::by(pair.comparisons.iter().filter(is_open), planned)
    }

    /// The most of these comparisons; None if there are none.
    fn by<'c>(comparisons: impl Iterator<Item = &'c Comparison> + Clone, planned: u32) -> Option<Self> {
        let least = AT_LEAST_TIMES * planned;
        let total = |rounds: u32| whole_rounds(f64::from(rounds) * MORE_TIMES).max(least);
        Some(Self {
            estimate: comparisons.clone().map(|found| found.rounds_wanted.unwrap_or(least)).max()?,
            total: comparisons.map(|found| found.rounds_wanted.map_or(least, total)).max()?,
        })
    }
}
