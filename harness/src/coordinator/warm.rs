//! Warms the servers up before the first cell. A freshly started JVM replies several times slower than a minute later.
//! Without the warm-up, the recipe that runs first would be at a disadvantage.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use futures::future::join_all;
use hustings_record::numbers::nanos;
use hustings_workloads::coordination::{CreateMode, OpError, Session as _, Watch as _};

use crate::access::Access;
use crate::client::session::ZkSession;
use crate::client::take_over::take_over_and_close;
use crate::process::clock;

/// Sessions that load the servers; the client's own choice spreads them over the servers.
const SESSIONS: usize = 12;
const TIMEOUT: Duration = Duration::from_secs(20);

/// Loads the servers this long with the operations of elections, including sessions that begin and end. Creates the
/// znode `root` for that. Returns the number of rounds.
///
/// # Errors
/// The ensemble gives no session or refuses basic operations.
pub async fn up(access: &Access, servers: &[SocketAddr], root: &str, long: Duration) -> anyhow::Result<u64> {
    let cluster = access.connect_string(servers, "");
    let first = ZkSession::connect_as(access, &cluster, TIMEOUT).await?;
    first.create(root, &[], CreateMode::Persistent).await?;
    let until = clock::now() + nanos(long);
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

/// A session begins and ends, in order or `by_force` as a fault ends it, and its watched znode goes with it. Elections
/// of whole cells do this too rarely to warm that code.
async fn brief(access: &Access, cluster: &str, root: &str, watcher: &ZkSession, by_force: bool) -> anyhow::Result<()> {
    let session = ZkSession::connect_as(access, cluster, TIMEOUT).await?;
    let created = session.create(&format!("{root}/n_"), b"warm", CreateMode::EphemeralSequential).await?;
    // The watcher's server may not have applied the creation yet.
    watcher.sync(&created.path).await?;
    let (_, _, mut watch) = watcher.get_and_watch(&created.path).await?;
    // With SASL, both ends of a session that is taken over compete for it, and many at once do so for seconds.
    if by_force && access.sasl.is_none() {
        take_over_and_close(access, cluster, session.info(), TIMEOUT).await.map_err(anyhow::Error::msg)?;
    } else {
        session.close(TIMEOUT).await;
    }
    let fired = tokio::time::timeout(TIMEOUT, watch.fired()).await;
    fired.map(drop).context("a session ended, and nobody was told within its timeout that its ephemeral znode is gone")
}
