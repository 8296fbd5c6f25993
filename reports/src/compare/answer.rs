//! The four answers, and what decides among them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::count::{MeanDifference, mean_difference};
use super::measure::{Measure, Unit};
use super::round_variance::{Prior, RoundVariance};
use super::rounds::{RoundValues, mean, middle};
use super::share::{self, RoundsShowing};
use crate::stats::rank_sum::{Shift, shift, smallest_p};
use crate::verdict::Verdict;
use hustings_record::numbers::{to_u32, whole};

/// A need for more injections than this is impractical, and reported as none.
const MORE_MAX: f64 = 10_000.0;

/// Planned power: the share of runs with equal sides that are to be called the same.
const TOLD: f64 = 0.9;

/// The result of a comparison, in order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonVerdict {
    /// The interval lies within the margin.
    Same,
    Better,
    /// Neither is shown: more injections would decide it.
    CannotTell,
    Worse,
}

impl ComparisonVerdict {
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Better => "better",
            Self::CannotTell => "cannot tell",
            Self::Worse => "worse",
        }
    }

    /// The verdict that it gives a gate and the exit code.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Same | Self::Better => Verdict::Pass,
            Self::CannotTell => Verdict::Inconclusive,
            Self::Worse => Verdict::Fail,
        }
    }
}

/// Parameters of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRules {
    /// Limit of the probability that any comparison of a call is called worse or better by chance alone.
    pub alpha: f64,
    /// Differences up to this share of the base's median count as the same.
    pub delta: f64,
    /// So do differences up to this share of a round trip to the base's servers, by the floor measured there: a
    /// handover consists of round trips.
    pub of_round_trip: f64,
}

impl Default for ComparisonRules {
    fn default() -> Self {
        // Medians of ten or more injections of one build sometimes differ by this much. They do not show the variation
        // that the injections of a cell share.
        Self { alpha: 0.05, delta: 0.15, of_round_trip: 0.5 }
    }
}

impl ComparisonRules {
    /// Counts differences up to `delta` as the same, and no others.
    #[must_use]
    pub fn within(delta: f64) -> Self {
        Self { delta, of_round_trip: 0.0, ..Self::default() }
    }
}

/// One side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Injections that have the figure.
    pub injections: u64,
    /// The median of their values, `null` in JSON where censoring hides it. For shares, and for counts that are
    /// compared by their means, the mean.
    pub typical: f64,
}

/// One figure of two sides, compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub measure: Measure,
    pub base: Figures,
    pub new: Figures,
    /// How far the new side's values lie above the base's, in the measure's unit: the median of all differences,
    /// without round effects. For shares, and for counts that are compared by their means, the difference of the means.
    pub shift: f64,
    /// Its 1 − alpha interval: by the injections and, with several rounds, by the variation of the difference between
    /// rounds, the wider end of each. None with too few injections.
    pub interval: Option<(f64, f64)>,
    /// The largest difference that counts as the same, in the measure's unit.
    pub margin: f64,
    /// Two-sided p-value: the larger of the injections' rank-sum test and, with several rounds, Student's t-test of
    /// these. Below, adjusted by Holm's step-down procedure (1979) for all others of the call, times the looks of the
    /// run at its sides (Bonferroni).
    pub p: f64,
    pub p_holm: f64,
    pub answer: ComparisonVerdict,
    /// Whether the interval ends within the margin: it may be better or the same, and is no worse.
    pub no_worse: bool,
    /// Rounds of this size that it takes to call equal sides the same in nine of ten runs, with all others of the call.
    /// It depends on the variance of rounds and injections, not on the difference of the sides. `u32::MAX` where no
    /// practical number suffices. Twice the present ones where too few rounds show a significant difference. None without
    /// an estimate: of other shares, and of times with one round or with a round in which they are hidden.
    pub rounds_wanted: Option<u32>,
    /// If undecided: how many more injections per side would decide it, if they resemble the present ones. None if no
    /// practical number would.
    pub needs: Option<u64>,
}

