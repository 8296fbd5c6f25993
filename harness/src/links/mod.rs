//! The driver of links: creates them, injects faults, heals them, and verifies each change.
//!
//! It uses Toxiproxy's API through toxiproxy_rust. The embedded proxy partitions with `hold`. A real Toxiproxy
//! partitions with a `timeout` of 0, which drops data, and closes its connections on healing.

mod actions;
mod caller;
mod control;
mod driver;
mod error;
mod faults;
mod fleet;
mod layout;
mod lost_replies;
mod mesh;
mod probe;
mod proxy_cleanup;
mod slow;
mod stranger;
mod touches;
mod toxics;
mod tunnel;
mod verification;

pub use driver::{ExternalToxiproxy, RunLinks};
pub use error::LinkError;
pub use layout::{descriptors_needed, processes_needed};
pub(crate) use mesh::{Mesh, PeerLink};
pub(crate) use proxy_cleanup::{borrow, pending_proxy_cleanup, prefix};
pub(crate) use stranger::{VersionAnswer, version_at};
pub use touches::Touches;
pub use tunnel::Tunnel;
pub use verification::LinkVerification;
