//! ZooKeeper without I/O and without a clock: how servers handle requests, sessions, watches and each other's loss. The
//! driver supplies the time, carries the messages, and decides how long everything takes.

mod acl;
mod apply;
mod availability_metrics;
mod ballots;
mod clients;
mod credentials;
mod election;
mod ensemble;
mod forwarded;
mod holdings;
mod interface;
mod lead;
mod life;
mod log;
mod metrics;
mod op;
mod orders;
mod path;
mod prep;
mod reads;
mod server;
mod sessions;
mod settle;
pub(crate) mod table;
mod time;
mod tree;
mod txn;
mod watches;

pub use availability_metrics::AvailabilityMetrics;
pub use ballots::Ballots;
pub use ensemble::{Ensemble, Znode};
pub use interface::*;
pub use op::*;
pub use path::validate;
pub use settle::settle;