/// Values of the injections of two sides, before anything is decided.
pub(super) struct InjectionValues {
    pub(super) measure: Measure,
    base: Vec<f64>,
    new: Vec<f64>,
    /// Median round trip of the base's cells in nanoseconds, if measured.
    round_trip: Option<f64>,
    /// From values without round effects.
    found: Shift,
    round_variance: Option<RoundVariance>,
    /// Of counts.
    means: Option<MeanDifference>,
    /// Rounds that both sides have.
    rounds: usize,
    /// Which rounds show the difference that all of them together show; of times the round variance tells.
    showing: RoundsShowing,
}

/// The difference by which the sides are called the same or not.
struct DecidingShift {
    estimate: f64,
    interval: Option<(f64, f64)>,
    margin: f64,
    /// The typical value of a side.
    typical: fn(&[f64]) -> f64,
}

impl InjectionValues {
    /// From the injections of each round. None if a side lacks the figure, or if no lead of either is slow, or censored.
    pub(super) fn new(
        measure: Measure,
        values: &RoundValues,
        round_trip: Option<f64>,
        rules: &ComparisonRules,
    ) -> Option<Self> {
        let (base, new) = values.all();
        let rounds = values.means().count();
        let (found, round_variance, means, showing) = match measure.unit() {
            Unit::Nanoseconds => {
                let (base, new) = values.aligned().all();
                (shift(&base, &new, rules.alpha)?, RoundVariance::of(values), None, RoundsShowing::Most)
            }
            Unit::Share => {
                let found = share::found(values, rules.alpha)?;
                (found, None, None, share::rounds_showing(values, found.estimate))
            }
            Unit::Count => {
                let found = shift(&base, &new, rules.alpha)?;
                let means = mean_difference(&base, &new, rules.alpha);
                let estimate = means.map_or(found.estimate, |means| means.estimate);
                (found, None, means, share::rounds_showing(values, estimate))
            }
        };
        let round_trip = round_trip.filter(|_| measure.unit() == Unit::Nanoseconds);
        Some(Self { measure, base, new, round_trip, found, round_variance, means, rounds, showing })
    }

    /// Whether the values could show a difference. If all are equal they cannot, and do not count as an attempt.
    fn can_differ(&self) -> bool {
        self.base.iter().chain(&self.new).any(|value| *value != self.base[0])
    }

    /// The larger p-value of injections and rounds.
    fn p(&self, others: &Prior) -> f64 {
        self.round_variance.map_or(0.0, |round_variance| round_variance.p(others)).max(self.found.p)
    }

    /// The interval by injections, widened to that by rounds.
    fn interval(&self, others: &Prior, rules: &ComparisonRules) -> Option<(f64, f64)> {
        let (low, high) = self.found.interval?;
        let Some(round_variance) = self.round_variance else { return Some((low, high)) };
        let (median, rounds) = (middle(&self.base), round_variance.interval(others, rules.alpha));
        Some((low.min(median * rounds.0), high.max(median * rounds.1)))
    }

    /// The median of all differences does not show what happens to fewer than half of the injections. So counts that are
    /// significantly more or less are compared by their means, if these differ by more than the margin; else the answer
    /// could be *same*.
    fn deciding(&self, others: &Prior, is_significant: bool, rules: &ComparisonRules) -> DecidingShift {
        let by_means = self.means.filter(|_| is_significant).map(|means| DecidingShift {
            estimate: means.estimate,
            interval: self.found.interval.map(|_| means.interval),
            margin: mean(&self.base) * rules.delta,
            typical: mean,
        });
        by_means.filter(|by_means| by_means.estimate.abs() > by_means.margin).unwrap_or_else(|| {
            let is_share = self.measure.unit() == Unit::Share;
            DecidingShift {
                estimate: self.found.estimate,
                interval: self.interval(others, rules),
                margin: if is_share { 0.0 } else { self.margin(rules) },
                typical: if is_share { mean } else { middle },
            }
        })
    }

