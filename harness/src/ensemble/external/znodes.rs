//! Removes all znodes of one run from an ensemble, of any number and depth, and no others.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use zookeeper_client as zk;

use super::entry::remedy;
use crate::access::Access;

/// Concurrent requests: enough to be quick, few enough not to fill a server's queue.
const AT_ONCE: usize = 64;
/// A host that is still ending may create one more znode meanwhile.
const TRIES: u32 = 5;
const AGAIN: Duration = Duration::from_millis(200);
const SESSION_TIMEOUT: Duration = Duration::from_secs(20);
/// Tens of thousands of znodes take a fraction of this.
const WITHIN: Duration = Duration::from_secs(120);

/// The common prefix of a run's znodes directly below its root.
#[must_use]
pub fn prefix(run_id: &str) -> String {
    format!("/hustings-{run_id}-")
}

/// Removes every znode directly below the access's root that begins with `prefix`, with its whole subtree. `cluster`: a
/// connect string. Returns the number of removed znodes.
///
/// # Errors
/// Why some are left.
pub(super) async fn remove(access: &Access, cluster: &str, prefix: &str) -> Result<u64, String> {
    let told = |error: zk::Error| match error {
        zk::Error::NoAuth => format!("{error}; {}", remedy(access)),
        error => error.to_string(),
    };
    let all = async {
        let connected = access.connect(cluster, SESSION_TIMEOUT).await;
        let client = connected.map_err(|e| format!("no server gives a session: {e}"))?;
        let mut removed = 0;
        for _ in 0..TRIES {
            let roots = roots(&client, prefix).await.map_err(told)?;
            if roots.is_empty() {
                return Ok(removed);
            }
            removed += remove_trees(&client, roots).await.map_err(told)?;
            tokio::time::sleep(AGAIN).await;
        }
        let left = roots(&client, prefix).await.map_err(told)?;
        if left.is_empty() { Ok(removed) } else { Err(format!("somebody creates znodes below {}", left.join(", "))) }
    };
    tokio::time::timeout(WITHIN, all).await.unwrap_or_else(|_| Err(format!("not done within {} s", WITHIN.as_secs())))
}

async fn roots(client: &zk::Client, prefix: &str) -> Result<Vec<String>, zk::Error> {
    // The read must include the run's writes through other servers.
    client.sync("/").await?;
    let names = client.list_children("/").await?.into_iter().map(|name| format!("/{name}"));
    Ok(names.filter(|path| path.starts_with(prefix)).collect())
}

/// Deletes level by level. Znodes with children are listed, and deleted after their children, deepest first.
async fn remove_trees(client: &zk::Client, roots: Vec<String>) -> Result<u64, zk::Error> {
    let (mut removed, mut parents, mut level) = (0, Vec::new(), roots);
    while !level.is_empty() {
        let (gone, full) = delete(client, level).await?;
        removed += gone;
        level = children(client, &full).await?;
        parents.push(full);
    }
    for level in parents.into_iter().rev() {
        removed += delete(client, level).await?.0;
    }
    Ok(removed)
}

/// The number of deleted znodes, and the paths that have children.
async fn delete(client: &zk::Client, paths: Vec<String>) -> Result<(u64, Vec<String>), zk::Error> {
    let deletions = stream::iter(paths).map(|path| async move {
        match client.delete(&path, None).await {
            Ok(()) => Ok((1, None)),
            Err(zk::Error::NoNode) => Ok((0, None)),
            Err(zk::Error::NotEmpty) => Ok((0, Some(path))),
            Err(error) => Err(error),
        }
    });
    let done: Vec<(u64, Option<String>)> = deletions.buffer_unordered(AT_ONCE).try_collect().await?;
    let gone = done.iter().map(|(gone, _)| gone).sum();
    Ok((gone, done.into_iter().filter_map(|(_, full)| full).collect()))
}

async fn children(client: &zk::Client, parents: &[String]) -> Result<Vec<String>, zk::Error> {
    let listings = stream::iter(parents).map(|parent| async move {
        match client.list_children(parent).await {
            Ok(names) => Ok(names.into_iter().map(|name| format!("{parent}/{name}")).collect()),
            Err(zk::Error::NoNode) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    });
    let lists: Vec<Vec<String>> = listings.buffer_unordered(AT_ONCE).try_collect().await?;
    Ok(lists.concat())
}
