//! The values of two sides, by the rounds in which they were measured. Machines drift from round to round, and servers
//! that have just started are slow. Both affect the two sides of a round alike.

use std::collections::BTreeMap;

use crate::stats::lower_median;
use crate::stats::rank_sum::hodges_lehmann;

/// A value is slow above this multiple of the quicker side's 90th percentile.
const SLOW: f64 = 2.0;

/// The values of both sides in each round: the base's, and the new side's.
#[derive(Clone)]
pub(super) struct RoundValues(BTreeMap<u32, (Vec<f64>, Vec<f64>)>);

impl RoundValues {
    pub(super) fn new(base: Vec<(u32, Vec<f64>)>, new: Vec<(u32, Vec<f64>)>) -> Self {
        let mut rounds: BTreeMap<u32, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for (round, values) in base {
            rounds.entry(round).or_default().0.extend(values);
        }
        for (round, values) in new {
            rounds.entry(round).or_default().1.extend(values);
        }
        Self(rounds)
    }

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

    /// All values of either side.
    pub(super) fn all(&self) -> (Vec<f64>, Vec<f64>) {
        let (base, new): (Vec<_>, Vec<_>) = self.0.values().map(|(base, new)| (&base[..], &new[..])).unzip();
        (base.concat(), new.concat())
    }

    /// Replaces every value.
    fn map(&self, to: impl Fn(u32, f64) -> f64) -> Self {
        let mapped = |round: u32, values: &[f64]| values.iter().map(|&value| to(round, value)).collect();
        let in_round =
            |(&round, (base, new)): (&u32, &(Vec<f64>, Vec<f64>))| (round, (mapped(round, base), mapped(round, new)));
        Self(self.0.iter().map(in_round).collect())
    }

    /// 1 for each slow value, and 0 for the others. Rounds are aligned first. The limit is the quicker side's, so that
    /// slow values do not raise it.
    pub(super) fn slow(&self) -> Self {
        let aligned = self.aligned();
        let (base, new) = aligned.all();
        let limit = SLOW * nine_tenths(&base).min(nine_tenths(&new));
        aligned.map(|_, value| f64::from(u8::from(value > limit)))
    }

    /// The values without round effects. Each round is scaled to the same lower median of both sides together (aligned
    /// ranks, Hodges and Lehmann 1962), then all to restore the base's own. Unchanged with fewer than two rounds, or
    /// where one has no scale.
    pub(super) fn aligned(&self) -> Self {
        let middles: BTreeMap<u32, f64> =
            self.of_both().map(|(round, base, new)| (round, middle(&[&base[..], &new[..]].concat()))).collect();
        if middles.len() < 2 || middles.values().any(|middle| !middle.is_normal()) {
            return self.clone();
        }
        let typical = (middles.values().map(|middle| middle.ln()).sum::<f64>() / middles.len() as f64).exp();
        let by = |round: u32| middles.get(&round).map_or(1.0, |middle| typical / middle);
        let scaled = self.map(|round, value| value * by(round));
        let own = middle(&self.all().0) / middle(&scaled.all().0);
        if own.is_normal() { scaled.map(|_, value| value * own) } else { self.clone() }
    }
}

/// The 90th percentile of the values that censoring does not hide: censored ones would raise it, and so hide slow ones.
/// Infinite where all are hidden.
fn nine_tenths(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() * 9).div_ceil(10).saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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
