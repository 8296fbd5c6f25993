//! The embedded link proxy: one process, one thread, many listening ports, driven by Toxiproxy's HTTP API.
//!
//! It extends Toxiproxy for an election benchmark: a `hold` that heals transparently, resets without a toxic, and no
//! Nagle delay. Byte counters and last-byte times verify faults. Links between servers need two more toxics. Without
//! `plain_greeting`, servers would bypass their links. Without `await_upstream`, the connection of a follower that is
//! quicker than its leader would close, and it would hold another election.
//!
//! `lose_reply` decodes connections of ZooKeeper clients. It closes one instead of forwarding the answer to an executed
//! create.
//!
//! Deliberate differences: half-closed connections stay half-closed (Toxiproxy closes both ways); a toxic's toxicity is
//! drawn once per connection. During a `hold` in either direction, handshakes are not answered, as if the network
//! dropped all packets. If a hold affects only some connections (toxicity below 1), they reach their upstream when it
//! ends. Timers have a resolution of about 1 ms. As in Toxiproxy, unknown toxic attributes are ignored, and any whole
//! number of 64 bits is taken; values out of range act like the nearest one in range. A proxy that is its own upstream
//! is refused, and none connects to itself. Proxies that point at each other are not detected.
//!
//! A refused request changes nothing. Toxiproxy 2.12 leaves behind: a proxy that is closed, at the address that it
//! could not open; the first proxies of a `populate`; the first attributes of a toxic; some proxies that were not
//! reset. Here, only `reset` does a part: all that it can. Its error names a port that it could not open. `populate`
//! takes a list in any order, even if its proxies exchange their ports, and also enables and disables proxies that are
//! there already. A changed upstream does not close the port meanwhile. A request is handled to its end even if its
//! client has left.

mod active_toxic;
mod api;
mod api_listener;
mod body;
mod closed_port;
mod connection;
mod counters;
mod error;
mod greeting;
mod pipeline;
mod places;
mod port;
mod pump;
mod reading;
mod registry;
mod relay;
mod replacement;
mod request;
mod serve;
mod shared;
pub mod stats;
mod tap;
mod toxic;

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use registry::Registry;
pub use tap::{TapEvent, Taps};

/// Start options of the proxy.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address of the API. Port 0 takes any free port.
    pub listen: SocketAddr,
    /// Accept, store and list toxics, but do not apply them on proxies whose names end with this. Tests that users of
    /// the proxy detect it.
    pub lie: Option<String>,
    /// Hide the extensions: users that check for them see a real Toxiproxy.
    pub plain: bool,
    /// Seed of the random choices: affected connections, jitter, slice sizes.
    pub seed: u64,
}

/// A proxy whose API is bound but not yet served.
#[derive(Debug)]
pub struct ProxyServer {
    listener: TcpListener,
    options: Options,
    taps: Taps,
}

impl ProxyServer {
    /// Binds the API.
    ///
    /// # Errors
    /// The address cannot be bound (taken, not local, not allowed).
    pub fn bind(options: Options) -> io::Result<Self> {
        Ok(Self { listener: closed_port::listen(options.listen)?, options, taps: Taps::default() })
    }

    /// Access to recordings of the traffic.
    #[must_use]
    pub fn taps(&self) -> Taps {
        self.taps.clone()
    }

    /// The API's address.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the future is dropped. Requires a current-thread runtime: only then does no byte pass after a
    /// `hold` was answered.
    ///
    /// # Errors
    /// The API's listener failed permanently.
    pub async fn serve(self) -> io::Result<()> {
        let router =
            api::router(Registry::new(self.options.lie.clone(), self.options.seed, self.taps), self.options.plain);
        let service = router.into_make_service_with_connect_info::<places::ApiPlace>();
        axum::serve(api_listener::ApiListener::new(self.listener), service).await
    }
}
