//! The driver of links: makes them, injures them, heals them, and proves each time that it worked.
//!
//! It speaks Toxiproxy's API by way of toxiproxy_rust, to the embedded proxy's processes or to a real Toxiproxy. A
//! partition is a `hold` there and a `timeout` of 0 here, which drops data and closes its connections when it is healed.

mod actions;
mod caller;
mod control;
mod debt;
mod driver;
mod error;
mod faults;
mod fleet;
mod layout;
mod lost_replies;
mod mesh;
mod probe;
mod receipt;
mod slow;
mod touches;
mod toxics;

pub(crate) use debt::{borrow, prefix, proxy_debt};
pub use driver::{External, RunLinks};
pub use error::LinkError;
pub use layout::{descriptors_needed, processes_needed};
pub(crate) use mesh::{Mesh, Way};
pub use receipt::LinkReceipt;
pub use touches::Touches;
