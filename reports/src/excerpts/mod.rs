//! Excerpts of a record that a report shows one by one: handovers, groups, load over time.

pub mod correlated_expiry;
pub mod exceptions;
pub mod load;
pub mod timelines;
