//! This machine's ports that an ensemble publishes, in a row: clients, Toxiproxy's API, links. They are fixed, so that
//! a restarted container keeps its ports.

use std::io;
use std::ops::Range;

use super::super::EnsembleError;
use super::super::local::{check_free, reserve_row};
use super::options::DockerOptions;

#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    first: u16,
    servers: u16,
    links: u16,
}

impl Ports {
    /// Ports that can be bound now; a different `attempt` searches elsewhere.
    pub(super) fn reserve(options: &DockerOptions, attempt: u32) -> Result<Self, EnsembleError> {
        let servers = options.servers.count.try_into().unwrap_or(u16::MAX);
        let mut ports = Self { first: 0, servers, links: options.link_ports };
        let Some(base) = options.base_port else {
            let found = reserve_row(ports.count(), attempt);
            ports.first = found.map_err(|source| EnsembleError::NoPorts { servers: options.servers.count, source })?;
            return Ok(ports);
        };
        ports.first = base;
        for offset in 0..ports.count() {
            let free = base.checked_add(offset).map(check_free);
            let free = free.unwrap_or_else(|| Err(io::Error::other("ports end at 65535")));
            free.map_err(|source| ports.taken(base.saturating_add(offset), source))?;
        }
        Ok(ports)
    }

    /// The client port of server `id`.
    pub(super) fn client(&self, id: u32) -> u16 {
        self.first + u16::try_from(id - 1).unwrap_or(u16::MAX)
    }

    pub(super) fn api(&self) -> u16 {
        self.first + self.servers
    }

    pub(super) fn links(&self) -> Range<u16> {
        self.api() + 1..self.api() + 1 + self.links
    }

    /// The error for one of these ports that another process has.
    pub(super) fn taken(&self, port: u16, source: io::Error) -> EnsembleError {
        match port.checked_sub(self.first) {
            Some(offset) if offset < self.servers => {
                EnsembleError::PortTaken { port, role: "client", server: u32::from(offset) + 1, source }
            }
            _ => EnsembleError::ToxiproxyPortTaken { port, source },
        }
    }

    /// The port that an engine error reports as taken.
    pub(super) fn named_as_taken(&self, why: &str) -> Option<u16> {
        let taken = why.contains("port is already allocated") || why.contains("address already in use");
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
        let named = why.split("127.0.0.1:").skip(1).filter_map(digits).find(|port| self.all().contains(port));
        taken.then(|| named.unwrap_or(self.first))
    }

    fn all(&self) -> Range<u16> {
        self.first..self.first.saturating_add(self.count())
    }

    fn count(&self) -> u16 {
        u16::try_from(count(self.servers.into(), self.links.into())).unwrap_or(u16::MAX)
    }
}

/// How many ports servers and links take. Without links there is no Toxiproxy.
pub(in crate::ensemble) fn count(servers: u32, links: u32) -> u32 {
    servers + if links == 0 { 0 } else { links + 1 }
}

#[cfg(test)]
mod tests {
    use super::Ports;
    use crate::ensemble::EnsembleError;

    #[test]
    fn a_port_that_the_engine_could_not_take_is_told_by_its_role() {
        let ports = Ports { first: 12_000, servers: 3, links: 6 };
        let named = |port| format!("driver failed: Bind for 127.0.0.1:{port} failed: port is already allocated");
        let error = |port| ports.taken(port, std::io::Error::other("taken"));
        assert_eq!(ports.named_as_taken(&named(12_001)), Some(12_001));
        assert_eq!(ports.named_as_taken("no such image"), None);
        assert!(matches!(error(12_001), EnsembleError::PortTaken { server: 2, role: "client", .. }));
        assert!(matches!(error(12_005), EnsembleError::ToxiproxyPortTaken { port: 12_005, .. }));
        assert_eq!((ports.api(), ports.links()), (12_003, 12_004..12_010));
    }
}
