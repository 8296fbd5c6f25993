//! Are the values of one sample larger than those of another, and by how much? The rank-sum test (Wilcoxon 1945; Mann and Whitney
//! 1947) as a permutation test, and the shift with the interval that inverting it gives (Hodges and Lehmann 1963). It asks nothing
//! of the shape of what is compared; a value that censoring hides is infinite: longer than any other.

use statrs::function::erf::erfc;

use super::proportions::fisher;

/// Samples that together are larger than this are compared by the normal approximation, with ties corrected for. Those with two
/// values between them are compared by Fisher's exact test: so many ties are far from a normal distribution.
const EXACT_MAX: usize = 100;

/// How one sample differs from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Two-sided: the share of all ways to deal the values out to the two samples whose rank sum is at least as far from the
    /// middle.
    pub p: f64,
    /// The median of all differences between a value of the second sample and one of the first; infinite where censoring hides it.
    pub estimate: f64,
    /// Shifts that the test does not reject at the level that was asked for; None where the samples are too small to reject any.
    pub interval: Option<(f64, f64)>,
}

/// How far the values of `new` lie above those of `base`, with an interval that covers the shift with a probability of 1 − `alpha`
/// at least. None without values on both sides. Values may be infinite, and must not be NaN.
#[must_use]
pub fn shift(base: &[f64], new: &[f64], alpha: f64) -> Option<Shift> {
    if base.is_empty() || new.is_empty() {
        return None;
    }
    let differences = differences(base, new);
    let rejected = rejected(base.len(), new.len(), alpha);
    let interval = rejected.checked_sub(1).map(|at| (differences[at], differences[differences.len() - 1 - at]));
    Some(Shift { p: p_value(base, new), estimate: median(&differences), interval })
}

/// The median of all differences between a value of `new` and one of `base`, which scatters less than the difference of the two
/// medians: Hodges and Lehmann (1963). None without values on both sides; values as in [`shift`].
#[must_use]
pub fn hodges_lehmann(base: &[f64], new: &[f64]) -> Option<f64> {
    let differences = differences(base, new);
    (!differences.is_empty()).then(|| median(&differences))
}

/// The smallest two-sided probability that samples of so many values can have: all of one above all of the other.
#[must_use]
pub fn smallest_p(base: u64, new: u64) -> f64 {
    // 2 / C(base + new, new), in steps that stay small.
    let arrangements = (1..=new).fold(1.0, |product: f64, i| product * (base + i) as f64 / i as f64);
    (2.0 / arrangements).min(1.0)
}

/// All differences, in order. Of two hidden values nobody knows which is longer.
fn differences(base: &[f64], new: &[f64]) -> Vec<f64> {
    let between = |from: f64, to: f64| if from == to { 0.0 } else { to - from };
    let mut all: Vec<f64> = new.iter().flat_map(|&to| base.iter().map(move |&from| between(from, to))).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn median(sorted: &[f64]) -> f64 {
    let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    if below == above { below } else { f64::midpoint(below, above) }
}

/// Twice the rank of each value among all, first those of `base`: equal ones share their ranks' mean.
fn ranks(base: &[f64], new: &[f64]) -> Vec<usize> {
    let mut sorted: Vec<f64> = base.iter().chain(new).copied().collect();
    sorted.sort_by(f64::total_cmp);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        below + sorted.partition_point(|other| other <= value) + 1
    };
    base.iter().chain(new).map(rank).collect()
}

fn p_value(base: &[f64], new: &[f64]) -> f64 {
    let ranks = ranks(base, new);
    let (all, chosen) = (ranks.len(), new.len());
    let sum: usize = ranks[base.len()..].iter().sum();
    // Of doubled ranks: the mean of a sum of `chosen` of them is chosen × (all + 1).
    let middle = chosen * (all + 1);
    let off = sum.abs_diff(middle);
    if all <= EXACT_MAX {
        let sums = sums(&ranks, chosen);
        let extreme = sums.iter().enumerate().filter(|(sum, _)| sum.abs_diff(middle) >= off);
        return extreme.map(|(_, share)| share).sum::<f64>().min(1.0);
    }
    if let Some(p) = of_two_values(base, new) {
        return p;
    }
    let spread = deviation(&ranks, base.len() as f64, chosen as f64);
    // Ranks are doubled, and so is the half that makes up for their being whole.
    two_sided((off as f64 - 1.0).max(0.0) / 2.0 / spread)
}

/// By how often either sample has the larger value, where the two samples have no more than two values between them.
fn of_two_values(base: &[f64], new: &[f64]) -> Option<f64> {
    let all = || base.iter().chain(new).copied();
    let (least, most) = (all().min_by(f64::total_cmp)?, all().max_by(f64::total_cmp)?);
    let larger = |side: &[f64]| (side.iter().filter(|value| **value == most).count() as u64, side.len() as u64);
    all().all(|value| value == least || value == most).then(|| fisher(larger(base), larger(new)))
}

