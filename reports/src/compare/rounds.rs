//! The values of two sides, by the rounds in which they were measured. Machines drift from round to round, and servers
//! that have just started are slow. Both affect the two sides of a round alike.

use std::collections::BTreeMap;

use crate::stats::lower_median;
use crate::stats::rank_sum::hodges_lehmann;

/// A lead is slow above this multiple of the time within which this share of the quicker side's leads end.
const SLOW: f64 = 2.0;
const MOST: f64 = 0.9;

/// Sums of shares that differ by no more are equal.
pub(super) const ROUNDING: f64 = 1e-9;

/// What both sides have in each round for each injection: the base's, and the new side's.
pub(super) struct RoundValues<V = f64>(BTreeMap<u32, (Vec<V>, Vec<V>)>);

impl<V: Clone> RoundValues<V> {
    pub(super) fn new(base: Vec<(u32, Vec<V>)>, new: Vec<(u32, Vec<V>)>) -> Self {
        let mut rounds: BTreeMap<u32, (Vec<V>, Vec<V>)> = BTreeMap::new();
        for (round, values) in base {
            rounds.entry(round).or_default().0.extend(values);
        }
        for (round, values) in new {
            rounds.entry(round).or_default().1.extend(values);
        }
        Self(rounds)
    }

    /// All of either side.
    pub(super) fn all(&self) -> (Vec<V>, Vec<V>) {
        let (base, new): (Vec<_>, Vec<_>) = self.0.values().map(|(base, new)| (&base[..], &new[..])).unzip();
        (base.concat(), new.concat())
    }

    /// Replaces each of them.
    fn map<W>(&self, to: impl Fn(u32, &V) -> W) -> RoundValues<W> {
        let mapped = |round: u32, values: &[V]| -> Vec<W> { values.iter().map(|value| to(round, value)).collect() };
        let in_round =
            |(&round, (base, new)): (&u32, &(Vec<V>, Vec<V>))| (round, (mapped(round, base), mapped(round, new)));
        RoundValues(self.0.iter().map(in_round).collect())
    }
}

impl RoundValues {
    fn of_both(&self) -> impl Iterator<Item = (u32, &Vec<f64>, &Vec<f64>)> {
        let both = |(base, new): &(Vec<f64>, Vec<f64>)| !base.is_empty() && !new.is_empty();
        self.0.iter().filter(move |(_, values)| both(values)).map(|(round, (base, new))| (*round, base, new))
    }

    /// How far the new side's logarithms lie above the base's, by round, of rounds that both have. None where the lower
    /// median of a side in a round has no logarithm, being 0 or hidden.
    pub(super) fn shifts(&self) -> Option<Vec<f64>> {
        let logs = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.ln()).collect() };
        let of_round = |(_, base, new): (u32, &Vec<f64>, &Vec<f64>)| {
            let (base, new) = (logs(base), logs(new));
            let told = [&base, &new].iter().all(|side| middle(side).is_finite());
            hodges_lehmann(&base, &new).filter(|shift| told && shift.is_finite())
        };
        self.of_both().map(of_round).collect()
    }

    /// The means of both sides, round by round, of rounds that both have.
    pub(super) fn means(&self) -> impl Iterator<Item = (f64, f64)> {
        self.of_both().map(|(_, base, new)| (mean(base), mean(new)))
    }

    /// The values without round effects. Each round is scaled to the same lower median of both sides together (aligned
    /// ranks, Hodges and Lehmann 1962), then all to restore the base's own. Unchanged with fewer than two rounds, or
    /// where one has no scale.
    pub(super) fn aligned(&self) -> Self {
        let alignment = self.alignment();
        self.map(|round, value| alignment.of(round, *value))
    }

    fn alignment(&self) -> Alignment {
        let none = || Alignment { by: BTreeMap::new(), own: 1.0 };
        let middles: BTreeMap<u32, f64> =
            self.of_both().map(|(round, base, new)| (round, middle(&[&base[..], &new[..]].concat()))).collect();
        if middles.len() < 2 || middles.values().any(|middle| !middle.is_normal()) {
            return none();
        }
        let typical = (middles.values().map(|middle| middle.ln()).sum::<f64>() / middles.len() as f64).exp();
        let by = middles.into_iter().map(|(round, middle)| (round, typical / middle)).collect();
        let scaled = Alignment { by, own: 1.0 };
        let base = self.map(|round, value| scaled.of(round, *value)).all().0;
        let own = middle(&self.all().0) / middle(&base);
        if own.is_normal() { Alignment { own, ..scaled } } else { none() }
    }
}

