//! The way to servers of somebody else: in the clear or by TLS, by which each of them is called by its own name.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::access::{Access, Tls};
use crate::ensemble::four_letter::{self, FourLetterError};
use crate::links::Tunnel;

/// Where clients reach servers, and what keeps that way open.
#[derive(Debug)]
pub(super) struct ServerRoute {
    addrs: Vec<SocketAddr>,
    tunnel: Option<Tunnel>,
}

impl ServerRoute {
    /// The way to servers, each with its address and the name that it was given, as `host:port`.
    ///
    /// # Errors
    /// No tunnel can be opened.
    pub(super) fn open(access: &Access, servers: &[(SocketAddr, String)]) -> io::Result<Self> {
        let Some(tls) = access.tls.clone() else {
            return Ok(Self { addrs: servers.iter().map(|(addr, _)| *addr).collect(), tunnel: None });
        };
        let called = servers.iter().map(|(addr, name)| (*addr, host(name).to_owned())).collect();
        let tunnel = Tunnel::open(tls, called)?;
        Ok(Self { addrs: tunnel.addrs().to_vec(), tunnel: Some(tunnel) })
    }

    /// In the order of the servers.
    pub(super) fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    pub(super) fn tunnel(&self) -> Option<&Tunnel> {
        self.tunnel.as_ref()
    }
}

/// Asks a server for a four-letter word, past the tunnel: what fails is told as it is.
pub(super) async fn ask(
    tls: Option<&Tls>,
    (addr, name): (SocketAddr, &str),
    word: &'static str,
    within: Duration,
) -> Result<String, FourLetterError> {
    match tls {
        Some(tls) => four_letter::ask_over(tls.dial(addr, host(name)), addr, word, within).await,
        None => four_letter::ask(addr, word, within).await,
    }
}

/// The host of `host:port`, which certificates are for; without the brackets of an IPv6 address.
fn host(name: &str) -> &str {
    let host = name.rsplit_once(':').map_or(name, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn certificates_are_for_hosts_without_ports_and_brackets() {
        let hosts = ["zk1.example.com:2181", "127.0.0.1:1", "[::1]:2181"].map(host);
        assert_eq!(hosts, ["zk1.example.com", "127.0.0.1", "::1"]);
    }
}
