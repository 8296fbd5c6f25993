//! How often the servers count one change that only the observer watches. ZooKeeper 3.8 keeps a recursive watch in two
//! tables. It counts a deletion in both, although the watch fires once. Other versions may differ, so this is measured.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use hustings_record::{Event, ObserverWeight, ServerMetrics, WATCHES_FIRED, WatchCounts, WatchEvent};
use hustings_workloads::scenario::ROOT;
use zookeeper_client as zk;

use crate::coordinator::admin;
use crate::coordinator::environment::Environment;
use crate::process::clock;
use crate::recording::journal::Journal;

/// Znodes to create, change and delete.
const ZNODES: u32 = 4;
/// Long enough, on an idle machine, for followers to apply a change that their leader has acknowledged.
const APPLIED: Duration = Duration::from_millis(100);
/// On a busy machine the counters are waited for, so long at most.
const SETTLED_WITHIN: Duration = Duration::from_secs(2);

/// The counters of each server, of watches fired for deletions, creations and data changes.
type FiredWatches = BTreeMap<u32, [f64; 3]>;

/// Measures the weight, with the observer's watch armed and no other client. A failure is noted in the record.
pub(super) async fn measure(environment: &Environment, journal: &Journal) {
    let event = match weigh(environment).await {
        Ok(counted) => {
            let [per_deletion, per_creation, per_change] = WatchCounts::per_change(&counted);
            let (per_creation, per_change) = (Some(per_creation), Some(per_change));
            Event::ObserverWeight(Box::new(ObserverWeight {
                t: clock::now(),
                per_deletion,
                per_creation,
                per_change,
                counted,
            }))
        }
        Err(error) => Event::Note {
            t: clock::now(),
            cand: None,
            text: format!("how the servers count the observer's watch could not be measured: {error:#}"),
        },
    };
    journal.push(&event);
}

/// The counts of each server for deletions, creations and data changes.
async fn weigh(environment: &Environment) -> anyhow::Result<Vec<WatchCounts>> {
    let client = admin::connect(&environment.access, &environment.servers, &environment.chroot).await?;
    let options = zk::CreateMode::Persistent.with_acls(environment.access.acls());
    let before = settled(environment, |_| true).await?;
    for number in 0..ZNODES {
        let path = format!("{ROOT}/.calibration-{number}");
        client.create(&path, &[], &options).await?;
        client.set_data(&path, &[], None).await?;
        client.delete(&path, None).await?;
    }
    // The observer's server may lag behind the one that answered: it has fired its watch for each of them.
    let deletions = |counted: &FiredWatches| counted.values().map(|fired| fired[0]).sum::<f64>();
    let least = deletions(&before) + f64::from(ZNODES);
    let after = settled(environment, |now| deletions(now) >= least).await?;
    let weighed = before.iter().map(|(&server, &before)| {
        let after = *after.get(&server).with_context(|| format!("server {server} does not tell any more"))?;
        Ok(WatchCounts { server, znodes: ZNODES, before, after })
    });
    weighed.collect()
}

/// The counters, once they are such and do not change any more; or as they are after a while.
async fn settled(environment: &Environment, are_such: impl Fn(&FiredWatches) -> bool) -> anyhow::Result<FiredWatches> {
    let until = tokio::time::Instant::now() + SETTLED_WITHIN;
    let mut last = counted(environment).await?;
    loop {
        tokio::time::sleep(APPLIED).await;
        let now = counted(environment).await?;
        if now == last && are_such(&now) || tokio::time::Instant::now() > until {
            return Ok(now);
        }
        last = now;
    }
}

async fn counted(environment: &Environment) -> anyhow::Result<FiredWatches> {
    let metrics = environment.ensemble.metrics().await?;
    metrics.iter().map(|(&server, metrics)| Ok((server, fired(server, metrics)?))).collect()
}

/// The server's counters of watches fired for deletions, creations and data changes.
fn fired(server: u32, metrics: &ServerMetrics) -> anyhow::Result<[f64; 3]> {
    let of = |kind: WatchEvent| {
        let line = WATCHES_FIRED.iter().find(|(told, _)| *told == kind).map(|(_, line)| *line);
        let line = line.context("the servers count no such watches")?;
        metrics.get(line).copied().with_context(|| format!("server {server} does not tell {line}"))
    };
    Ok([of(WatchEvent::Deleted)?, of(WatchEvent::Created)?, of(WatchEvent::DataChanged)?])
}
