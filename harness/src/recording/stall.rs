//! Own stalls. A 1 ms ticker in every process records when it did not run, so that stalls of the harness are not
//! attributed to the ensemble.

use std::time::Duration;

use hustings_record::Event;

use crate::process::clock;
use crate::recording::journal::Journal;

const TICK: Duration = Duration::from_millis(1);

/// Shorter gaps are normal scheduling delays and are not recorded.
pub(crate) const STALL_NS_MIN: u64 = 10_000_000;

/// Records every stall of this thread, until the future is dropped.
pub async fn watch(journal: Journal) {
    let mut before = (clock::now(), clock::ran());
    loop {
        tokio::time::sleep(TICK).await;
        let now = (clock::now(), clock::ran());
        if now.0 - before.0 > STALL_NS_MIN {
            journal.push(&Event::Stall { from: before.0, to: now.0, ran_ns: now.1 - before.1, program: false });
        }
        before = now;
    }
}
