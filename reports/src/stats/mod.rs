//! Statistics that any verdict or figure needs: distributions with censoring, upper bounds of rates, spans of time.
//! Pure functions, each tested against the slow and obvious way.

mod bound;
mod distribution;
pub mod proportions;
mod random;
pub mod rank_sum;
pub mod spans;
mod sweep;
mod tallied;
mod trigamma;

pub use bound::{Rate, Tally, upper_95};
pub use distribution::{Distribution, Samples, Tail};
pub use random::normal;
pub use sweep::{BeliefSpan, Overlap, sweep};
pub use tallied::{DurationCounter, Quantiles};
pub use trigamma::{inverse_trigamma, trigamma};

/// The least of sorted values that at least half of them are no more than; None of none.
pub fn lower_median<T: Copy>(sorted: &[T]) -> Option<T> {
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}
