//! The ports of proxies: look-up and binding.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::closed_port;
use super::error::ApiError;

/// A DNS query can take any time. The request that needs its answer does not wait longer than this.
const LOOK_UP_MAX: Duration = Duration::from_secs(1);

/// A bound port. It stays bound as long as a copy of this exists.
#[derive(Clone)]
pub(super) struct BoundPort {
    pub(super) listener: Arc<TcpListener>,
    pub(super) address: SocketAddr,
}

impl BoundPort {
    pub(super) fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = closed_port::listen(address)?;
        let address = listener.local_addr()?;
        Ok(Self { listener: Arc::new(listener), address })
    }
}

/// A proxy's `listen` with its host and port. A missing host means the loopback address.
fn with_host(listen: &str) -> String {
    match listen {
        "" => "127.0.0.1:0".to_owned(),
        port if port.starts_with(':') => format!("127.0.0.1{port}"),
        other => other.to_owned(),
    }
}

/// The address that a proxy's `listen` names.
pub(super) async fn look_up(listen: &str) -> Result<SocketAddr, ApiError> {
    let full = with_host(listen);
    let looked_up = tokio::time::timeout(LOOK_UP_MAX, tokio::net::lookup_host(&full)).await;
    let address = match looked_up {
        Ok(Ok(mut addresses)) => addresses.next().ok_or_else(|| "the name has no address".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer to the look-up of {full}: give an address")),
    };
    address.map_err(|why| ApiError::listen(listen, why))
}

/// Refuses a proxy whose upstream is the address that it listens on: it would connect to itself without end. Looks no
/// name up. No address: the proxy is disabled, and its `listen` is compared.
pub(super) fn refuse_own_upstream(
    name: &str,
    listen: &str,
    address: Option<SocketAddr>,
    upstream: &str,
) -> Result<(), ApiError> {
    let own = address.map_or_else(|| known_addresses(&with_host(listen)), |address| vec![address]);
    let targets = known_addresses(upstream);
    match own.into_iter().find(|own| targets.iter().any(|target| leads_to(*own, *target))) {
        Some(own) => Err(ApiError::own_upstream(name, own, upstream)),
        None => Ok(()),
    }
}

/// The addresses that this names without a look-up. Empty: another name.
fn known_addresses(full: &str) -> Vec<SocketAddr> {
    if let Ok(address) = full.parse::<SocketAddr>() {
        return vec![address];
    }
    let port = full.rsplit_once(':').filter(|(host, _)| host.eq_ignore_ascii_case("localhost"));
    let Some(Ok(port)) = port.map(|(_, port)| port.parse::<u16>()) else { return Vec::new() };
    vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
}

/// Whether a connection to `target` reaches the port that is bound at `bound`. A connection to no specified address
/// goes to the loopback address. A port at no specified address takes those to all loopback addresses.
pub(super) fn leads_to(bound: SocketAddr, target: SocketAddr) -> bool {
    let here = bound.ip().to_canonical();
    let there = match target.ip().to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        specified => specified,
    };
    let is_taken_by_all = here.is_unspecified() && there.is_loopback() && (here.is_ipv6() || there.is_ipv4());
    bound.port() != 0 && bound.port() == target.port() && (here == there || is_taken_by_all)
}
