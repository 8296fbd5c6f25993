//! The ports of proxies: look-up and binding.

use std::io;
use std::net::SocketAddr;
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

/// The address that a proxy's `listen` names. A missing host means the loopback address.
pub(super) async fn look_up(listen: &str) -> Result<SocketAddr, ApiError> {
    let full = match listen {
        "" => "127.0.0.1:0".to_owned(),
        port if port.starts_with(':') => format!("127.0.0.1{port}"),
        other => other.to_owned(),
    };
    let looked_up = tokio::time::timeout(LOOK_UP_MAX, tokio::net::lookup_host(&full)).await;
    let address = match looked_up {
        Ok(Ok(mut addresses)) => addresses.next().ok_or_else(|| "the name has no address".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer to the look-up of {full}: give an address")),
    };
    address.map_err(|why| ApiError::listen(listen, why))
}
