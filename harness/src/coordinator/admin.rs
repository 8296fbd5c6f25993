//! The coordinator's own sessions to ZooKeeper, for what is neither measured nor observed.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use zookeeper_client as zk;

use crate::access::Access;

/// Of the sessions; clamped by the servers if need be.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a handful of writes may take.
const WRITES_AT_MOST: Duration = Duration::from_secs(20);

/// A session on these servers, under a path of the run's.
pub(super) async fn connect(access: &Access, servers: &[SocketAddr], path: &str) -> anyhow::Result<zk::Client> {
    let connected = access.connect(&access.connect_string(servers, path), TIMEOUT).await;
    connected.context("the ensemble gave the coordinator no session")
}

/// Makes so many acknowledged writes on these servers, one after the other.
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
