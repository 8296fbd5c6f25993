//! The floor: how long delete → notified → listed takes over the links without an election. As in a failover, one host
//! deletes and another is notified. An event from the own process would arrive faster than at any successor.
//! As in failovers, the two sessions vary: many pairs take samples, on all hosts in turn, each over the servers that
//! its sessions happen to choose.

use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{Event, Nanos};

use super::backend::Backend;
use super::cancellation::run_until_cancelled;
use super::floor_pair::{FloorPair, FloorPart, FloorStamp, FloorStamps};
use super::sessions::Process;
use crate::coordination::{CreateMode, OpError, Refusal, Session, Watch as _, WatchEvent};

/// From the notification of a new znode to its deletion: by then the watch is armed, and samples are not one burst.
const BETWEEN: Duration = Duration::from_millis(5);
const SAMPLE_AT_MOST: Duration = Duration::from_secs(5);
/// Samples that one pair of sessions takes.
const OF_A_PAIR: u32 = 3;
/// No pair begins later than this after the first.
const PAIRS_AT_MOST: Duration = Duration::from_secs(30);

/// Makes pairs of hosts take this many samples in all, and records them, including failed ones.
pub(super) async fn measure<B: Backend>(backend: &B, samples: u32) {
    let until = backend.now() + nanos(PAIRS_AT_MOST);
    for pair in 0..samples.div_ceil(OF_A_PAIR) {
        let one = FloorPair { pair, samples: OF_A_PAIR.min(samples - pair * OF_A_PAIR) };
        let ends = ends(&backend.running(), pair).filter(|_| backend.now() < until);
        let (deleted, heard) = match ends {
            Some((watches, deletes)) => backend.take_floor(one, watches, deletes).await,
            None => (Err("no time was left, or nobody to take it".to_owned()), Err(String::new())),
        };
        floor_events(one, backend.now(), deleted, heard).into_iter().for_each(|event| backend.record(event));
    }
}

/// The watching and the deleting host of a pair. Every host watches in turn, each time with another deleter as long as
/// there is one. A single host does both.
fn ends(hosts: &[u16], pair: u32) -> Option<(u16, u16)> {
    let (count, pair) = (hosts.len(), pair as usize);
    let watches = pair.checked_rem(count)?;
    let apart = 1 + (pair / count) % count.saturating_sub(1).max(1);
    Some((hosts[watches], hosts[(watches + apart) % count]))
}

/// Takes one part of a pair's samples under a session of this process. `listed` is the path of the list that is read.
/// It stops after a failed sample: the two hosts could disagree on which sample is next.
pub async fn take_floor<P: Process>(
    process: &P,
    session: &P::Session,
    part: FloorPart,
    one: FloorPair,
    listed: &str,
) -> Vec<FloorStamp> {
    let mut stamps = Vec::new();
    for sample in 0..one.samples {
        let path = format!("/floor-{}-{sample}", one.pair);
        let work = async {
            match part {
                FloorPart::Delete => delete(process, session, &path).await,
                FloorPart::Watch => watch(process, session, &path, listed).await,
            }
        };
        let until = process.now() + nanos(SAMPLE_AT_MOST);
        let done = run_until_cancelled(process.sleep_until(until), work).await;
        let stamp = match done {
            Some(Ok(stamp)) => stamp,
            Some(Err(error)) => Err((process.now(), error.to_string())),
            None => Err((process.now(), format!("it took longer than {SAMPLE_AT_MOST:?}"))),
        };
        let failed = stamp.is_err();
        stamps.push(stamp);
        if failed {
            break;
        }
    }
    stamps
}

