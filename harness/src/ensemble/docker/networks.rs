//! The networks of an ensemble: one for clients and Toxiproxy, and one for each pair of servers, for that pair only.
//!
//! So any set of servers can be cut off by removing servers from networks, while its members still reach each other.
//! Addresses on these networks are fixed and listed in the containers' hosts files. A server that comes back keeps its
//! address, and no name lookup is needed during a cut. The networks are internal, so there is no route around a cut.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use bollard::models::{
    EndpointIpamConfig, EndpointSettings, Ipam, IpamConfig, NetworkConnectRequest, NetworkCreateRequest,
    NetworkDisconnectRequest,
};

use super::super::EnsembleError;
use super::engine::Engine;

/// Prefix length of a pair's network, and the number of its addresses.
const PAIR_BITS: u32 = 29;
const PAIR_ADDRESSES: u32 = 1 << (32 - PAIR_BITS);
/// Another run may take a free range between the engine's choice and its use.
const ATTEMPTS_MAX: u32 = 5;

/// Two servers, the lower one first.
pub(super) type ServerPair = (u32, u32);

/// All pairs of `servers` servers.
pub(super) fn pairs(servers: u32) -> Vec<ServerPair> {
    (1..=servers).flat_map(|low| (low + 1..=servers).map(move |high| (low, high))).collect()
}

#[derive(Debug)]
pub(super) struct Networks {
    ensemble: String,
    servers: u32,
    labels: HashMap<String, String>,
    /// The first address of the pairs' networks, which are adjacent.
    base: Ipv4Addr,
}

impl Networks {
    /// Creates all networks of an ensemble. Networks made before an error are found by their labels.
    pub(super) async fn create(
        engine: &Engine,
        ensemble: &str,
        servers: u32,
        labels: &HashMap<String, String>,
    ) -> Result<Self, EnsembleError> {
        let mut networks =
            Self { ensemble: ensemble.to_owned(), servers, labels: labels.clone(), base: Ipv4Addr::UNSPECIFIED };
        networks.make(engine, networks.clients(), None).await?;
        for attempt in 1.. {
            networks.base = networks.free_range(engine).await?;
            let made = pairs(servers)
                .into_iter()
                .map(|pair| networks.make(engine, networks.of(pair), Some(networks.subnet(pair))));
            let made: Result<Vec<()>, _> = futures::future::join_all(made).await.into_iter().collect();
            match made {
                Err(EnsembleError::NoNetwork { why }) if why.contains("overlaps") && attempt < ATTEMPTS_MAX => {
                    tracing::info!(why, "another network took the range: trying another");
                    networks.remove_pairs(engine).await;
                }
                made => {
                    made?;
                    break;
                }
            }
        }
        Ok(networks)
    }

    /// The name of the network over which clients and Toxiproxy reach servers.
    pub(super) fn clients(&self) -> String {
        format!("{}-clients", self.ensemble)
    }

    /// The name of a pair's network.
    pub(super) fn of(&self, (low, high): ServerPair) -> String {
        format!("{}-quorum-{low}-{high}", self.ensemble)
    }

    /// The address of `peer` for `server`. A server's own address is unspecified: servers tell each other their own
    /// one, and no single address would suit all peers. Peers ignore this one and use their configured addresses.
    pub(super) fn address(&self, server: u32, peer: u32) -> Ipv4Addr {
        if server == peer { Ipv4Addr::UNSPECIFIED } else { self.on(pair(server, peer), peer) }
    }

    /// Connects a container of `server` to a pair's network.
    pub(super) async fn connect(
        &self,
        engine: &Engine,
        pair: ServerPair,
        server: u32,
        container: &str,
    ) -> Result<(), EnsembleError> {
        let address =
            EndpointIpamConfig { ipv4_address: Some(self.on(pair, server).to_string()), ..Default::default() };
        let endpoint = EndpointSettings { ipam_config: Some(address), ..Default::default() };
        let request = NetworkConnectRequest { container: container.to_owned(), endpoint_config: Some(endpoint) };
        let network = self.of(pair);
        engine.call(format!("put {container} on {network}"), engine.docker.connect_network(&network, request)).await
    }

    /// Disconnects a container from a pair's network.
    pub(super) async fn disconnect(
        &self,
        engine: &Engine,
        pair: ServerPair,
        container: &str,
    ) -> Result<(), EnsembleError> {
        let request = NetworkDisconnectRequest { container: container.to_owned(), force: Some(false) };
        let network = self.of(pair);
        engine
            .call(format!("take {container} off {network}"), engine.docker.disconnect_network(&network, request))
            .await
    }

