#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

pub mod adapters;
mod cases;
pub mod conformance;
pub mod coordination;
pub mod driver;
pub mod faults;
pub mod host;
pub mod leaders;
pub mod model;
pub mod recipes;
pub mod redis_failover;
pub mod resource;
pub mod scenario;
pub mod schedule;
pub mod seed;
pub mod simulation;
pub mod write_gaps;

pub use scenario::plan;
