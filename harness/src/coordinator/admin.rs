//! The coordinator's own ZooKeeper sessions, for work that is neither measured nor observed.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use zookeeper_client as zk;

use crate::access::Access;

/// Requested session timeout; the servers clamp it to their bounds.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);
/// Upper bound for a handful of writes.
const WRITES_AT_MOST: Duration = Duration::from_secs(20);

/// Opens a session on these servers, under one of the run's paths.
pub(super) async fn connect(access: &Access, servers: &[SocketAddr], path: &str) -> anyhow::Result<zk::Client> {
    let connected = access.connect(&access.connect_string(servers, path), TIMEOUT).await;
    connected.context("the ensemble gave the coordinator no session")
}

/// Makes this many acknowledged writes on these servers, one after the other.
pub(crate) async fn write(access: &Access, servers: &[SocketAddr], path: &str, count: u32) -> anyhow::Result<()> {
    let writes = async {
        let client = connect(access, servers, path).await?;
        for _ in 0..count {
            client.set_data("/", b"", None).await.context("a write was not acknowledged")?;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(WRITES_AT_MOST, writes).await.context("the servers took too long")?
}
