//! What should happen: election recipes, scenarios and fault plans. Pure: no network, no clock, no processes.

pub mod booth;
pub mod coordination;
