//! The clock of a record.

/// Nanoseconds of CLOCK_MONOTONIC.
pub type Nanos = u64;
