//! The embedded link proxy: one process, one thread, many listening ports, driven by Toxiproxy's HTTP API.
//!
//! It adds to Toxiproxy what an election benchmark needs of a link: a `hold` that heals transparently, byte counters and
//! last-byte times to prove that a fault took effect, resets without a toxic, and no Nagle delay. For links between the
//! servers themselves there are `plain_greeting`, without which they would find ways past their links, and `await_upstream`,
//! without which a follower that is quicker than its leader would be hung up on and hold another election.
//!
//! `lose_reply` reads along on connections of ZooKeeper's clients, and closes one instead of passing the answer to a create that
//! was carried out.
//!
//! Deliberate differences: half-closed connections stay half-closed (Toxiproxy closes both ways); unknown toxic attributes and
//! out-of-range values are refused; the toxicity of a toxic is drawn once per connection. During a `hold` in either direction no
//! connection can be made: handshakes go unanswered, as in a network that lets nothing pass. Where a hold hits only some
//! connections (toxicity below 1), those are made and reach their upstream when it ends. Timers have a resolution of about 1 ms.

mod active_toxic;
mod api;
mod body;
mod connection;
mod counters;
mod door;
mod error;
mod front;
mod greeting;
mod pipeline;
mod pump;
mod reading;
mod registry;
mod relay;
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
pub use tap::{Tapped, Taps};

/// What the proxy is told at its start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the API listens; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Accept, keep and show toxics, but leave the bytes alone on all proxies whose names end so: tests that a user of the
    /// proxy notices.
    pub lie: Option<String>,
    /// Do not tell of the extensions: users that look for them take it for a real Toxiproxy.
    pub plain: bool,
    /// Seed of the random choices: which connections a toxic hits, jitter, sizes of slices.
    pub seed: u64,
}

/// A proxy whose API is bound and not served yet.
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
        Ok(Self { listener: door::listen(options.listen)?, options, taps: Taps::default() })
    }

    /// What tells of whatever passes, to whoever wants to know.
    #[must_use]
    pub fn taps(&self) -> Taps {
        self.taps.clone()
    }

    /// Where the API listens.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the future is dropped. Must run on a current-thread runtime: that no byte passes once a `hold` was
    /// answered rests on it.
    ///
    /// # Errors
    /// The API's listener failed for good.
    pub async fn serve(self) -> io::Result<()> {
        let router =
            api::router(Registry::new(self.options.lie.clone(), self.options.seed, self.taps), self.options.plain);
        axum::serve(front::Front::new(self.listener), router).await
    }
}
