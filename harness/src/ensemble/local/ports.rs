//! Ports of a local ensemble.
//!
//! An open port cannot be handed to a JVM, so another process may take it between its choice and the bind. Ports are
//! therefore chosen *below* the kernel's range for outgoing connections. Thousands of sessions cannot take them by
//! chance, neither now nor while a server restarts.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use super::super::EnsembleError;

/// Ports of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerPorts {
    pub(super) client: u16,
    pub(super) quorum: u16,
    pub(super) election: u16,
}

/// Ports of the links from one server to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkPorts {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) quorum: u16,
    pub(super) election: u16,
}

/// Ports of an ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ports {
    /// Ports of servers 1 to n.
    pub(super) servers: Vec<ServerPorts>,
    /// From every server to every other one; empty: servers connect to each other's own ports.
    pub(super) links: Vec<LinkPorts>,
}

/// Below this, ports have conventional owners.
const LOWEST: u16 = 10_000;
/// Number of ports to try.
const TRIED_MAX: u16 = 4_000;

/// Ports that can be bound now, with some for links if requested: `base`, `base + 1`, … or any. A different `attempt`
/// searches elsewhere.
///
/// # Errors
/// [`EnsembleError::PortTaken`] names the port of a requested base; [`EnsembleError::NoPorts`] if none were found.
pub(super) fn reserve(servers: u32, links: bool, base: Option<u16>, attempt: u32) -> Result<Ports, EnsembleError> {
    let n = servers as usize;
    let pairs = if links { pairs(servers) } else { Vec::new() };
    let ports = match base {
        Some(base) => asked(servers, &pairs, base)?,
        None => free(count(servers, links), attempt).map_err(|source| EnsembleError::NoPorts { servers, source })?,
    };
    let server = |i| ServerPorts { client: ports[i], quorum: ports[n + i], election: ports[2 * n + i] };
    let link = |((from, to), own): (_, &[u16])| LinkPorts { from, to, quorum: own[0], election: own[1] };
    let links = pairs.into_iter().zip(ports[3 * n..].chunks_exact(2)).map(link).collect();
    Ok(Ports { servers: (0..n).map(server).collect(), links })
}

/// How many ports these servers need: three each, and two more for each pair with links between them.
pub(in crate::ensemble) fn count(servers: u32, links: bool) -> usize {
    3 * servers as usize + if links { 2 * pairs(servers).len() } else { 0 }
}

/// Every server with every other one, both ways.
fn pairs(servers: u32) -> Vec<(u32, u32)> {
    let all = (1..=servers).flat_map(|from| (1..=servers).map(move |to| (from, to)));
    all.filter(|(from, to)| from != to).collect()
}

/// The first of `count` ports in a row that can be bound now; a different `attempt` searches elsewhere.
///
/// # Errors
/// None of the tried ports qualifies.
pub(crate) fn reserve_row(count: u16, attempt: u32) -> io::Result<u16> {
    let mut held: Vec<TcpListener> = Vec::new();
    let mut next = None;
    for port in candidates(&quiet_range(), attempt).take(usize::from(TRIED_MAX.max(count))) {
        // The search may wrap around to the range's beginning within a row.
        if next != Some(port) {
            held.clear();
        }
        match bind(port) {
            Ok(listener) => held.push(listener),
            Err(_) => held.clear(),
        }
        if held.len() == usize::from(count) {
            return Ok(port - (count - 1));
        }
        next = port.checked_add(1);
    }
    Err(io::Error::other(format!("no {count} free ones in a row")))
}

/// Whether a port can be bound now.
pub(in crate::ensemble) fn check_free(port: u16) -> io::Result<()> {
    bind(port).map(|_| ())
}

/// The number of the next `wanted` candidates for a port that can be bound now, and their range.
#[must_use]
pub fn count_free(wanted: u16) -> (usize, Range<u16>) {
    let range = quiet_range();
    (candidates(&range, 0).take(usize::from(wanted)).filter(|port| bind(*port).is_ok()).count(), range)
}