/// The distribution of the sum of `chosen` of these values, each choice as likely as any other: shares of all choices, by sum.
fn sums(values: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = values.iter().sum();
    // Counted first, by how many are chosen; larger ones first, so that no value is chosen twice.
    let mut shares = vec![vec![0.0; most + 1]; chosen + 1];
    shares[0][0] = 1.0;
    for (taken, &value) in values.iter().enumerate() {
        for count in (0..chosen.min(taken + 1)).rev() {
            let (few, more) = shares.split_at_mut(count + 1);
            for (sum, share) in few[count].iter().enumerate().filter(|(_, share)| **share > 0.0) {
                more[0][sum + value] += share;
            }
        }
    }
    let last = &mut shares[chosen];
    let all: f64 = last.iter().sum();
    last.iter().map(|share| share / all).collect()
}

/// Standard deviation of the rank sum, with ties corrected for (Lehmann 1975).
fn deviation(doubled: &[usize], base: f64, new: f64) -> f64 {
    let mut sorted = doubled.to_vec();
    sorted.sort_unstable();
    let all = base + new;
    let tied: f64 = sorted.chunk_by(|a, b| a == b).map(|tie| (tie.len() as f64).powi(3) - tie.len() as f64).sum();
    (base * new / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)))).max(0.0).sqrt()
}

fn two_sided(z: f64) -> f64 {
    erfc(z / std::f64::consts::SQRT_2)
}

