//! The coordinator's own sessions to ZooKeeper, for what is neither measured nor observed.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use zookeeper_client as zk;

/// Of the sessions; clamped by the servers if need be.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a handful of writes may take.
const WRITES_AT_MOST: Duration = Duration::from_secs(20);

/// A session on these servers, under a path.
pub(super) async fn connect(servers: &[SocketAddr], chroot: &str) -> anyhow::Result<zk::Client> {
    let cluster = connect_string(servers, chroot);
    let connecting = zk::Client::connector().with_session_timeout(TIMEOUT).connect(&cluster);
    connecting.await.context("the ensemble gave the coordinator no session")
}

/// Makes so many acknowledged writes on these servers, one after the other.
pub(crate) async fn write(servers: &[SocketAddr], chroot: &str, count: u32) -> anyhow::Result<()> {
    let writes = async {
        let client = connect(servers, chroot).await?;
        for _ in 0..count {
            client.set_data("/", b"", None).await.context("a write was not acknowledged")?;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(WRITES_AT_MOST, writes).await.context("the servers took too long")?
}

/// `host:port,host:port/chroot`.
pub(super) fn connect_string(servers: &[SocketAddr], chroot: &str) -> String {
    let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
    format!("{}{chroot}", servers.join(","))
}