/// What takes round effects out of a value.
struct Alignment {
    /// By round; 1 for the others.
    by: BTreeMap<u32, f64>,
    /// For all, to restore the base's median.
    own: f64,
}

impl Alignment {
    fn of(&self, round: u32, value: f64) -> f64 {
        value * self.by.get(&round).copied().unwrap_or(1.0) * self.own
    }
}

/// For each injection the times of its leads; infinite where censoring hides them.
impl RoundValues<Vec<f64>> {
    /// The share of slow leads of each injection. Rounds are aligned first, by the injections' medians. The limit is
    /// the quicker side's, so that slow leads do not raise it.
    pub(super) fn slow(&self) -> RoundValues {
        let alignment = self.map(|_, leads| middle(leads)).alignment();
        let align = |round: u32, leads: &Vec<f64>| -> Vec<f64> {
            leads.iter().map(|lead| alignment.of(round, *lead)).collect()
        };
        let aligned = self.map(align);
        let (base, new) = aligned.all();
        let limit = SLOW * nine_tenths(&base).min(nine_tenths(&new));
        aligned.map(|_, leads| leads.iter().filter(|lead| **lead > limit).count() as f64 / leads.len() as f64)
    }
}

/// The 90th percentile of the leads of these injections. Each injection weighs the same, as it does in the mean of
/// shares. Censored leads are left out: they would raise the percentile, and so hide slow ones. Infinite where all are
/// hidden.
fn nine_tenths(injections: &[Vec<f64>]) -> f64 {
    let mut weighed: Vec<(f64, f64)> = Vec::new();
    for leads in injections {
        let ended: Vec<f64> = leads.iter().copied().filter(|lead| lead.is_finite()).collect();
        let weight = 1.0 / ended.len() as f64;
        weighed.extend(ended.into_iter().map(|lead| (lead, weight)));
    }
    weighed.sort_by(|one, other| one.0.total_cmp(&other.0));
    let least = MOST * weighed.iter().map(|(_, weight)| weight).sum::<f64>() - ROUNDING;
    let mut up_to = 0.0;
    let reached = weighed.iter().find(|(_, weight)| {
        up_to += weight;
        up_to >= least
    });
    reached.map_or(f64::INFINITY, |(lead, _)| *lead)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of a sample: divided by one less than its size. No number for fewer than two values.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

/// The lower median, as in all reports: the smallest value that at least half of the values are no more than. Of an
/// even number it is the lower of the two in the middle, never their mean. Infinite where more than half of the values
/// are.
pub(super) fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    lower_median(&sorted).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_sides_of_a_round_share_is_taken_out() {
        let side = |by: f64| vec![(1, vec![30.0 * by, 33.0 * by]), (2, vec![20.0 * by, 22.0 * by])];
        let (base, new) = RoundValues::new(side(1.0), side(1.2)).aligned().all();
        let ratio = |values: &[f64]| {
            values.iter().copied().fold(0.0, f64::max) / values.iter().copied().fold(f64::MAX, f64::min)
        };
        assert!((ratio(&base) - 1.1).abs() < 1e-9, "{base:?}");
        assert!((new[0] / base[0] - 1.2).abs() < 1e-9, "what sets the sides apart stays");
        assert!((middle(&base) - 22.0).abs() < 1e-9, "and so does the base's median: {base:?}");
    }

    #[test]
    fn of_an_even_number_the_lower_of_the_two_in_the_middle_is_the_median() {
        assert_eq!([middle(&[4.0, 1.0, 3.0, 2.0]), middle(&[3.0, 1.0, 2.0])], [2.0, 2.0]);
        assert_eq!(middle(&[1.0, f64::INFINITY]), 1.0, "half of them are not hidden");
        assert!(middle(&[1.0, f64::INFINITY, f64::INFINITY]).is_infinite() && middle(&[]).is_infinite());
    }

    #[test]
    fn each_injection_weighs_the_same_in_the_limit_of_slow_leads_whatever_it_cost() {
        let one_each: Vec<Vec<f64>> = (1..=20).map(|at| vec![f64::from(at)]).collect();
        assert_eq!(nine_tenths(&one_each), 18.0);
        // The last of ten injections weighs a tenth, though its leads are half of all.
        let mut uneven: Vec<Vec<f64>> = (1..=9).map(|at| vec![f64::from(at)]).collect();
        uneven.push(vec![50.0; 9]);
        assert_eq!(nine_tenths(&uneven), 9.0);
        let hidden = [vec![f64::INFINITY], vec![3.0, f64::INFINITY]];
        assert_eq!((nine_tenths(&hidden), nine_tenths(&[])), (3.0, f64::INFINITY));
    }

    #[test]
    fn a_value_of_an_injection_is_the_share_of_its_leads_that_are_slow_or_censored() {
        let quick = || -> Vec<Vec<f64>> { vec![vec![1.0, 1.1]; 9] };
        let of = |last: &[f64]| {
            let base = [quick(), vec![vec![1.0, 1.1]]].concat();
            let slow = RoundValues::new(vec![(1, base)], vec![(1, [quick(), vec![last.to_vec()]].concat())]).slow();
            slow.all().1[9]
        };
        assert_eq!([of(&[1.0, 2.2]), of(&[1.0, 2.3]), of(&[2.3, f64::INFINITY])], [0.0, 0.5, 1.0]);
        assert_eq!(of(&[1.0, 1.0, 1.0, 9.0]), 0.25, "one of four, though its median is as before");
    }

    #[test]
    fn a_round_in_which_both_sides_are_slower_has_no_slow_leads() {
        let side = || -> Vec<(u32, Vec<Vec<f64>>)> {
            [(1, [1.0, 1.1]), (2, [1.0, 1.1]), (3, [9.0, 9.9])]
                .map(|(round, leads)| (round, vec![leads.to_vec(); 4]))
                .to_vec()
        };
        let (base, new) = RoundValues::new(side(), side()).slow().all();
        assert!(base.iter().chain(&new).all(|share| *share == 0.0), "{base:?} {new:?}");
    }

    #[test]
    fn how_far_the_sides_of_a_round_lie_apart_is_of_all_its_injections_and_none_outweighs_the_others() {
        let (base, new) = ([1.0, 2.0, 3.0, 5.0, 100.0], [2.0, 4.0, 6.0, 10.0, 11.0]);
        let rounds = RoundValues::new(vec![(1, base.to_vec())], vec![(1, new.to_vec())]);
        let mut ratios: Vec<f64> = base.iter().flat_map(|from| new.iter().map(move |to| to / from)).collect();
        ratios.sort_by(f64::total_cmp);
        let shift = rounds.shifts().unwrap()[0];
        assert!((shift - ratios[12].ln()).abs() < 1e-9, "{shift} is not the median of {ratios:?}");
        assert!((ratios[12] - 2.0).abs() < 0.3, "{ratios:?}");
    }

    #[test]
    fn rounds_without_a_scale_and_rounds_of_one_side_stay_as_they_are() {
        let hidden = RoundValues::new(
            vec![(1, vec![1.0]), (2, vec![f64::INFINITY])],
            vec![(1, vec![2.0]), (2, vec![f64::INFINITY])],
        );
        assert_eq!(hidden.aligned().all(), (vec![1.0, f64::INFINITY], vec![2.0, f64::INFINITY]));
        let uneven = RoundValues::new(vec![(1, vec![1.0]), (2, vec![8.0])], vec![(1, vec![2.0])]);
        assert_eq!(uneven.aligned().all(), (vec![1.0, 8.0], vec![2.0]));
        assert_eq!(uneven.shifts(), Some(vec![2.0_f64.ln()]));
        assert_eq!(hidden.shifts(), None, "of two that are hidden nobody knows which is longer");
    }
}
