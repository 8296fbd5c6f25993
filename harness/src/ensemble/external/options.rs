//! What a run is told of an ensemble that is somebody else's.

use std::time::Duration;

use crate::access::Access;
use crate::links::External;

/// Connections of a run to one server beside its candidates' sessions: coordinator, observer, warm-up, sessions taken over.
pub(super) const CONNECTIONS_BESIDE: u64 = 32;

/// Servers that run already, and what a run wants of them.
#[derive(Clone, Debug)]
pub struct ExternalOptions {
    /// Client addresses of all its servers, as `host:port`, in any order.
    pub connect: Vec<String>,
    /// The same servers as the proxies of links reach them, in the same order; None: at the same addresses.
    pub upstreams: Option<Vec<String>>,
    /// The Toxiproxy in front of them; None: links are the run's own affair.
    pub toxiproxy: Option<External>,
    /// What its clients need.
    pub access: Access,
    /// Sessions of the run's largest cell.
    pub sessions: u64,
    /// How long servers that are starting are waited for.
    pub within: Duration,
    /// Completes the sentence "chosen because …".
    pub why: String,
}
