//! Service times from a real run: those with which a simulation of the same cells shows what the run showed.

mod fit;
mod target;

pub use fit::{Compared, CountedCell, Fitted, compared, fit};
pub use target::{Count, FittedMeasure, TargetCell, targets};
