//! How high, and how low, the mean of a count may be.

use serde::Serialize;
use statrs::function::gamma::{checked_gamma_lr, checked_gamma_ur};

use super::solve::crossing;

/// The chance that is left beyond each bound.
const LEFT: f64 = 0.05;

/// Two one-sided 95 % bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    pub low: f64,
    pub high: f64,
}

/// The exact bounds of a Poisson mean of which `seen` were counted (Garwood 1936): those means at which as many or more, or
/// as many or fewer, have a chance of 5 %. `χ²₀.₀₅(2k)/2` and `χ²₀.₉₅(2k + 2)/2`; of none seen, 0 and 3.00.
#[must_use]
pub fn bounds(seen: u64) -> Bounds {
    let k = seen as f64;
    let low = if seen == 0 {
        0.0
    } else {
        // P(X ≥ k) rises with the mean: its complement falls.
        crossing(0.0, k, 1.0 - LEFT, |mean| 1.0 - at_least(seen, mean))
    };
    Bounds { low, high: upper_95(seen) }
}

/// The upper one of [`bounds`].
#[must_use]
pub fn upper_95(seen: u64) -> f64 {
    if seen == 0 {
        return -LEFT.ln();
    }
    let k = seen as f64;
    // Far beyond: ten standard deviations, and more where there are few.
    crossing(k, k + 10.0 * k.sqrt() + 20.0, LEFT, |mean| at_most(seen, mean))
}

/// P(X ≤ k) of a Poisson variable.
fn at_most(k: u64, mean: f64) -> f64 {
    if mean <= 0.0 { 1.0 } else { checked_gamma_ur(k as f64 + 1.0, mean).unwrap_or(f64::NAN) }
}

/// P(X ≥ k) of a Poisson variable, k > 0.
pub(super) fn at_least(k: u64, mean: f64) -> f64 {
    if mean <= 0.0 { 0.0 } else { checked_gamma_lr(k as f64, mean).unwrap_or(f64::NAN) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// P(X ≤ k) summed term by term.
    fn summed(k: u64, mean: f64) -> f64 {
        let mut term = (-mean).exp();
        let mut sum = term;
        for i in 1..=k {
            term *= mean / i as f64;
            sum += term;
        }
        sum
    }

    proptest! {
        #[test]
        fn the_bounds_are_where_the_tails_are_five_percent(seen in 0_u64..120) {
            let Bounds { low, high } = bounds(seen);
            prop_assert!((summed(seen, high) - 0.05).abs() < 1e-7, "{seen}: {high}");
            if seen > 0 {
                prop_assert!((1.0 - summed(seen - 1, low) - 0.05).abs() < 1e-7, "{seen}: {low}");
            }
        }

        #[test]
        fn more_seen_never_lowers_a_bound(seen in 0_u64..5_000) {
            let (less, more) = (bounds(seen), bounds(seen + 1));
            prop_assert!(less.low < more.low && less.high < more.high);
            prop_assert!(less.low <= seen as f64 && seen as f64 <= less.high);
        }
    }

    #[test]
    fn the_bounds_are_those_of_published_tables() {
        // Quantiles of χ² as tables have them: χ²₀.₉₅(2) = 5.991, χ²₀.₉₅(12) = 21.026, χ²₀.₀₅(10) = 3.940, χ²₀.₉₅(42) = 58.124.
        for (seen, low, high) in [(0, 0.0, 5.991), (5, 3.940, 21.026), (20, 26.509, 58.124)] {
            let bounds = bounds(seen);
            assert!((2.0 * bounds.high - high).abs() < 1e-3, "{seen}: {bounds:?}");
            assert!((2.0 * bounds.low - low).abs() < 1e-3, "{seen}: {bounds:?}");
        }
    }

    #[test]
    fn a_million_is_no_trouble() {
        let Bounds { low, high } = bounds(1_000_000);
        assert!((low - 998_356.0).abs() < 5.0 && (high - 1_001_646.0).abs() < 5.0, "{low} {high}");
    }
}
