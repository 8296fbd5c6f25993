//! Simulated runs: the coordinator's work in virtual time. The record that comes of one is like any other, and the same for the
//! same scenario and seed, to the byte.

mod known;
mod recorder;
mod run;
mod search;
mod trial;

pub use known::{Hunted, hunt};
pub use recorder::Recorder;
pub use run::{SimulateOptions, run};
pub use search::{Found, Search, Searched, own_cell, search, shrink};
pub use trial::{Trial, recorded, try_simulation};
