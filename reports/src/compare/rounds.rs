//! The values of two sides, by the rounds in which they were measured. From one round to the next much drifts on a machine, and
//! servers that have just started are slow: it hits both sides of a round alike.

use std::collections::BTreeMap;

use crate::stats::lower_median;

/// The values of both sides in each round: the base's, and the new side's.
pub(super) struct InRounds(BTreeMap<u32, (Vec<f64>, Vec<f64>)>);

impl InRounds {
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

    /// The medians of both sides, round by round, of rounds that both have.
    pub(super) fn medians(&self) -> impl Iterator<Item = (f64, f64)> {
        self.of_both().map(|(_, base, new)| (middle(base), middle(new)))
    }

    /// All values of either side.
    pub(super) fn all(&self) -> (Vec<f64>, Vec<f64>) {
        self.scaled(|_| 1.0)
    }

    /// All values of either side, those of each round by a factor of its own.
    fn scaled(&self, by: impl Fn(u32) -> f64) -> (Vec<f64>, Vec<f64>) {
        let (mut all_base, mut all_new) = (Vec::new(), Vec::new());
        for (&round, (base, new)) in &self.0 {
            let by = by(round);
            all_base.extend(base.iter().map(|value| value * by));
            all_new.extend(new.iter().map(|value| value * by));
        }
        (all_base, all_new)
    }

    /// The same, less what sets one round apart from another: each is scaled to have the same median, of both sides together
    /// (aligned ranks, Hodges and Lehmann 1962), and all of them then to leave the base its own. As they are where there are fewer
    /// than two rounds, or where one has no scale.
    pub(super) fn aligned(&self) -> (Vec<f64>, Vec<f64>) {
        let middles: BTreeMap<u32, f64> =
            self.of_both().map(|(round, base, new)| (round, middle(&[&base[..], &new[..]].concat()))).collect();
        let raw = self.all();
        if middles.len() < 2 || middles.values().any(|middle| !middle.is_normal()) {
            return raw;
        }
        let typical = (middles.values().map(|middle| middle.ln()).sum::<f64>() / middles.len() as f64).exp();
        let by = |round: u32| middles.get(&round).map_or(1.0, |middle| typical / middle);
        let (base, _) = self.scaled(by);
        let own = middle(&raw.0) / middle(&base);
        if !own.is_normal() {
            return raw;
        }
        self.scaled(|round| by(round) * own)
    }
}

/// Infinite where half of them are.
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
        let (base, new) = InRounds::new(side(1.0), side(1.2)).aligned();
        let ratio = |values: &[f64]| {
            values.iter().copied().fold(0.0, f64::max) / values.iter().copied().fold(f64::MAX, f64::min)
        };
        assert!((ratio(&base) - 1.1).abs() < 1e-9, "{base:?}");
        assert!((new[0] / base[0] - 1.2).abs() < 1e-9, "what sets the sides apart stays");
        assert!((middle(&base) - 22.0).abs() < 1e-9, "and so does the base's median: {base:?}");
    }

    #[test]
    fn rounds_without_a_scale_and_rounds_of_one_side_stay_as_they_are() {
        let hidden = InRounds::new(
            vec![(1, vec![1.0]), (2, vec![f64::INFINITY])],
            vec![(1, vec![2.0]), (2, vec![f64::INFINITY])],
        );
        assert_eq!(hidden.aligned(), (vec![1.0, f64::INFINITY], vec![2.0, f64::INFINITY]));
        let uneven = InRounds::new(vec![(1, vec![1.0]), (2, vec![8.0])], vec![(1, vec![2.0])]);
        assert_eq!(uneven.aligned(), (vec![1.0, 8.0], vec![2.0]));
        assert_eq!(uneven.medians().collect::<Vec<_>>(), [(1.0, 2.0)]);
    }
}