fn asked(servers: u32, pairs: &[(u32, u32)], base: u16) -> Result<Vec<u16>, EnsembleError> {
    let roles = ["client", "quorum", "election"];
    let own = roles.iter().flat_map(|role| (1..=servers).map(move |server| (*role, server)));
    let wanted = own.chain(pairs.iter().flat_map(|(from, _)| [("quorum link", *from), ("election link", *from)]));
    // Kept open until all are checked: a port must not be counted twice.
    let mut held = Vec::new();
    for (offset, (role, server)) in (0u16..).zip(wanted) {
        let taken = |source| EnsembleError::PortTaken { port: base.saturating_add(offset), role, server, source };
        let port = base.checked_add(offset).ok_or_else(|| taken(io::Error::other("ports end at 65535")))?;
        // A single server has neither peers nor elections.
        if servers == 1 && role != "client" {
            held.push((port, None));
            continue;
        }
        held.push((port, Some(bind(port).map_err(taken)?)));
    }
    Ok(held.into_iter().map(|(port, _)| port).collect())
}

fn free(count: usize, attempt: u32) -> io::Result<Vec<u16>> {
    let mut held: Vec<TcpListener> = Vec::new();
    for port in candidates(&quiet_range(), attempt).take(usize::from(TRIED_MAX)) {
        if held.len() == count {
            break;
        }
        held.extend(bind(port));
    }
    // The kernel reserves nearly all ports for outgoing connections: let it choose.
    while held.len() < count {
        held.push(bind(0)?);
    }
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// Ports of `range`, each once. The start differs between processes and attempts, so that concurrent runs do not try
/// the same ports.
fn candidates(range: &Range<u16>, attempt: u32) -> impl Iterator<Item = u16> {
    let skip = (std::process::id() as usize * 37 + attempt as usize * 1_009) % range.len().max(1);
    range.clone().cycle().skip(skip).take(range.len())
}

/// From [`LOWEST`] to the beginning of the ports for outgoing connections; empty if they begin below.
fn quiet_range() -> Range<u16> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let low = range.split_whitespace().next().and_then(|low| low.parse().ok()).unwrap_or(32_768);
    LOWEST..low.max(LOWEST)
}

fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{bind, candidates, check_free, pairs, reserve, reserve_row};
    use crate::ensemble::EnsembleError;

    #[test]
    fn every_port_of_an_ensemble_is_another_one_and_free() {
        let ports = reserve(5, true, None, 1).expect("ports");
        let of_servers = ports.servers.iter().flat_map(|p| [p.client, p.quorum, p.election]);
        let of_links = ports.links.iter().flat_map(|p| [p.quorum, p.election]);
        let all: BTreeSet<u16> = of_servers.chain(of_links).collect();
        assert_eq!(all.len(), 15 + 40);
        assert!(all.iter().all(|port| bind(*port).is_ok()));
    }

    #[test]
    fn a_taken_port_of_an_asked_base_is_named_with_its_role() {
        let taken = reserve(1, false, None, 2).expect("ports").servers[0].client;
        let _held = bind(taken).expect("held");
        let error = reserve(3, false, Some(taken - 4), 1).expect_err("it is taken");
        assert!(matches!(error, EnsembleError::PortTaken { .. }), "{error}");
        let base_above_the_end = reserve(3, false, Some(65_534), 1).expect_err("ports end");
        assert!(base_above_the_end.to_string().contains("65535"), "{base_above_the_end}");
    }

    #[test]
    fn a_taken_port_of_a_link_is_named_too() {
        let taken = reserve(1, false, None, 3).expect("ports").servers[0].client;
        let _held = bind(taken).expect("held");
        let error = reserve(3, true, Some(taken - 10), 1).expect_err("it is taken");
        assert!(error.to_string().contains("as the "), "{error}");
        assert!(reserve(1, true, None, 4).expect("ports").links.is_empty(), "a single server has no peers");
    }

    #[test]
    fn links_lead_from_every_server_to_every_other_one() {
        assert_eq!(pairs(3), [(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)]);
    }

    #[test]
    fn ports_in_a_row_are_all_free() {
        let first = reserve_row(20, 3).expect("ports");
        assert!((first..first + 20).all(|port| check_free(port).is_ok()));
        let _held = bind(first + 10).expect("held");
        let other = reserve_row(20, 3).expect("ports");
        assert!((other..other + 20).all(|port| port != first + 10), "{other}");
    }

    #[test]
    fn candidates_cover_their_range_once() {
        let all: BTreeSet<u16> = candidates(&(100..150), 3).collect();
        assert_eq!(all, (100..150).collect());
        assert_eq!(candidates(&(100..150), 3).count(), 50);
        assert_eq!(candidates(&(100..100), 3).count(), 0);
    }
}
