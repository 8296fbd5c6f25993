//! Has two hosts measure the floor over their own links, and writes the samples down.

use std::time::Duration;

use hustings_reports::record::Event;
use tokio::sync::mpsc;

use crate::clock;
use crate::coordinator::stage::Stage;
use crate::protocol::{FloorPart, ToHost};

const AT_MOST: Duration = Duration::from_secs(30);

/// Takes samples: one host deletes, another one watches; where there is one host only, it does both. A floor that cannot be
/// measured is told in the record; the cell goes on.
pub(super) async fn measure(stage: &Stage, samples: u32) {
    let (sender, mut done) = mpsc::channel(2);
    stage.floor.replace(Some(sender));
    {
        let hosts = stage.hosts.borrow();
        let (Some(first), Some(last)) = (hosts.values().next(), hosts.values().next_back()) else { return };
        first.tell(ToHost::Floor { part: FloorPart::Watch, samples });
        last.tell(ToHost::Floor { part: FloorPart::Delete, samples });
    }
    let (mut deleted, mut heard) = (Vec::new(), Vec::new());
    let both = async {
        for _ in 0..2 {
            let (part, stamps) = done.recv().await.ok_or("the hosts are gone")?;
            match part {
                FloorPart::Delete => deleted = stamps?,
                FloorPart::Watch => heard = stamps?,
            }
        }
        Ok::<(), String>(())
    };
    let outcome = tokio::time::timeout(AT_MOST, both).await.unwrap_or_else(|_| Err("no answer".to_owned()));
    stage.floor.replace(None);
    for ((deleted, _), (notified, listed)) in deleted.into_iter().zip(heard) {
        if notified >= deleted && listed >= notified {
            stage.journal.push(&Event::Floor { deleted, notified, listed });
        }
    }
    if let Err(why) = outcome {
        let text = format!("the floor could not be measured: {why}");
        stage.journal.push(&Event::Note { t: clock::now(), cand: None, text });
    }
}
