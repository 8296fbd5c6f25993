//! The links, their proxies' names, the processes that serve them, and the descriptors that they need.

use std::net::SocketAddr;

use super::error::LinkError;

/// Descriptors of a proxy process that belong to no connection: standard streams, runtime, API, listening ports.
const OVERHEAD: u64 = 128;

/// Descriptors that a proxy process needs for this many connections: two each, plus a fixed overhead.
#[must_use]
pub fn descriptors_needed(connections: u64) -> u64 {
    connections.saturating_mul(2).saturating_add(OVERHEAD)
}

/// Number of proxy processes that `hosts` hosts with `connections` connections each need under a descriptor limit.
/// Counts every connection twice: while a partition heals, old and new connections coexist.
///
/// # Errors
/// A single host does not fit.
pub fn processes_needed(hosts: usize, connections: u64, limit: u64) -> Result<usize, LinkError> {
    let needed = |hosts: u64| descriptors_needed(connections.saturating_mul(2).saturating_mul(hosts));
    if needed(1) > limit {
        return Err(LinkError::Descriptors { connections, needed: needed(1), limit });
    }
    let room = limit.saturating_sub(OVERHEAD);
    let per_process = room.checked_div(needed(1) - OVERHEAD).unwrap_or(u64::MAX).max(1);
    Ok(hosts.div_ceil(usize::try_from(per_process).unwrap_or(usize::MAX)).max(1))
}

/// One host ↔ server link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Index of the proxy process that serves it.
    pub(super) api: usize,
    /// The proxy's name in that process.
    pub(super) name: String,
    /// Address that the host connects to.
    pub(super) endpoint: SocketAddr,
    /// The host, and the server's id.
    pub(super) ends: (u16, u32),
}

/// The links of all hosts, by host number.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) hosts: Vec<Vec<Link>>,
    /// Addresses at which this process reaches the servers past all links, by server id.
    pub(super) direct: Vec<SocketAddr>,
}

/// Contains no user strings, because it is part of URLs. Server numbers start at 1, like ZooKeeper's ids.
pub(super) fn name(prefix: &str, host: usize, server: usize) -> String {
    format!("{prefix}h{host:03}-s{}", server + 1)
}

/// All links of a host are in one process.
pub(super) fn process_of(host: usize, processes: usize) -> usize {
    host % processes.max(1)
}

impl Layout {
    pub(super) fn of(&self, host: u16) -> Result<&[Link], LinkError> {
        self.hosts
            .get(usize::from(host))
            .map(Vec::as_slice)
            .ok_or(LinkError::NoSuchHost { host, hosts: self.hosts.len() })
    }

    /// Address of the server at the end of this link, past the link.
    pub(super) fn past(&self, link: &Link) -> Option<SocketAddr> {
        self.direct.get(link.ends.1.checked_sub(1)? as usize).copied()
    }

    /// The links of these hosts, each once.
    pub(super) fn links(&self, hosts: &[u16]) -> Result<Vec<Link>, LinkError> {
        let mut hosts = hosts.to_vec();
        hosts.sort_unstable();
        hosts.dedup();
        let links: Result<Vec<_>, _> = hosts.iter().map(|host| self.of(*host)).collect();
        Ok(links?.concat())
    }

    /// The links between these hosts and the servers with these ids. No ids: all servers.
    pub(super) fn links_to(&self, hosts: &[u16], servers: &[u32]) -> Result<Vec<Link>, LinkError> {
        let mut links = self.links(hosts)?;
        links.retain(|link| servers.is_empty() || servers.contains(&link.ends.1));
        Ok(links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_descriptors_a_connection_and_some_overhead() {
        assert_eq!(descriptors_needed(5_000) - descriptors_needed(0), 10_000);
        assert!(descriptors_needed(0) > 0);
    }

    #[test]
    fn hosts_are_split_so_that_every_process_fits_its_limit() {
        for (hosts, connections, limit) in [(5, 1_000, 20_000), (5, 1_000, 5_000), (50, 100, 1_024), (3, 0, 256)] {
            let processes = processes_needed(hosts, connections, limit).unwrap();
            let fullest = hosts.div_ceil(processes) as u64;
            assert!(descriptors_needed(2 * connections * fullest) <= limit, "{hosts} {connections} {limit}");
        }
        assert_eq!(processes_needed(5, 1_000, u64::MAX).unwrap(), 1);
    }

    #[test]
    fn a_host_that_does_not_fit_is_refused_with_the_arithmetic() {
        let text = processes_needed(1, 1_000, 1_024).unwrap_err().to_string();
        assert!(text.contains("1000 connections") && text.contains("4128") && text.contains("1024"), "{text}");
    }

    #[test]
    fn all_links_of_a_host_are_named_by_number() {
        assert_eq!(name("mine-", 3, 0), "mine-h003-s1");
        assert_eq!(process_of(5, 2), 1);
    }
}
