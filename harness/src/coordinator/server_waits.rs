//! Watches for how long threads of the run's own servers were ready to run and were given no processor. An observer whose server
//! waits does not see what that server has not done yet.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::Event;

use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;
use crate::recording::thread_waits::ThreadWaits;

const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Threads of a JVM that serve no request: the compilers are left to wait on every busy machine.
const COMPILERS: &[&str] = &["C1 Compiler", "C2 Compiler"];

/// Records every wait, until this is dropped.
pub(super) async fn watch(cell: Rc<LiveCell>) {
    let mut watched: BTreeMap<(u32, u32), ThreadWaits> = BTreeMap::new();
    loop {
        let running = cell.environment.ensemble.processes();
        // A server that was started again is another process.
        watched.retain(|process, _| running.contains(process));
        for process in running {
            watched.entry(process).or_insert_with(|| ThreadWaits::except(process.1, COMPILERS));
        }
        // Beside the coordinator's own work, which it would delay.
        let looked = tokio::task::spawn_blocking(move || {
            let waits =
                watched.iter_mut().filter_map(|((server, _), threads)| Some((*server, threads.look(clock::now())?)));
            let waits: Vec<_> = waits.collect();
            (watched, waits)
        });
        let Ok((threads, waits)) = looked.await else { return };
        watched = threads;
        for (server, (from, to)) in waits {
            cell.journal.push(&Event::ServerWait { from, to, server });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
