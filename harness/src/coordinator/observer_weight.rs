//! How often the servers count one deletion that only the observer watches. ZooKeeper 3.8 keeps a recursive watch in two
//! tables and counts it in both where it fires once; other versions may not. So it is measured, not assumed.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use hustings_record::{DELETION_WATCHES_FIRED, Event, ServerMetrics};
use hustings_workloads::scenario::ROOT;
use zookeeper_client as zk;

use crate::clock;
use crate::coordinator::admin;
use crate::coordinator::environment::Environment;
use crate::journal::Journal;

const DELETIONS: u32 = 4;
/// Long enough for followers to have applied a deletion that their leader has answered.
const APPLIED: Duration = Duration::from_millis(100);

/// Measures it, with the observer's watch armed and nobody else there. What cannot be measured is told in the record.
pub(super) async fn measure(environment: &Environment, journal: &Journal) {
    let event = match per_deletion(environment).await {
        Ok(per_deletion) => Event::ObserverWeight { t: clock::now(), per_deletion },
        Err(error) => Event::Note {
            t: clock::now(),
            cand: None,
            text: format!("how the servers count the observer's watch could not be measured: {error:#}"),
        },
    };
    journal.push(&event);
}

async fn per_deletion(environment: &Environment) -> anyhow::Result<f64> {
    let client = admin::connect(&environment.servers, &environment.chroot).await?;
    let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    let before = fired(&environment.ensemble.metrics().await?)?;
    for number in 0..DELETIONS {
        let path = format!("{ROOT}/.calibration-{number}");
        client.create(&path, &[], &options).await?;
        client.delete(&path, None).await?;
    }
    tokio::time::sleep(APPLIED).await;
    Ok((fired(&environment.ensemble.metrics().await?)? - before) / f64::from(DELETIONS))
}

fn fired(metrics: &BTreeMap<u32, ServerMetrics>) -> anyhow::Result<f64> {
    let of_server = |server: &ServerMetrics| server.get(DELETION_WATCHES_FIRED).copied();
    metrics
        .values()
        .map(of_server)
        .sum::<Option<f64>>()
        .with_context(|| format!("a server does not tell {DELETION_WATCHES_FIRED}"))
}
