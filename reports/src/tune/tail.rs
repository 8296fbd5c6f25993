//! Beyond the longest pause that was seen: a generalised Pareto distribution over a high threshold. Extrapolation, and so marked.

use hustings_record::numbers::{to_u32, to_usize, whole};
use serde::Serialize;

use super::poisson::at_least;

/// Fewer exceedances say nothing about a tail.
const EXCEEDANCES_MIN: usize = 50;
/// The share of all pauses that is its tail, where these are more, and the most that are.
const TAIL_SHARE: f64 = 0.1;
const EXCEEDANCES_MAX: usize = 1_000;
/// The share of the exceedances, the longest, that the fit has to explain.
const EXPLAINED_SHARE: f64 = 0.2;
/// A fit is refused if, by it, so many pauses as long as those that were seen had less than this chance. Of true samples of one
/// distribution about one in a hundred is refused: fitting to them leaves less to be explained.
const CHANCE_MIN: f64 = 0.01;
/// From this shape on the tail has no mean: it is the mark of two kinds of pauses, and no base for a rate.
const SHAPE_MAX: f64 = 1.0;
/// Nothing is said of pauses longer than so many times the longest.
const REACH: f64 = 3.0;

/// How often pauses are longer than any threshold, from the longest ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PauseTail {
    /// Pauses longer than this make the tail.
    pub threshold_ms: f64,
    pub exceedances: usize,
    /// ξ: above 0 the tail has no end, below 0 it ends.
    pub shape: f64,
    /// σ, in milliseconds.
    pub scale_ms: f64,
    pub longest_ms: f64,
    pub exceedances_per_week: f64,
}

/// Why nothing is said of longer pauses than were seen.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TailError {
    #[error("{found} pauses make no tail: it takes more than {EXCEEDANCES_MIN} of them that differ")]
    TooFew { found: usize },
    #[error("it is longer than {REACH} times the longest pause that was seen")]
    TooFar,
    #[error(
        "the longest pauses are of another kind than the rest (full collections among young ones, say): no one distribution fits both"
    )]
    TwoKinds,
}

impl PauseTail {
    /// The tail of these pauses of so many weeks, in any order.
    ///
    /// # Errors
    /// There are too few of them, or the longest do not belong to the distribution of the others.
    pub fn fit(pauses_ms: &[f64], weeks: f64) -> Result<Self, TailError> {
        let mut sorted = pauses_ms.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let wanted = to_usize(whole(sorted.len() as f64 * TAIL_SHARE)).clamp(EXCEEDANCES_MIN, EXCEEDANCES_MAX);
        let too_few = || TailError::TooFew { found: pauses_ms.len() };
        let at = sorted.len().checked_sub(wanted + 1).ok_or_else(too_few)?;
        let threshold_ms = sorted[at];
        let over: Vec<f64> = sorted.iter().map(|ms| ms - threshold_ms).filter(|over| *over > 0.0).collect();
        if over.len() < EXCEEDANCES_MIN {
            return Err(too_few());
        }
        let (shape, scale_ms) = zhang_stephens(&over).ok_or_else(too_few)?;
        if shape >= SHAPE_MAX || !explains(&over, shape, scale_ms) {
            return Err(TailError::TwoKinds);
        }
        let longest_ms = sorted.last().copied().unwrap_or_default();
        let exceedances_per_week = over.len() as f64 / weeks;
        Ok(Self { threshold_ms, exceedances: over.len(), shape, scale_ms, longest_ms, exceedances_per_week })
    }

    /// How many pauses a week are longer than this. Below the threshold that is for the pauses themselves to say.
    ///
    /// # Errors
    /// It is too long to say.
    pub fn longer_per_week(&self, ms: f64) -> Result<f64, TailError> {
        if ms > REACH * self.longest_ms {
            return Err(TailError::TooFar);
        }
        let share = longer_share((ms - self.threshold_ms).max(0.0), self.shape, self.scale_ms);
        Ok(self.exceedances_per_week * share)
    }
}