/// The samples of both parts of a pair, as record events; `now`: both parts are over.
fn floor_events(one: FloorPair, now: Nanos, deleted: FloorStamps, heard: FloorStamps) -> Vec<Event> {
    let nothing = || Err((now, "one before it came to nothing".to_owned()));
    let of = |taken: FloorStamps| match taken {
        Ok((session, stamps)) => (Some(session), stamps),
        Err(why) => (None, vec![Err((now, why))]),
    };
    let ((deleter, deleted), (watcher, heard)) = (of(deleted), of(heard));
    let sessions = deleter.zip(watcher);
    let sample = |n: u32| {
        let at = |stamps: &[FloorStamp]| stamps.get(n as usize).cloned().unwrap_or_else(nothing);
        match (at(&deleted), at(&heard)) {
            (Ok((deleted, _)), Ok((notified, listed))) if deleted <= notified && notified <= listed => {
                Event::Floor { deleted, notified, listed, sessions }
            }
            (Ok((deleted, _)), Ok((t, _))) => {
                let why = "it was heard of before it was sent: the parts speak of different samples".to_owned();
                Event::FloorFailed { t: t.max(deleted), deleted: Some(deleted), why }
            }
            (Ok((deleted, _)), Err((t, why))) => Event::FloorFailed { t: t.max(deleted), deleted: Some(deleted), why },
            (Err((t, why)), _) => Event::FloorFailed { t, deleted: None, why },
        }
    };
    (0..one.samples).map(sample).collect()
}

async fn delete<P: Process>(process: &P, session: &P::Session, path: &str) -> Result<FloorStamp, OpError> {
    let (mut found, mut watch) = session.exists_and_watch(path).await?;
    while found.is_none() {
        watch.fired().await;
        (found, watch) = session.exists_and_watch(path).await?;
    }
    // Disarmed before the deletion, so that only the other host is notified of it.
    drop(watch);
    process.sleep_until(process.now() + nanos(BETWEEN)).await;
    let deleted = process.now();
    session.delete(path, None).await?;
    Ok(Ok((deleted, deleted)))
}

async fn watch<P: Process>(process: &P, session: &P::Session, path: &str, listed: &str) -> Result<FloorStamp, OpError> {
    session.create(path, &[], CreateMode::Ephemeral).await?;
    let mut watch = match session.get_and_watch(path).await {
        Ok((_, _, watch)) => watch,
        Err(OpError::Refused(Refusal::NoNode)) => {
            return Ok(Err((process.now(), "it was deleted before its watch was armed".to_owned())));
        }
        Err(error) => return Err(error),
    };
    let event = watch.fired().await;
    let notified = process.now();
    if event != WatchEvent::Deleted {
        return Ok(Err((notified, format!("its watch fired otherwise: {event:?}"))));
    }
    session.children(listed).await?;
    Ok(Ok((notified, process.now())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hustings_record::Event;

    use super::{FloorPair, ends, floor_events};

    #[test]
    fn every_host_watches_and_deletes_and_every_pair_of_hosts_meets() {
        let hosts = [0, 1, 2, 5];
        let pairs: BTreeSet<_> = (0..12).filter_map(|pair| ends(&hosts, pair)).collect();
        assert_eq!(pairs.len(), 12, "each with each other, both ways");
        assert!(pairs.iter().all(|(watches, deletes)| watches != deletes));
        assert_eq!((ends(&[7], 3), ends(&[], 0)), (Some((7, 7)), None));
    }

    #[test]
    fn a_sample_that_came_to_nothing_is_written_down_with_its_reason() {
        let one = FloorPair { pair: 4, samples: 4 };
        let deleted = Ok((70, vec![Ok((10, 10)), Ok((20, 20)), Ok((30, 30))]));
        let heard = Ok((80, vec![Ok((11, 12)), Err((25, "late".to_owned()))]));
        let events = floor_events(one, 99, deleted, heard);
        let nothing = "one before it came to nothing".to_owned();
        let sessions = Some((70, 80));
        assert_eq!(
            events,
            [
                Event::Floor { deleted: 10, notified: 11, listed: 12, sessions },
                Event::FloorFailed { t: 25, deleted: Some(20), why: "late".to_owned() },
                Event::FloorFailed { t: 99, deleted: Some(30), why: nothing.clone() },
                Event::FloorFailed { t: 99, deleted: None, why: nothing },
            ]
        );
        let events = floor_events(one, 99, Err("gone".to_owned()), Ok((80, Vec::new())));
        assert_eq!(events.len(), 4);
        assert!(events.iter().all(|event| matches!(event, Event::FloorFailed { deleted: None, .. })), "{events:?}");
    }
}
