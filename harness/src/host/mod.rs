//! The contents of a host process: one candidate of each of many groups, behind the host's own links.

mod expire;
mod floor;
mod foreign;
mod orders;
mod paths;
mod process;
mod shutdown;
mod slot;

pub use orders::{HostArgs, run};
