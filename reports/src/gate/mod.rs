//! Judges a record by limits and a baseline. An undecided result never passes.

mod figures;
mod formats;
mod github;
mod history;
mod items;
mod limits;
mod markdown;

pub use figures::{FIGURES, Figure, FigureReading, FigureSource};
pub use formats::{bencher, benchmark_action};
pub use github::annotations;
pub use history::{HistoryError, history};
pub use items::{ExcludedRepetition, GateQuestion, GateRequirements, GateResult, Item, gate};
pub use limits::{Limits, LimitsError};
pub use markdown::markdown;
