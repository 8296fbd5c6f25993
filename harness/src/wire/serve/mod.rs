//! Servers of the model behind ZooKeeper's wire protocol. Each listens on its own port. All run in one process and on
//! one thread. A transaction that one commits is applied by the others at once.

mod connection;
mod control;
mod core;
mod line;
mod listener;
mod log;
mod member;
mod words;

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use hustings_workloads::model::Options;

pub(crate) use self::control::{NOT_PAUSED, PAUSED_ALREADY};
use self::core::ServedEnsemble;
use crate::process::utc;

/// The version that the servers report, and whose behaviour they have.
pub const VERSION: &str = "3.8.0";

/// Running servers, numbered from 1. Dropping this ends them.
#[derive(Debug)]
pub struct EmbeddedServers {
    core: Rc<ServedEnsemble>,
    clock: tokio::task::JoinHandle<()>,
}

impl EmbeddedServers {
    /// Starts one server on each of these addresses. Port 0 takes any free port. The wall clock and the number of
    /// addresses override the corresponding `options`.
    ///
    /// Must be called within a `LocalSet` on a current-thread runtime.
    ///
    /// # Errors
    /// An address cannot be bound.
    ///
    /// # Panics
    /// The model panics for no servers or more than 254.
    pub fn start(options: Options, addresses: &[SocketAddr]) -> io::Result<Self> {
        let options = Options { servers: addresses.len(), epoch_ms: utc::unix_ms(), ..options };
        let sockets: io::Result<Vec<_>> = addresses.iter().map(|address| listener::bind(*address)).collect();
        let sockets = sockets?;
        let bound: io::Result<Vec<_>> = sockets.iter().map(tokio::net::TcpListener::local_addr).collect();
        let core = ServedEnsemble::new(options, &bound?);
        for (server, socket) in sockets.into_iter().enumerate() {
            core.run(server, socket);
        }
        let clock = tokio::task::spawn_local(core.clone().keep_time());
        Ok(Self { core, clock })
    }

    /// Client addresses of servers 1 to n.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.core.members.iter().map(|member| member.address).collect()
    }
}

impl Drop for EmbeddedServers {
    fn drop(&mut self) {
        self.clock.abort();
        for member in &self.core.members {
            member.gate.send_replace(member::ServerProcessState::Down);
        }
    }
}
