//! Checkers: one file and one registry line each. A checker is a pure function of a cell's index. It returns a verdict
//! in words, and a section of the summary that no other checker writes or reads. A zero without evidence is never a
//! pass.

pub(crate) mod allowance;
pub(crate) mod asked;
pub mod course;
mod doubt;
pub mod effect;
pub mod enrolment;
pub(crate) mod evidence;
pub mod failover;
pub mod fan_out;
mod finding;
pub mod grant_tokens;
pub mod handovers;
pub mod injections;
mod kept;
pub mod lists;
pub mod liveness;
mod met;
mod misread;
pub mod ownership;
pub mod phases;
pub mod programs;
pub mod promptness;
mod quiet;
mod reach;
pub mod records;
mod registry;
mod section;
pub mod server_elections;
pub mod server_watch;
pub mod servers;
pub mod sessions;
pub mod split_brain;
pub mod stale_writes;
pub mod stalls;
pub mod standing;
pub mod stray_writes;
mod testability;
pub mod unavailable;
mod unaware;
pub mod verifications;
mod votes;
mod wakes;
pub mod witness;
mod words;
pub mod write_gaps;
pub mod write_tokens;

pub use finding::{CheckResult, Finding};
pub(crate) use registry::judged;
pub use registry::{CHECKERS, CellSummary, Checker, sections};
pub use section::Section;
pub use testability::Testability;
