//! Simulated runs: the coordinator's work in virtual time. Their records have the usual format, and are identical to
//! the byte for the same scenario and seed.

mod known;
mod recorder;
mod run;
mod search;
mod trial;

pub use known::{BugSearchResult, hunt};
pub use recorder::Recorder;
pub use run::{SimulateOptions, run};
pub use search::{FailingSeed, Search, SearchTotals, own_cell, search, shrink};
pub use trial::{Trial, recorded, try_simulation};
