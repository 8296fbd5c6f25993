//! Checkers: one file and one registry line each. A checker is a pure function of a cell's index. It returns a verdict
//! in words, and a section of the summary that no other checker writes or reads. A zero without evidence is never a
//! pass.

mod awareness;
mod broken_rule;
pub mod effect;
pub mod enrolment;
pub(crate) mod evidence;
pub mod failover;
pub mod failover_timeline;
pub mod fan_out;
mod finding;
mod follower_sessions;
pub mod grant_tokens;
pub mod handovers;
pub mod injections;
mod lead_pairs;
mod lingering_candidates;
pub mod lists;
pub mod liveness;
mod notification_certainty;
pub mod ownership;
pub mod participation;
pub mod phases;
mod program_orders;
pub mod programs;
pub mod promptness;
pub mod records;
mod registry;
mod reordered_writes;
pub(crate) mod request_limit;
mod section;
pub mod server_elections;
pub mod server_watch;
pub mod servers;
pub mod sessions;
pub mod split_brain;
pub mod stale_writes;
pub(crate) mod stall_confounder;
pub mod stalls;
pub mod stray_writes;
mod testability;
pub(crate) mod tolerance;
pub mod unavailable;
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
