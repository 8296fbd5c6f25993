//! Counts whose medians do not show how the sides differ: for example, if fewer than half of the injections wake all
//! candidates instead of one.

use super::round_variance::two_sided;
use super::rounds::{mean, variance};

/// How far the mean of the new side lies above the base's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeanDifference {
    pub(super) estimate: f64,
    /// Its 1 − alpha interval, for sides of unlike variances (Welch 1947).
    pub(super) interval: (f64, f64),
}

/// None where a side has fewer than two injections, and where the means do not differ in the direction in which most
/// pairs of injections do: then a few extreme counts decide the mean.
pub(super) fn mean_difference(base: &[f64], new: &[f64], alpha: f64) -> Option<MeanDifference> {
    let estimate = mean(new) - mean(base);
    if base.len().min(new.len()) < 2 || (above(base, new) - above(new, base)) * estimate <= 0.0 {
        return None;
    }
    let parts = [base, new].map(|side| (variance_of_mean(side), side.len() as f64 - 1.0));
    let variance = parts[0].0 + parts[1].0;
    let wide = if variance > 0.0 {
        let freedom = variance.powi(2) / parts.iter().map(|(part, freedom)| part.powi(2) / freedom).sum::<f64>();
        two_sided(freedom, alpha) * variance.sqrt()
    } else {
        0.0
    };
    Some(MeanDifference { estimate, interval: (estimate - wide, estimate + wide) })
}

/// In how many pairs of values of two sides the other one has the larger.
fn above(one: &[f64], other: &[f64]) -> f64 {
    other.iter().map(|larger| one.iter().filter(|value| *value < larger).count()).sum::<usize>() as f64
}

fn variance_of_mean(values: &[f64]) -> f64 {
    variance(values) / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_welch_s() {
        // Variances of the means 0.25 and 1; freedom 1.25² / (0.25²/3 + 1²/3) = 4.41, whose t is 2.680.
        let found = mean_difference(&[1.0, 1.0, 1.0, 3.0], &[1.0, 5.0, 5.0, 5.0], 0.05).unwrap();
        let wide = 2.680 * 1.25_f64.sqrt();
        assert_eq!(found.estimate, 2.5);
        assert!((found.interval.0 - (2.5 - wide)).abs() < 0.01, "{found:?}");
        assert!((found.interval.1 - (2.5 + wide)).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn counts_that_do_not_vary_differ_by_exactly_so_much() {
        let found = mean_difference(&[1.0; 8], &[9.0; 8], 0.05).unwrap();
        assert_eq!((found.estimate, found.interval), (8.0, (8.0, 8.0)));
        assert_eq!(mean_difference(&[1.0; 8], &[1.0; 8], 0.05), None);
        assert_eq!(mean_difference(&[1.0], &[9.0; 8], 0.05), None);
    }

    #[test]
    fn a_mean_that_one_extreme_count_turns_round_tells_nothing() {
        assert_eq!(mean_difference(&[1.0, 1.0, 1.0, 90.0], &[2.0; 4], 0.05), None);
    }
}
