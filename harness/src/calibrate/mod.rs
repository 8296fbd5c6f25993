//! Service times from a real run: with them, a simulation of the same cells reproduces its measurements.

mod fit;
mod target;

pub use fit::{CalibrationFit, CountedCell, MedianComparison, compared, fit};
pub use target::{Count, FittedMeasure, TargetCell, targets};
