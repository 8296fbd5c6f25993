//! What runs inside a host process: one candidate of each of many groups, behind the host's own links.

mod candidate;
mod expire;
mod floor;
mod orders;
pub(crate) mod said;
mod seat;
mod sessions;
mod work;

pub(crate) use orders::SECRET_VARIABLE;
pub use orders::{HostArgs, run};
