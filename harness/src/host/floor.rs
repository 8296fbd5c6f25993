//! The floor: what delete → notified → listed takes over the links without any election around it. As in a failover, one
//! host deletes and another one is told: to hear of what one's own process did would be faster than any successor can be.

use std::time::Duration;

use hustings_workloads::coordination::{CreateMode, OpError, Refusal, Session as _, Watch as _, WatchEvent};

use crate::clock;
use crate::protocol::{FloorPart, HostSetUp};
use crate::session::ZkSession;

/// From hearing of a new znode to deleting it: by then its watcher has armed its watch, and samples are not one burst.
const BETWEEN: Duration = Duration::from_millis(5);
const SAMPLE_AT_MOST: Duration = Duration::from_secs(5);
const CLOSE_AT_MOST: Duration = Duration::from_secs(2);

/// Does one part of `samples` samples. Stamps, by sample: the deleting host tells when each deletion was sent (twice), the
/// watching host when it was notified and when the list was read. A sample that came to nothing is (0, 0).
pub(super) async fn measure(set_up: &HostSetUp, part: FloorPart, samples: u32) -> Result<Vec<(u64, u64)>, String> {
    let timeout = Duration::from_millis(set_up.timeout_ms);
    let session = ZkSession::connect(&set_up.cluster, timeout).await.map_err(|e| e.to_string())?;
    let listed = set_up.candidates.first().map_or("/", |(_, _, path)| path.as_str());
    let mut stamps = Vec::new();
    for sample in 0..samples {
        let path = format!("/floor-{sample}");
        let one = async {
            match part {
                FloorPart::Delete => delete(&session, &path).await,
                FloorPart::Watch => watch(&session, &path, listed).await,
            }
        };
        let stamp = tokio::time::timeout(SAMPLE_AT_MOST, one).await;
        stamps.push(stamp.map_err(|_| format!("sample {sample} took longer than 5 s"))?.map_err(|e| e.to_string())?);
    }
    session.close(CLOSE_AT_MOST).await;
    Ok(stamps)
}

async fn delete(session: &ZkSession, path: &str) -> Result<(u64, u64), OpError> {
    let (mut found, mut watch) = session.exists_and_watch(path).await?;
    while found.is_none() {
        watch.fired().await;
        (found, watch) = session.exists_and_watch(path).await?;
    }
    // Disarmed before the deletion, so that only the other host is told of it.
    drop(watch);
    tokio::time::sleep(BETWEEN).await;
    let deleted = clock::now();
    session.delete(path, None).await?;
    Ok((deleted, deleted))
}

async fn watch(session: &ZkSession, path: &str, listed: &str) -> Result<(u64, u64), OpError> {
    session.create(path, &[], CreateMode::Ephemeral).await?;
    let mut watch = match session.get_and_watch(path).await {
        Ok((_, _, watch)) => watch,
        // Deleted before the watch was armed: this machine is too busy for this sample.
        Err(OpError::Refused(Refusal::NoNode)) => return Ok((0, 0)),
        Err(error) => return Err(error),
    };
    let event = watch.fired().await;
    let notified = clock::now();
    if event != WatchEvent::Deleted {
        return Ok((0, 0));
    }
    session.children(listed).await?;
    Ok((notified, clock::now()))
}