/// The share of exceedances that are longer than `over`.
fn longer_share(over: f64, shape: f64, scale: f64) -> f64 {
    let over = over / scale;
    if shape.abs() < 1e-9 { (-over).exp() } else { (1.0 + shape * over).max(0.0).powf(-1.0 / shape) }
}

/// Whether the longest of these exceedances, in rising order, are no more than the distribution lets expect: for none of them is
/// the chance that as many are as long below the limit (their number is about a Poisson variable).
fn explains(over: &[f64], shape: f64, scale: f64) -> bool {
    let longest = to_usize(whole(over.len() as f64 * EXPLAINED_SHARE));
    over.iter().rev().take(longest).enumerate().all(|(longer, ms)| {
        let expected = over.len() as f64 * longer_share(*ms, shape, scale);
        at_least(longer as u64 + 1, expected) >= CHANCE_MIN
    })
}

/// ξ and σ of exceedances in rising order, by Zhang and Stephens (2009): the mean of the profile likelihood over a grid of
/// θ = −ξ/σ that a weak prior lays out. None where they do not differ.
fn zhang_stephens(over: &[f64]) -> Option<(f64, f64)> {
    let n = over.len() as f64;
    let (quartile, longest) = (over[to_usize(whole(n / 4.0 + 0.5)).max(1) - 1], *over.last()?);
    let points = 20 + to_u32(over.len().isqrt());
    let theta = |j: u32| 1.0 / longest + (1.0 - (f64::from(points) / (f64::from(j) - 0.5)).sqrt()) / (3.0 * quartile);
    let shape_at = |theta: f64| over.iter().map(|x| (-theta * x).ln_1p()).sum::<f64>() / n;
    // The grid has no θ at which the likelihood is not there, but for rounding.
    let profile = |theta: f64| {
        let shape = shape_at(theta);
        n * ((-theta / shape).ln() - shape - 1.0)
    };
    let grid: Vec<(f64, f64)> = (1..=points).map(theta).map(|theta| (theta, profile(theta))).collect();
    let grid: Vec<(f64, f64)> = grid.into_iter().filter(|(_, likelihood)| likelihood.is_finite()).collect();
    let best = grid.iter().map(|(_, likelihood)| *likelihood).fold(f64::NEG_INFINITY, f64::max);
    let weight = |likelihood: f64| (likelihood - best).exp();
    let all: f64 = grid.iter().map(|(_, likelihood)| weight(*likelihood)).sum();
    let theta = grid.iter().map(|(theta, likelihood)| theta * weight(*likelihood)).sum::<f64>() / all;
    let shape = shape_at(theta);
    let scale = -shape / theta;
    (shape.is_finite() && scale.is_finite() && scale > 0.0).then_some((shape, scale))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng as _;

    use super::*;

    /// The quantiles of a generalised Pareto distribution in the middle of n equal parts.
    fn exact(shape: f64, scale: f64, n: u32) -> Vec<f64> {
        let at = |i: u32| 1.0 - (f64::from(i) + 0.5) / f64::from(n);
        let quantile =
            |left: f64| if shape == 0.0 { -scale * left.ln() } else { scale / shape * (left.powf(-shape) - 1.0) };
        (0..n).map(at).map(quantile).collect()
    }

    fn likelihood(over: &[f64], shape: f64, scale: f64) -> f64 {
        let each = over.iter().map(|x| {
            let inside = 1.0 + shape * x / scale;
            if inside <= 0.0 { f64::NEG_INFINITY } else { -scale.ln() - (1.0 / shape + 1.0) * inside.ln() }
        });
        each.sum()
    }

    #[test]
    fn parameters_that_are_known_are_found_again() {
        for (shape, scale) in [(0.0, 3.0), (0.3, 100.0), (0.8, 1.0), (-0.2, 50.0)] {
            let (found, of_scale) = zhang_stephens(&exact(shape, scale, 2_000)).expect("a fit");
            assert!(
                (found - shape).abs() < 0.03 && (of_scale / scale - 1.0).abs() < 0.05,
                "{shape} {scale}: {found} {of_scale}"
            );
        }
    }

    #[test]
    fn the_fit_is_near_the_greatest_likelihood_of_all() {
        let over = exact(0.25, 40.0, 400);
        let (shape, scale) = zhang_stephens(&over).expect("a fit");
        let best = (1..100).flat_map(|i| (1..100).map(move |j| (f64::from(i) * 0.01, f64::from(j))));
        let best =
            best.max_by(|a, b| likelihood(&over, a.0, a.1).total_cmp(&likelihood(&over, b.0, b.1))).expect("one");
        assert!(
            (shape - best.0).abs() < 0.03 && (scale - best.1).abs() < 3.0,
            "{shape} {scale}, and {best:?} by search"
        );
    }

    #[test]
    fn what_lies_beyond_is_extrapolated_and_not_too_far() {
        let pauses: Vec<f64> = exact(0.2, 100.0, 2_000).iter().map(|ms| ms + 10.0).collect();
        let tail = PauseTail::fit(&pauses, 4.0).expect("a tail");
        let longest = tail.longest_ms;
        assert_eq!((tail.exceedances, longest), (200, pauses[1_999]));
        // The true share of pauses that are longer than twice the longest.
        let due = 500.0 * (1.0 + 0.2 * (2.0 * longest - 10.0) / 100.0_f64).powf(-5.0);
        let found = tail.longer_per_week(2.0 * longest).expect("within reach");
        assert!((found / due - 1.0).abs() < 0.6, "{found} and not {due}");
        assert_eq!(tail.longer_per_week(3.1 * longest), Err(TailError::TooFar));
        assert_eq!(PauseTail::fit(&pauses[..50], 4.0), Err(TailError::TooFew { found: 50 }));
        assert_eq!(PauseTail::fit(&[5.0; 500], 4.0), Err(TailError::TooFew { found: 500 }));
    }

    /// Pauses of a young collector: 30 ms and an exponential rest.
    fn young(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
        (0..n).map(|_| 30.0 - 15.0 * (1.0 - rng.random::<f64>()).ln()).collect()
    }

    #[test]
    fn full_collections_among_young_ones_are_no_tail_of_them() {
        for (seed, full) in (0..).zip([1, 2, 3, 5, 9, 30, 100]) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut pauses = young(&mut rng, 14_000);
            pauses.extend((0..full).map(|_| 1_400.0 - 2_100.0 * (1.0 - rng.random::<f64>()).ln()));
            assert_eq!(PauseTail::fit(&pauses, 13.0), Err(TailError::TwoKinds), "{full} full collections");
        }
        // Among few as well, where they are most of what is long.
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut few = young(&mut rng, 400);
        few.extend((0..9).map(|i| 1_400.0 + 300.0 * f64::from(i)));
        assert_eq!(PauseTail::fit(&few, 13.0), Err(TailError::TwoKinds));
    }

    #[test]
    fn pauses_of_one_kind_are_seldom_refused() {
        let refused = |shape: f64, n: usize| {
            (0..100).filter(move |seed| {
                let mut rng = ChaCha8Rng::seed_from_u64(*seed);
                let quantile = |left: f64| if shape == 0.0 { -left.ln() } else { (left.powf(-shape) - 1.0) / shape };
                let pauses: Vec<f64> = (0..n).map(|_| quantile(1.0 - rng.random::<f64>())).collect();
                PauseTail::fit(&pauses, 13.0).is_err()
            })
        };
        for (shape, n) in [(-0.2, 600), (0.0, 600), (0.0, 3_000), (0.3, 3_000)] {
            let count = refused(shape, n).count();
            assert!(count <= 5, "{count} of 100 with a shape of {shape} and {n} pauses");
        }
    }

    proptest! {
        #[test]
        fn any_pauses_have_a_tail_that_falls_or_none(pauses in prop::collection::vec(0.0_f64..1e6, 0..200)) {
            if let Ok(tail) = PauseTail::fit(&pauses, 2.0) {
                let longest = tail.longest_ms;
                let at = |times: f64| tail.longer_per_week(times * longest).expect("within reach");
                prop_assert!(at(1.0) >= at(1.5) && at(1.5) >= at(2.5) && at(2.5) >= 0.0);
                prop_assert!(tail.exceedances >= EXCEEDANCES_MIN);
            }
        }
    }
}
