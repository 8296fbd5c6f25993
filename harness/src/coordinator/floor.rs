//! Makes two hosts sample the floor over their own links.

use std::time::Duration;

use hustings_workloads::driver::{FloorPair, FloorPart, FloorStamps};
use tokio::sync::mpsc;

use crate::coordinator::live_cell::LiveCell;
use crate::protocol::ToHost;

/// Upper bound for one pair of sessions.
const AT_MOST: Duration = Duration::from_secs(12);

/// The results of both parts, the deleting one first.
pub(super) async fn take(cell: &LiveCell, one: FloorPair, watches: u16, deletes: u16) -> (FloorStamps, FloorStamps) {
    let (sender, mut done) = mpsc::channel(2);
    cell.floor.replace(Some(sender));
    for (host, part) in [(watches, FloorPart::Watch), (deletes, FloorPart::Delete)] {
        // A host without a process does not reply.
        cell.hosts.process(host, |process| process.tell(ToHost::Floor { part, one }));
    }
    let silent = || Err("no answer in time".to_owned());
    let (mut deleted, mut heard) = (silent(), silent());
    let mut left = 2;
    let both = async {
        while left > 0
            && let Some((part, of, taken)) = done.recv().await
        {
            // A pair that timed out may still report later.
            if of != one {
                continue;
            }
            left -= 1;
            match part {
                FloorPart::Delete => deleted = taken,
                FloorPart::Watch => heard = taken,
            }
        }
    };
    // A part that has not reported by then is returned as unanswered.
    let _ = tokio::time::timeout(AT_MOST, both).await;
    cell.floor.replace(None);
    (deleted, heard)
}
