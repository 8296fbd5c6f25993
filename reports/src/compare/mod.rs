//! Two runs, or two sides of one, held against each other: worse, better, the same, or not to be told yet. The unit is the strike,
//! never the handover: what one moment brought shares its luck.

mod answer;
mod contest;
mod differences;
mod luck;
mod measure;
mod noise;
mod orders;
mod rounds;
mod share;
mod sides;
mod undecided;

pub use answer::{Answer, Comparison, Figures, Rules};
pub use contest::{Comparing, Pair, Side, compare, sides_of};
pub use differences::Difference;
pub use measure::{Measure, Unit};
pub use noise::{Noise, noise};
pub use orders::{Repetitions, orders};
pub use sides::{Refused, names};
pub use undecided::undecided;
