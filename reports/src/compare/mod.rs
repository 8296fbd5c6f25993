//! Compares two runs, or two sides of one: worse, better, the same, or undecided. The unit is the injection, never the
//! handover: handovers of one injection share its circumstances.

mod answer;
mod contest;
mod count;
mod differences;
mod measure;
mod noise;
mod orders;
mod round_variance;
mod rounds;
mod share;
mod side_names;
mod sides;
mod undecided;

pub use answer::{Comparison, ComparisonRules, ComparisonVerdict, Figures};
pub use contest::{ComparedPair, ComparisonReport, PairSide, compare, compared_sides, overall, sides_of};
pub use differences::Difference;
pub use measure::{Measure, Unit};
pub use noise::{Noise, noise};
pub use orders::{Repetitions, orders};
pub use sides::{ComparisonRefusal, names};
pub use undecided::{rounds_missing, undecided};