/// How many of the smallest differences, and as many of the largest, lie outside of the interval, and one more: 0 where not even
/// the most extreme arrangement can be rejected.
fn rejected(base: usize, new: usize, alpha: f64) -> usize {
    let pairs = base * new;
    if base + new > EXACT_MAX {
        let (n, m) = (base as f64, new as f64);
        let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
        // The largest k that the two tails leave this level.
        let least =
            (0..=pairs / 2).take_while(|&k| two_sided((n * m / 2.0 - k as f64 - 0.5).max(0.0) / spread) <= alpha);
        return least.count();
    }
    // Without ties: how many of the pairs are the wrong way round is the rank sum less the least it can be.
    let ranks: Vec<usize> = (1..=base + new).collect();
    let least = new * (new + 1) / 2;
    let mut tail = 0.0;
    let shares = sums(&ranks, new);
    let rejected = shares[least..].iter().take_while(|share| {
        tail += **share;
        2.0 * tail <= alpha
    });
    rejected.count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition: all choices of places for the second sample.
    fn by_counting(base: &[f64], new: &[f64]) -> f64 {
        let all: Vec<f64> = base.iter().chain(new).copied().collect();
        // Pairs won, where a tie is half a win; doubled.
        let won = |chosen: u32| -> usize {
            let is_new = |at: usize| chosen & (1 << at) != 0;
            let pairs = (0..all.len()).filter(|&i| is_new(i)).flat_map(|i| (0..all.len()).map(move |j| (i, j)));
            let pairs = pairs.filter(|&(_, j)| !is_new(j));
            pairs.map(|(i, j)| if all[i] > all[j] { 2 } else { usize::from(all[i] == all[j]) }).sum()
        };
        let middle = base.len() * new.len();
        let seen = (0..new.len()).fold(0, |chosen, i| chosen | 1 << (base.len() + i));
        let off = won(seen).abs_diff(middle);
        let choices = (0_u32..1 << all.len()).filter(|chosen| chosen.count_ones() as usize == new.len());
        let (mut extreme, mut count) = (0, 0);
        for chosen in choices {
            count += 1;
            extreme += u32::from(won(chosen).abs_diff(middle) >= off);
        }
        f64::from(extreme) / f64::from(count)
    }

    #[test]
    fn three_hits_a_side_reject_nothing_and_four_reject_the_clearest_case() {
        let three = shift(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0], 0.05).unwrap();
        assert!((three.p - 0.1).abs() < 1e-12 && three.interval.is_none(), "{three:?}");
        let four = shift(&[1.0, 2.0, 3.0, 4.0], &[7.0, 8.0, 9.0, 10.0], 0.05).unwrap();
        assert!((four.p - 2.0 / 70.0).abs() < 1e-12, "{four:?}");
        assert_eq!((four.estimate, four.interval), (6.0, Some((3.0, 9.0))));
        assert!((smallest_p(3, 3) - 0.1).abs() < 1e-12 && (smallest_p(4, 4) - 2.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn what_never_ended_is_longer_than_anything_and_no_longer_than_the_like() {
        let hidden = f64::INFINITY;
        let found = shift(&[1.0, 2.0, 3.0, 4.0], &[hidden; 4], 0.05).unwrap();
        assert!(found.p < 0.05 && found.estimate == hidden);
        let alike = shift(&[hidden; 4], &[hidden; 4], 0.05).unwrap();
        assert_eq!((alike.p, alike.estimate, alike.interval), (1.0, 0.0, Some((0.0, 0.0))));
    }

    #[test]
    fn many_values_are_compared_as_few_are() {
        // Just above and just below the change of methods, the same values: the approximation is close where both can be had.
        let base: Vec<f64> = (0..50).map(f64::from).collect();
        let new: Vec<f64> = (0..50).map(|i| f64::from(i) + 9.5).collect();
        let exact = shift(&base, &new, 0.05).unwrap();
        let more: Vec<f64> = new.iter().copied().chain([34.0]).collect();
        let close = shift(&base, &more, 0.05).unwrap();
        assert!((exact.p / close.p - 1.0).abs() < 0.25, "{exact:?} {close:?}");
        let ((low, high), (low_too, high_too)) = (exact.interval.unwrap(), close.interval.unwrap());
        assert!((low - low_too).abs() < 1.0 && (high - high_too).abs() < 1.0, "{exact:?} {close:?}");
    }

    #[test]
    fn of_many_values_that_are_one_of_two_the_probability_is_exact() {
        let side = |larger: usize| (0..60).map(|at| if at < larger { 9.0 } else { 1.0 }).collect::<Vec<f64>>();
        // All six are on one side: 2 × C(60, 6) / C(120, 6).
        let found = shift(&side(0), &side(6), 0.05).unwrap();
        assert!((found.p - 0.027_412).abs() < 1e-6, "{}", found.p);
        assert!((shift(&side(6), &side(6), 0.05).unwrap().p - 1.0).abs() < 1e-9);
        assert!((shift(&side(60), &side(60), 0.05).unwrap().p - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_interval_holds_the_shift_as_often_as_it_says() {
        // A linear congruential generator will do for a thousand pairs of samples.
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut held, mut found) = (0, 0);
        for _ in 0..1_000 {
            let base: Vec<f64> = (0..8).map(|_| draw()).collect();
            let new: Vec<f64> = (0..8).map(|_| draw() + 0.3).collect();
            let shift = shift(&base, &new, 0.05).unwrap();
            let (low, high) = shift.interval.unwrap();
            held += u32::from(low <= 0.3 && 0.3 <= high);
            found += u32::from(shift.p < 0.05);
        }
        assert!(held >= 940 && found > 300, "{held} {found}");
    }

    proptest! {
        #[test]
        fn probabilities_are_those_that_counting_finds(
            base in prop::collection::vec(0_u8..6, 1..6),
            new in prop::collection::vec(0_u8..6, 1..6),
        ) {
            let as_floats = |values: Vec<u8>| values.into_iter().map(f64::from).collect::<Vec<f64>>();
            let (base, new) = (as_floats(base), as_floats(new));
            let found = shift(&base, &new, 0.05).unwrap();
            prop_assert!((found.p - by_counting(&base, &new)).abs() < 1e-9, "{} {}", found.p, by_counting(&base, &new));
        }

        #[test]
        fn the_interval_is_of_those_shifts_that_are_not_rejected(
            base in prop::collection::btree_set(0_u32..1_000_000, 4..7),
            new in prop::collection::btree_set(0_u32..1_000_000, 4..7),
        ) {
            let base: Vec<f64> = base.into_iter().map(f64::from).collect();
            let new: Vec<f64> = new.into_iter().map(f64::from).collect();
            let (low, high) = shift(&base, &new, 0.05).unwrap().interval.unwrap();
            let p_at = |shifted: f64| by_counting(&base, &new.iter().map(|v| v - shifted).collect::<Vec<f64>>());
            // Off the differences themselves there are no ties.
            prop_assert!(p_at(low - 0.25) <= 0.05 && p_at(high + 0.25) <= 0.05);
            prop_assert!(p_at(low + 0.25) > 0.05 && p_at(high - 0.25) > 0.05);
        }

        #[test]
        fn it_does_not_matter_which_sample_comes_first(
            base in prop::collection::vec(0.0_f64..9.0, 1..9),
            new in prop::collection::vec(0.0_f64..9.0, 1..9),
        ) {
            let (one, other) = (shift(&base, &new, 0.05).unwrap(), shift(&new, &base, 0.05).unwrap());
            prop_assert!((one.p - other.p).abs() < 1e-9 && (one.estimate + other.estimate).abs() < 1e-9);
        }
    }
}
