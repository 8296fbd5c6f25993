//! Warms the servers up before the first cell. A JVM that has just started answers several times slower than the same one a
//! minute later, and whichever recipe comes first would pay for it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use futures::future::join_all;
use hustings_workloads::coordination::{CreateMode, OpError, Session as _, Watch as _};

use crate::access::Access;
use crate::client::session::ZkSession;
use crate::client::take_over::take_over_and_close;
use crate::process::clock;

/// Sessions that keep them busy, spread over the servers by the client's own choice.
const SESSIONS: usize = 12;
const TIMEOUT: Duration = Duration::from_secs(20);

/// Keeps the servers busy so long with what elections consist of, sessions that begin and end among it, below the znode `root`,
/// which is made for it. Gives the rounds that were made.
///
/// # Errors
/// When the ensemble gives no session or refuses the simplest things.
pub async fn up(access: &Access, servers: &[SocketAddr], root: &str, long: Duration) -> anyhow::Result<u64> {
    let cluster = access.connect_string(servers, "");
    let first = ZkSession::connect_as(access, &cluster, TIMEOUT).await?;
    first.create(root, &[], CreateMode::Persistent).await?;
    let until = clock::now() + long.as_nanos() as u64;
    let rounds = join_all((0..SESSIONS).map(|_| busy(access, &cluster, root, until))).await;
    first.delete(root, None).await?;
    first.close(TIMEOUT).await;
    let mut sum = 0;
    for round in rounds {
        sum += round?;
    }
    Ok(sum)
}

async fn busy(access: &Access, cluster: &str, root: &str, until: u64) -> anyhow::Result<u64> {
    let session = ZkSession::connect_as(access, cluster, TIMEOUT).await?;
    let mut rounds = 0;
    while clock::now() < until {
        round(&session, root).await?;
        brief(access, cluster, root, &session, rounds % 2 == 1).await?;
        rounds += 1;
    }
    session.close(TIMEOUT).await;
    Ok(rounds)
}

async fn round(session: &ZkSession, root: &str) -> Result<(), OpError> {
    let created = session.create(&format!("{root}/n_"), b"warm", CreateMode::EphemeralSequential).await?;
    let (_, _, mut watch) = session.get_and_watch(&created.path).await?;
    session.children(root).await?;
    session.exists(&created.path).await?;
    session.delete(&created.path, None).await?;
    watch.fired().await;
    Ok(())
}

/// A session begins and ends, in order or `by_force` as a fault ends it, and its watched znode goes with it: what runs so seldom
/// that the elections of whole cells leave it cold.
async fn brief(access: &Access, cluster: &str, root: &str, watcher: &ZkSession, by_force: bool) -> anyhow::Result<()> {
    let session = ZkSession::connect_as(access, cluster, TIMEOUT).await?;
    let created = session.create(&format!("{root}/n_"), b"warm", CreateMode::EphemeralSequential).await?;
    // Its server may not have heard of it yet.
    watcher.sync(&created.path).await?;
    let (_, _, mut watch) = watcher.get_and_watch(&created.path).await?;
    // Where SASL is asked for, both ends of a session that is taken over fight for it, and many at once for seconds.
    if by_force && access.sasl.is_none() {
        take_over_and_close(access, cluster, session.info(), TIMEOUT).await.map_err(anyhow::Error::msg)?;
    } else {
        session.close(TIMEOUT).await;
    }
    let fired = tokio::time::timeout(TIMEOUT, watch.fired()).await;
    fired.map(drop).context("a session ended, and nobody was told within its timeout that its ephemeral znode is gone")
}
