//! Proxies that take the places of others: all of them or none. All ports are bound before anything changes, so a
//! change that is refused leaves ports and connections as they were.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use super::error::ApiError;
use super::port::BoundPort;
use super::relay::Relay;

/// A proxy that takes the place of the one of its name, or is new. It is not open yet.
pub(super) struct Successor {
    pub(super) relay: Relay,
    /// Where it will listen. None: it will be disabled.
    pub(super) address: Option<SocketAddr>,
}

/// Open ports of the proxies that are replaced, with the names of these. A successor at the same address takes over the
/// port of any of them.
type HeldPorts = BTreeMap<SocketAddr, (String, BoundPort)>;

/// Replaces the proxies of these names. Clients of the new ones wait in the ports' queues until all old ones have
/// stopped.
pub(super) async fn replace(relays: &mut BTreeMap<String, Relay>, successors: Vec<Successor>) -> Result<(), ApiError> {
    let mut closed = Vec::new();
    match bind_all(relays, &successors, &mut closed).await {
        Ok(ports) => {
            commit(relays, successors, ports).await;
            Ok(())
        }
        Err(error) => Err(reopen(relays, closed, error).await),
    }
}

/// The ports of the successors. Adds to `closed` the names of the proxies whose ports had to close for that.
async fn bind_all(
    relays: &mut BTreeMap<String, Relay>,
    successors: &[Successor],
    closed: &mut Vec<String>,
) -> Result<Vec<Option<BoundPort>>, ApiError> {
    let mut held = HeldPorts::new();
    for old in successors.iter().filter_map(|successor| relays.get(&successor.relay.name)) {
        if let Some(port) = old.port() {
            held.insert(port.address, (old.name.clone(), port.clone()));
        }
    }
    let mut ports = Vec::with_capacity(successors.len());
    for Successor { relay, address } in successors {
        let port = match *address {
            Some(address) => {
                let bound = bind(address, relays, &mut held, closed).await;
                Some(bound.map_err(|error| ApiError::listen(&relay.listen, error))?)
            }
            None => None,
        };
        ports.push(port);
    }
    Ok(ports)
}

async fn bind(
    address: SocketAddr,
    relays: &mut BTreeMap<String, Relay>,
    held: &mut HeldPorts,
    closed: &mut Vec<String>,
) -> io::Result<BoundPort> {
    if let Some((_, port)) = held.remove(&address) {
        return Ok(port);
    }
    match BoundPort::bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
        bound => return bound,
    }
    // A replaced proxy may have the port at all addresses of this machine, or at one of them if all are wanted.
    let overlaps = |other: &&SocketAddr| {
        other.port() == address.port() && (other.ip().is_unspecified() || address.ip().is_unspecified())
    };
    let overlapping: Vec<SocketAddr> = held.keys().filter(overlaps).copied().collect();
    for other in overlapping {
        let Some((name, port)) = held.remove(&other) else { continue };
        drop(port);
        if let Some(relay) = relays.get_mut(&name) {
            relay.close_port().await;
            closed.push(name);
        }
    }
    BoundPort::bind(address)
}

/// Nothing in this can fail.
async fn commit(relays: &mut BTreeMap<String, Relay>, successors: Vec<Successor>, ports: Vec<Option<BoundPort>>) {
    for successor in &successors {
        if let Some(old) = relays.get_mut(&successor.relay.name) {
            old.stop().await;
        }
    }
    for (Successor { mut relay, .. }, port) in successors.into_iter().zip(ports) {
        if let Some(port) = port {
            relay.accept_on(port);
        }
        relays.insert(relay.name.clone(), relay);
    }
}

/// Opens the closed ports again, and returns the error. Their connections were never closed.
async fn reopen(relays: &mut BTreeMap<String, Relay>, closed: Vec<String>, mut error: ApiError) -> ApiError {
    for name in closed {
        if let Some(relay) = relays.get_mut(&name)
            && let Err(lost) = relay.start().await
        {
            error = error.and(format!("meanwhile the proxy '{name}' lost its port, enable it again: {lost}"));
        }
    }
    error
}
