pub mod adapters;
mod cases;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod coordination;
pub mod driver;
pub mod faults;
pub mod host;
pub mod leaders;
pub mod model;
pub mod plan;
pub mod recipes;
pub mod resource;
pub mod scenario;
pub mod schedule;
pub mod seed;
pub mod simulation;
pub mod write_gaps;
