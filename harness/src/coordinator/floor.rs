//! Has two hosts measure the floor over their own links, and writes the samples down.

use std::time::Duration;

use hustings_record::Event;
use hustings_workloads::driver::{FloorPart, floor_samples};
use tokio::sync::mpsc;

use crate::clock;
use crate::coordinator::live_cell::LiveCell;
use crate::protocol::ToHost;

const AT_MOST: Duration = Duration::from_secs(30);

/// Takes samples: one host deletes, another one watches; where there is one host only, it does both. A floor that cannot be
/// measured is told in the record; the cell goes on.
pub(super) async fn measure(cell: &LiveCell, samples: u32) {
    let (sender, mut done) = mpsc::channel(2);
    cell.floor.replace(Some(sender));
    {
        let hosts = cell.hosts.borrow();
        let mut running = hosts.values().filter_map(|host| host.process.as_ref());
        let Some(first) = running.next() else { return };
        let last = running.next_back().unwrap_or(first);
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
    cell.floor.replace(None);
    floor_samples(deleted, heard).for_each(|sample| cell.journal.push(&sample));
    if let Err(why) = outcome {
        let text = format!("the floor could not be measured: {why}");
        cell.journal.push(&Event::Note { t: clock::now(), cand: None, text });
    }
}
