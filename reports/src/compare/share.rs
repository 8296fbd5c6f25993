//! Shares of injections, which medians do not show: for example, one injection in five that became slow or ended
//! leaderless.

use super::measure::Measure;
use super::rounds::{RoundValues, mean};
use crate::stats::proportions::{difference, fisher};
use crate::stats::rank_sum::{Shift, shift};

/// The shares, and the difference of the sides. None where a side has no injections, or all values are 0.
pub(super) fn found(measure: Measure, values: &RoundValues, alpha: f64) -> Option<(RoundValues, Shift)> {
    let values = if measure == Measure::Slow { values.slow() } else { values.clone() };
    let (base, new) = values.all();
    if base.iter().chain(&new).all(|value| *value == 0.0) {
        return None;
    }
    let interval = difference((mean(&base), base.len() as u64), (mean(&new), new.len() as u64), alpha);
    let counted = |side: &[f64]| (side.iter().filter(|value| **value > 0.0).count() as u64, side.len() as u64);
    let p = if measure == Measure::Slow { fisher(counted(&base), counted(&new)) } else { shift(&base, &new, alpha)?.p };
    Some((values, Shift { p, estimate: mean(&new) - mean(&base), interval: Some(interval?) }))
}

/// Whether most of the rounds that both sides have differ in this direction: a single round may be an outlier.
pub(super) fn is_steady(values: &RoundValues, estimate: f64) -> bool {
    let (rounds, alike) = values
        .means()
        .fold((0, 0), |(rounds, alike), (base, new)| (rounds + 1, alike + usize::from((new - base) * estimate > 0.0)));
    2 * alike > rounds
}