    /// As [`Comparison::rounds_wanted`], if the difference is not one that too few rounds show.
    fn rounds_wanted(
        &self,
        others: &Prior,
        deciding: &DecidingShift,
        room: f64,
        rules: &ComparisonRules,
    ) -> Option<u32> {
        let margin = deciding.margin;
        let by_injections = |(low, high): (f64, f64)| {
            self.rounds as f64 * ((high - low) / 2.0 / margin * (1.0 + room / z(rules.alpha / 2.0))).powi(2)
        };
        let wanted = match self.measure.unit() {
            Unit::Nanoseconds => {
                let margin = (margin / middle(&self.base)).ln_1p();
                let by_rounds = self.round_variance?.rounds_wanted(others, (margin, room), rules.alpha);
                // Infinite where no practical number of rounds suffices, as with a margin of zero.
                by_injections(self.found.interval?).max(by_rounds.unwrap_or(f64::INFINITY))
            }
            Unit::Count => Some(by_injections(deciding.interval?)).filter(|wanted| wanted.is_finite())?,
            Unit::Share => return None,
        };
        Some(u32::try_from(whole(wanted.ceil())).unwrap_or(u32::MAX))
    }

    /// The largest difference that counts as the same.
    fn margin(&self, rules: &ComparisonRules) -> f64 {
        let median = middle(&self.base);
        let least = self.round_trip.map_or(0.0, |ns| ns * rules.of_round_trip);
        if median.is_finite() { (median * rules.delta).max(least) } else { 0.0 }
    }
}

impl Comparison {
    /// How far apart the sides are, as a share of the base's typical value; None where that is 0, or either is hidden.
    #[must_use]
    pub fn relative(&self) -> Option<f64> {
        Some(self.shift / self.base.typical).filter(|share| share.is_finite())
    }
}

/// Decides on all comparisons of a call at once. A share without a significant difference gives none, nor does one that
/// is lower in too few rounds: rare events seldom show sameness. `looks` is how often a run may look at its sides before
/// it ends: each look may find a difference by chance.
pub(super) fn decide(asked: Vec<InjectionValues>, rules: &ComparisonRules, looks: u32) -> Vec<Option<Comparison>> {
    let mut variances: BTreeMap<Measure, Vec<RoundVariance>> = BTreeMap::new();
    for asked in &asked {
        variances.entry(asked.measure).or_default().extend(asked.round_variance);
    }
    let others: BTreeMap<Measure, Prior> =
        variances.iter().map(|(measure, variances)| (*measure, Prior::of(variances))).collect();
    let attempts = asked.iter().filter(|asked| asked.can_differ());
    let timed =
        asked.iter().filter(|asked| asked.measure == Measure::Failover && asked.round_variance.is_some()).count()
            as f64;
    let family = attempts.map(|asked| asked.p(&others[&asked.measure])).collect();
    let family = Family { family, looks: looks.into(), timed };
    asked.into_iter().map(|asked| one(&asked, &others[&asked.measure], &family, rules)).collect()
}

/// The p-values of all comparisons of a call, and the number of looks.
struct Family {
    family: Vec<f64>,
    looks: f64,
    /// Cells whose times are compared.
    timed: f64,
}

/// The number of standard deviations above which this share of a normal distribution lies.
fn z(share: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - share)
}

impl Family {
    /// The smallest level at which this one is rejected.
    fn level(&self, p: f64) -> f64 {
        (self.looks * holm(p, &self.family)).min(1.0)
    }

    /// Standard errors by which a shift may be off to one side while all are still decided (Bonferroni).
    fn room(&self) -> f64 {
        z((1.0 - TOLD) / self.timed.max(1.0))
    }

    /// The level that the smallest p-value must be below to be rejected at `alpha`.
    fn least(&self, alpha: f64) -> f64 {
        alpha / self.looks / self.family.len().max(1) as f64
    }
}

/// The smallest level at which Holm's procedure rejects this one among all.
fn holm(p: f64, family: &[f64]) -> f64 {
    let mut smaller: Vec<f64> = family.iter().copied().filter(|other| *other <= p).collect();
    smaller.sort_by(f64::total_cmp);
    // The first of equal ones stands for all: it has the largest weight.
    let first = smaller.iter().position(|other| *other == p);
    let up_to = smaller.iter().take(first.map_or(smaller.len(), |first| first + 1));
    let weighed = up_to.enumerate().map(|(rank, other)| other * (family.len() - rank) as f64);
    weighed.fold(p, f64::max).min(1.0)
}

