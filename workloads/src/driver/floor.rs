//! The floor: what delete → notified → listed takes over the links without any election around it. As in a failover, one
//! host deletes and another one is told: to hear of what one's own process did would be faster than any successor can be.

use std::time::Duration;

use hustings_record::{Event, Nanos};
use serde::{Deserialize, Serialize};

use super::sessions::Process;
use super::unless::unless;
use crate::coordination::{CreateMode, OpError, Refusal, Session, Watch as _, WatchEvent};

/// From hearing of a new znode to deleting it: by then its watcher has armed its watch, and samples are not one burst.
const BETWEEN: Duration = Duration::from_millis(5);
const SAMPLE_AT_MOST: Duration = Duration::from_secs(5);

/// Which part of the samples a host takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FloorPart {
    Delete,
    Watch,
}

/// What a host stamps of one sample: when the deletion was sent (twice), or when it was notified and when the list was read. A
/// sample that came to nothing is (0, 0).
pub type FloorStamps = Vec<(Nanos, Nanos)>;

/// Does one part of `samples` samples under a session of this process. `listed` is the path of the list that is read.
///
/// # Errors
/// A sentence on why the floor cannot be measured.
pub async fn take_floor<P: Process>(
    process: &P,
    session: &P::Session,
    part: FloorPart,
    samples: u32,
    listed: &str,
) -> Result<FloorStamps, String> {
    let mut stamps = Vec::new();
    for sample in 0..samples {
        let path = format!("/floor-{sample}");
        let one = async {
            match part {
                FloorPart::Delete => delete(process, session, &path).await,
                FloorPart::Watch => watch(process, session, &path, listed).await,
            }
        };
        let until = process.now() + SAMPLE_AT_MOST.as_nanos() as Nanos;
        let stamp = unless(process.sleep_until(until), one).await;
        let late = || format!("sample {sample} took longer than {SAMPLE_AT_MOST:?}");
        stamps.push(stamp.ok_or_else(late)?.map_err(|error| error.to_string())?);
    }
    Ok(stamps)
}

/// The samples of both parts, as the record has them.
pub fn floor_samples(deleted: FloorStamps, heard: FloorStamps) -> impl Iterator<Item = Event> {
    deleted.into_iter().zip(heard).filter_map(|((deleted, _), (notified, listed))| {
        (deleted > 0 && notified >= deleted && listed >= notified).then_some(Event::Floor { deleted, notified, listed })
    })
}

async fn delete<P: Process>(process: &P, session: &P::Session, path: &str) -> Result<(Nanos, Nanos), OpError> {
    let (mut found, mut watch) = session.exists_and_watch(path).await?;
    while found.is_none() {
        watch.fired().await;
        (found, watch) = session.exists_and_watch(path).await?;
    }
    // Disarmed before the deletion, so that only the other host is told of it.
    drop(watch);
    process.sleep_until(process.now() + BETWEEN.as_nanos() as Nanos).await;
    let deleted = process.now();
    session.delete(path, None).await?;
    Ok((deleted, deleted))
}

async fn watch<P: Process>(
    process: &P,
    session: &P::Session,
    path: &str,
    listed: &str,
) -> Result<(Nanos, Nanos), OpError> {
    session.create(path, &[], CreateMode::Ephemeral).await?;
    let mut watch = match session.get_and_watch(path).await {
        Ok((_, _, watch)) => watch,
        // Deleted before the watch was armed: this machine is too busy for this sample.
        Err(OpError::Refused(Refusal::NoNode)) => return Ok((0, 0)),
        Err(error) => return Err(error),
    };
    let event = watch.fired().await;
    let notified = process.now();
    if event != WatchEvent::Deleted {
        return Ok((0, 0));
    }
    session.children(listed).await?;
    Ok((notified, process.now()))
}
