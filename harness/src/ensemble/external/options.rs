//! Options of an external ensemble.

use std::time::Duration;

use crate::access::Access;
use crate::links::ExternalToxiproxy;

/// Connections of a run to one server besides its candidates' sessions: coordinator, observer, warm-up, taken-over
/// sessions.
pub(super) const CONNECTIONS_BESIDE: u64 = 32;

/// Servers that run already, and the needs of a run.
#[derive(Clone, Debug)]
pub struct ExternalOptions {
    /// Client addresses of all its servers, as `host:port`, in any order.
    pub connect: Vec<String>,
    /// The same servers as the links' proxies reach them, in the same order; None: at the same addresses.
    pub upstreams: Option<Vec<String>>,
    /// The Toxiproxy in front of them; None: the run provides its own links.
    pub toxiproxy: Option<ExternalToxiproxy>,
    /// Access for its clients.
    pub access: Access,
    /// Sessions of the run's largest cell.
    pub sessions: u64,
    /// Candidates of the run's largest group, for the remedy if these are too many sessions.
    pub group_size: u64,
    /// Time to wait for servers that are starting.
    pub within: Duration,
    /// Completes the sentence "chosen because …".
    pub why: String,
}