fn one(asked: &InjectionValues, others: &Prior, family: &Family, rules: &ComparisonRules) -> Option<Comparison> {
    let of_shares = asked.measure.unit() == Unit::Share;
    let p = asked.p(others);
    let p_holm = if asked.can_differ() { family.level(p) } else { 1.0 };
    let is_significant = p_holm < rules.alpha;
    let deciding = asked.deciding(others, is_significant, rules);
    let DecidingShift { estimate, interval, margin, typical } = deciding;
    let differs = is_significant && asked.showing == RoundsShowing::Most;
    // A few rounds with more slow or censored leads show no difference, and no sameness.
    let is_unsteady = is_significant && asked.showing == RoundsShowing::Few && estimate > margin;
    if of_shares && !differs && !is_unsteady {
        return None;
    }
    let answer = match interval {
        _ if is_unsteady => ComparisonVerdict::CannotTell,
        _ if of_shares && estimate > 0.0 => ComparisonVerdict::Worse,
        _ if of_shares => ComparisonVerdict::Better,
        Some((low, _)) if differs && estimate > margin && low > 0.0 => ComparisonVerdict::Worse,
        Some((_, high)) if differs && estimate < -margin && high < 0.0 => ComparisonVerdict::Better,
        Some((low, high)) if -margin <= low && high <= margin => ComparisonVerdict::Same,
        _ => ComparisonVerdict::CannotTell,
    };
    let needs = match answer {
        // Further rounds tell whether the present ones are outliers.
        ComparisonVerdict::CannotTell if is_unsteady => Some(asked.base.len().min(asked.new.len()) as u64),
        ComparisonVerdict::CannotTell => more(asked, &deciding, family.least(rules.alpha)),
        ComparisonVerdict::Same | ComparisonVerdict::Better | ComparisonVerdict::Worse => None,
    };
    let rounds_wanted = if is_unsteady {
        Some(to_u32(asked.rounds).saturating_mul(2))
    } else {
        asked.rounds_wanted(others, &deciding, family.room(), rules)
    };
    let side = |values: &[f64]| Figures { injections: values.len() as u64, typical: typical(values) };
    Some(Comparison {
        measure: asked.measure,
        base: side(&asked.base),
        new: side(&asked.new),
        shift: estimate,
        interval,
        margin,
        p,
        p_holm,
        answer,
        no_worse: interval.is_some_and(|(_, high)| high <= margin),
        rounds_wanted,
        needs,
    })
}