    async fn make(&self, engine: &Engine, name: String, subnet: Option<String>) -> Result<(), EnsembleError> {
        let internal = subnet.is_some();
        let config = vec![IpamConfig { subnet, ..Default::default() }];
        let request = NetworkCreateRequest {
            name: name.clone(),
            driver: Some("bridge".to_owned()),
            internal: Some(internal),
            ipam: internal.then(|| Ipam { config: Some(config), ..Default::default() }),
            labels: Some(self.labels.clone()),
            ..Default::default()
        };
        let made = engine.call(format!("make the network {name}"), engine.docker.create_network(request)).await;
        made.map(|_| ()).map_err(|error| match error {
            EnsembleError::Engine { why, .. } if why.contains("overlap") => EnsembleError::NoNetwork { why },
            error => error,
        })
    }

    /// A range that the engine considers free, found by creating a network and removing it: fixed addresses need a
    /// range chosen by the caller.
    async fn free_range(&self, engine: &Engine) -> Result<Ipv4Addr, EnsembleError> {
        if self.servers == 1 {
            return Ok(Ipv4Addr::UNSPECIFIED);
        }
        let name = format!("{}-probe", self.ensemble);
        self.make(engine, name.clone(), None).await?;
        let found = engine.call(format!("inspect {name}"), engine.docker.inspect_network(&name, None)).await;
        engine.call(format!("remove the network {name}"), engine.docker.remove_network(&name)).await?;
        let ranges = found?.ipam.and_then(|ipam| ipam.config).unwrap_or_default();
        let needed = u32::try_from(pairs(self.servers).len()).unwrap_or(u32::MAX) * PAIR_ADDRESSES;
        let ranges: Vec<String> = ranges.into_iter().filter_map(|range| range.subnet).collect();
        let fit = |range: &String| {
            let (address, bits) = range.split_once('/')?;
            let size = 1_u32.checked_shl(32_u32.checked_sub(bits.parse().ok()?)?).unwrap_or(u32::MAX);
            (size >= needed).then(|| address.parse().ok()).flatten()
        };
        ranges.iter().find_map(fit).ok_or_else(|| EnsembleError::NoNetwork {
            why: format!(
                "{} servers need a range of {needed} addresses, and it gives {}",
                self.servers,
                ranges.join(", ")
            ),
        })
    }

    async fn remove_pairs(&self, engine: &Engine) {
        let removed = pairs(self.servers).into_iter().map(|pair| {
            let name = self.of(pair);
            // Some of them may not exist.
            async move { drop(engine.docker.remove_network(&name).await) }
        });
        futures::future::join_all(removed).await;
    }

    fn subnet(&self, pair: ServerPair) -> String {
        format!("{}/{PAIR_BITS}", self.first(pair))
    }

    /// The first address is the network's own, the second the engine's bridge.
    fn on(&self, pair: ServerPair, server: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first(pair).to_bits().wrapping_add(if server == pair.0 { 2 } else { 3 }))
    }

    fn first(&self, pair: ServerPair) -> Ipv4Addr {
        let index = pairs(self.servers).iter().position(|p| *p == pair).unwrap_or_default();
        let offset = u32::try_from(index).unwrap_or_default().wrapping_mul(PAIR_ADDRESSES);
        Ipv4Addr::from_bits(self.base.to_bits().wrapping_add(offset))
    }
}

/// The pair of two different servers.
fn pair(one: u32, other: u32) -> ServerPair {
    (one.min(other), one.max(other))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};
    use std::net::Ipv4Addr;

    use super::{Networks, pairs};

    #[test]
    fn every_server_has_an_address_of_its_own_on_the_network_of_each_pair() {
        let base = Ipv4Addr::new(172, 20, 0, 0);
        let networks = Networks { ensemble: "e".to_owned(), servers: 5, labels: HashMap::new(), base };
        let ways = || (1..=5).flat_map(|server| (1..=5).map(move |peer| (server, peer)));
        let all: BTreeSet<_> = ways().filter(|(a, b)| a != b).map(|(a, b)| networks.address(a, b)).collect();
        assert_eq!(all.len(), 20);
        assert_eq!(networks.address(2, 2), Ipv4Addr::UNSPECIFIED);
        assert_eq!(networks.subnet((4, 5)), "172.20.0.72/29");
        assert_eq!(networks.address(4, 5), Ipv4Addr::new(172, 20, 0, 75));
        assert_eq!((pairs(3), pairs(1)), (vec![(1, 2), (1, 3), (2, 3)], vec![]));
    }
}
