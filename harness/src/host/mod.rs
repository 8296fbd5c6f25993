//! What runs inside a host process: one candidate of each of many groups, behind the host's own links.

mod expire;
mod farewell;
mod floor;
mod foreign;
mod orders;
mod paths;
mod process;
mod seat;

pub use orders::{HostArgs, run};
