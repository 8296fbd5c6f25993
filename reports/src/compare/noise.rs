//! How far apart two runs of one build lie on one machine: below that nothing can be told there.

use serde::Serialize;

use super::answer::Comparison;
use super::contest::Comparing;
use super::measure::{Measure, Unit};

/// What is to be taken for the same must be twice what noise alone brings about.
const TIMES: f64 = 2.0;
/// What is no further apart than this is the same for all purposes.
const LEAST: f64 = 0.05;

/// It is given in tenths of a percent; what is one already is not pushed to the next by the error of the multiplication.
const STEPS: f64 = 1_000.0;
const ROUNDING: f64 = 1e-6;

/// What the machine's noise comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Noise {
    /// The margin that suits: twice the largest spread, to a tenth of a percent upwards, and no less than what is the same for all
    /// purposes. None where that is all of the median: then nothing can be told apart.
    pub delta: Option<f64>,
    pub spreads: Vec<Spread>,
}

/// Of one figure of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub pair: String,
    pub measure: Measure,
    /// How far the two lie apart, as a share of the base's median.
    pub spread: f64,
    pub injections: u64,
}

/// Of two runs that differ in nothing. None where no figure of theirs can be compared.
#[must_use]
pub fn noise(comparing: &Comparing) -> Option<Noise> {
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
