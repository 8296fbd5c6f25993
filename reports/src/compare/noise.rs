//! The difference of two runs of one build on one machine. Smaller differences cannot be detected there.

use serde::Serialize;

use super::answer::Comparison;
use super::contest::ComparisonReport;
use super::measure::{Measure, Unit};

/// The margin is this many times the difference that noise alone causes.
const TIMES: f64 = 2.0;
/// Differences up to this always count as the same.
const LEAST: f64 = 0.05;

/// The margin's steps are tenths of a percent. The tolerance below keeps a rounding error from adding a step to an
/// exact one.
const STEPS: f64 = 1_000.0;
const ROUNDING: f64 = 1e-6;

/// The measured noise of the machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Noise {
    /// The suitable margin: twice the largest spread, rounded up to a tenth of a percent, and no less than differences
    /// that always count as the same. None if that is all of the median: then no difference is detectable.
    pub delta: Option<f64>,
    pub spreads: Vec<Spread>,
}

/// The spread of one measure of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub pair: String,
    pub measure: Measure,
    /// The difference of the two, as a share of the base's median.
    pub spread: f64,
    pub injections: u64,
}

/// The noise, from two runs that do not differ. None if no measure of theirs can be compared.
#[must_use]
pub fn noise(comparing: &ComparisonReport) -> Option<Noise> {
    let all = comparing.pairs.iter().flat_map(|pair| pair.comparisons.iter().map(move |found| (pair, found)));
    let timed = all.filter(|(_, found)| found.measure.unit() == Unit::Nanoseconds);
    let spread = |found: &Comparison| found.relative().map(f64::abs);
    let spreads: Vec<Spread> = timed
        .filter_map(|(pair, found)| {
            let injections = found.base.injections.min(found.new.injections);
            Some(Spread { pair: pair.name.clone(), measure: found.measure, spread: spread(found)?, injections })
        })
        .collect();
    let largest = spreads.iter().map(|one| one.spread).fold(f64::NAN, f64::max);
    let delta = (TIMES * largest).max(LEAST);
    let delta = (delta * STEPS - ROUNDING).ceil() / STEPS;
    (!spreads.is_empty()).then(|| Noise { delta: (delta < 1.0).then_some(delta), spreads })
}