/// How many more injections per side would decide it. The smallest possible p-value must be significant among all
/// others, and the interval narrow enough: it narrows with the square root of the number of injections.
fn more(asked: &InjectionValues, deciding: &DecidingShift, level: f64) -> Option<u64> {
    let there = asked.base.len().min(asked.new.len()) as f64;
    let least = (1..64).find(|&n| smallest_p(n, n) < level)? as f64;
    let (estimate, margin) = (deciding.estimate.abs(), deciding.margin);
    let wanted = match deciding.interval {
        None => least,
        Some((low, high)) => {
            let room = if estimate > margin { estimate } else { margin - estimate };
            let narrower = (high - low) / 2.0 / room;
            if narrower.is_finite() { there * narrower * narrower } else { f64::INFINITY }
        }
    };
    let more = (wanted.max(least) - there).ceil().max(1.0);
    (more <= MORE_MAX).then_some(whole(more))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(base: &[f64], new: &[f64]) -> Comparison {
        in_rounds(&[base.to_vec()], &[new.to_vec()])
    }

    fn in_rounds(base: &[Vec<f64>], new: &[Vec<f64>]) -> Comparison {
        let rules = ComparisonRules::default();
        let numbered = |cells: &[Vec<f64>]| (1..).zip(cells.iter().cloned()).collect();
        let asked =
            InjectionValues::new(Measure::Failover, &RoundValues::new(numbered(base), numbered(new)), None, &rules)
                .unwrap();
        decide(vec![asked], &rules, 1).remove(0).unwrap()
    }

    const EIGHT: [f64; 8] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1];

    #[test]
    fn a_fifth_more_is_worse_a_fifth_less_better_and_a_hundredth_the_same() {
        let scaled = |by: f64| EIGHT.map(|value| value * by);
        assert_eq!(answer(&EIGHT, &scaled(1.2)).answer, ComparisonVerdict::Worse);
        assert_eq!(answer(&EIGHT, &scaled(0.8)).answer, ComparisonVerdict::Better);
        assert_eq!(answer(&EIGHT, &scaled(1.01)).answer, ComparisonVerdict::Same);
    }

    #[test]
    fn what_one_lucky_cell_brings_about_is_no_difference_and_what_all_cells_show_is() {
        let cells = |by: [f64; 4]| by.map(|by| EIGHT.map(|value| value * by).to_vec());
        let base = cells([1.0, 1.02, 0.99, 1.01]);
        let lucky = in_rounds(&base, &cells([1.0, 1.01, 1.8, 1.9]));
        assert!(lucky.p > 0.05 && lucky.answer == ComparisonVerdict::CannotTell, "{lucky:?}");
        assert_eq!(in_rounds(&base, &cells([1.2, 1.23, 1.19, 1.22])).answer, ComparisonVerdict::Worse);
        assert_eq!(in_rounds(&base, &cells([1.01, 1.0, 1.02, 0.99])).answer, ComparisonVerdict::Same);
    }

    #[test]
    fn what_both_sides_of_a_round_share_hides_nothing_and_is_no_difference() {
        let cells = |by: [f64; 4]| by.map(|by| EIGHT.map(|value| value * by).to_vec());
        let warming = [2.0, 1.3, 1.1, 1.0];
        let base = cells(warming);
        assert_eq!(in_rounds(&base, &cells(warming.map(|by| by * 1.2))).answer, ComparisonVerdict::Worse);
        assert_eq!(in_rounds(&base, &cells(warming.map(|by| by * 1.01))).answer, ComparisonVerdict::Same);
    }

    #[test]
    fn three_hits_a_side_never_tell_and_say_how_many_would() {
        for new in [[1.0, 1.0, 1.0], [9.0, 9.0, 9.0], [f64::INFINITY; 3]] {
            let found = answer(&[1.0, 1.0, 1.0], &new);
            assert_eq!((found.answer, found.needs), (ComparisonVerdict::CannotTell, Some(1)), "{found:?}");
        }
    }

    #[test]
    fn what_is_hidden_by_censoring_is_worse_than_anything_seen() {
        let found = answer(&EIGHT, &[f64::INFINITY; 8]);
        assert_eq!((found.answer, found.shift), (ComparisonVerdict::Worse, f64::INFINITY));
        assert_eq!(answer(&[f64::INFINITY; 8], &EIGHT).answer, ComparisonVerdict::Better);
        assert_eq!(answer(&[f64::INFINITY; 8], &[f64::INFINITY; 8]).answer, ComparisonVerdict::Same);
    }

    #[test]
    fn wide_scatter_is_no_sameness_and_asks_for_more_injections() {
        let scattered = [60.0, 140.0, 80.0, 120.0, 70.0, 130.0, 95.0, 105.0];
        let found = answer(&scattered, &scattered);
        assert_eq!(found.answer, ComparisonVerdict::CannotTell);
        assert!(found.needs.is_some_and(|needs| needs > 30), "{found:?}");
    }

    #[test]
    fn a_shift_that_is_certain_and_small_is_neither_worse_nor_better() {
        let close: Vec<f64> = (0..8).map(|i| 100.0 + f64::from(i) * 0.01).collect();
        let shifted: Vec<f64> = close.iter().map(|value| value + 3.0).collect();
        let found = answer(&close, &shifted);
        assert!(found.p < 0.001 && found.answer == ComparisonVerdict::Same, "{found:?}");
    }

    /// Rejected by going through the probabilities in order until one is too large.
    fn rejected(family: &[f64], alpha: f64) -> Vec<f64> {
        let mut sorted = family.to_vec();
        sorted.sort_by(f64::total_cmp);
        let steps = sorted.iter().enumerate();
        steps.take_while(|(rank, p)| **p * (family.len() - rank) as f64 <= alpha).map(|(_, p)| *p).collect()
    }

    proptest! {
        #[test]
        fn holm_rejects_what_stepping_down_rejects(family in prop::collection::vec(0.000_1_f64..1.0, 1..12), alpha in 0.01_f64..0.5) {
            let stepped = rejected(&family, alpha);
            for &p in &family {
                prop_assert_eq!(holm(p, &family) <= alpha, stepped.contains(&p), "{} of {:?}", p, family);
            }
        }
    }
}
