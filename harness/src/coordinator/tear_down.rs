//! Tears a cell down: heals injuries, ends every host in order, ends the observer, removes the links.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use hustings_record::Event;
use rustix::process::Signal;
use tokio::time::Instant;

use crate::coordinator::cell_hosts::gone;
use crate::coordinator::ensemble_waits::unless_given_up;
use crate::coordinator::hosts::{HostProcess, process_weight};
use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;
use crate::process::procfs::ProcessId;
use crate::protocol::ToHost;

/// Hosts that are ordered to stop close their sessions and end within this; then they are killed.
const STOP_AT_MOST: Duration = Duration::from_secs(30);
/// Deadline for the faults of a cell that is cut short, and again for healing the links.
const HEAL_AT_MOST: Duration = Duration::from_secs(15);

/// Takes each step regardless of earlier failures, and returns the first error.
pub(super) async fn tear_down(cell: &LiveCell) -> anyhow::Result<()> {
    cell.environment.progress.now(&format!("{}: tearing down", cell.state.cell.name));
    cell.status.stop();
    // End the faults first: from here on, no task stops, kills or starts a host.
    if let Err(text) = cell.background_tasks.finish(HEAL_AT_MOST).await {
        cell.journal.push(&Event::Note { t: clock::now(), cand: None, text });
    }
    heal_everything(cell).await;
    let stopped = stop_hosts(cell, cell.environment.interrupt.second()).await;
    let watching = cell.watching.take();
    let observed = match watching {
        Some(watching) => watching.end().await.map_err(anyhow::Error::msg),
        None => Ok(()),
    };
    let unlinked = match &cell.environment.links {
        Some(links) => {
            let unlinked = links.depopulate().await.context("the links could not be taken down");
            unlinked.and(links.end_cell())
        }
        None => Ok(()),
    };
    let recorded = unless_given_up(cell.environment.interrupt.first(), cell.environment.ensemble.end_cell()).await;
    let recorded = recorded.unwrap_or_else(|| Err(anyhow!("the servers did not answer after the interruption")));
    stopped.and(observed).and(unlinked).and(recorded)
}

/// Orders every host to stop and waits until all processes have ended. Kills late ones, and all if the user does not
/// want to wait.
async fn stop_hosts(cell: &LiveCell, at_once: impl Future<Output = ()>) -> anyhow::Result<()> {
    let mut memory = BTreeMap::new();
    let mut running = Vec::new();
    for process in cell.hosts.by_number.borrow().values().filter_map(|host| host.process.as_ref()) {
        // An ended process has no memory to read.
        memory.insert(process.host, process_weight(process.victim()).map_or(0, |weight| weight.rss_max_kb));
        running.extend(ProcessId::of(process.pid));
        process.tell(ToHost::Stop);
    }
    let until = Instant::now() + STOP_AT_MOST;
    let left = || until.saturating_duration_since(Instant::now());
    // Until a host has ended, its messages are answered as usual: leaders wait for their last write.
    let end = async {
        for process in running {
            gone(process, left()).await;
        }
    };
    let in_time = tokio::select! {
        () = end => true,
        () = at_once => false,
    };
    let processes: Vec<HostProcess> =
        cell.hosts.by_number.borrow_mut().values_mut().filter_map(|host| host.process.take()).collect();
    if !in_time {
        // Dropping the processes kills them.
        bail!("the hosts were killed, because the run was to stop at once");
    }
    let mut outcome = Ok(());
    for mut process in processes {
        match process.wait(left()).await {
            Ok((status, killed)) => {
                let rss_max_kb = memory.get(&process.host).copied().unwrap_or(0);
                cell.hosts.ended(process.host, process.generation, killed, &status.to_string(), rss_max_kb);
            }
            Err(error) => outcome = outcome.and(Err(error).context(format!("host {} is lost", process.host))),
        }
    }
    outcome
}

/// The faults' tasks heal their injuries when the cell stops; this covers the ones that they could not heal.
async fn heal_everything(cell: &LiveCell) {
    for process in cell.hosts.by_number.borrow().values().filter_map(|host| host.process.as_ref()) {
        // SIGCONT has no effect on a running process. An ended process is found by the wait below.
        let _ = process.signal(Signal::CONT);
    }
    let Some(links) = &cell.environment.links else { return };
    if cell.hosts.by_number.borrow().is_empty() {
        // The set-up did not get far enough for any injury.
        return;
    }
    let hosts: Vec<u16> = (0..cell.state.cell.hosts).collect();
    let healed = tokio::time::timeout(HEAL_AT_MOST, links.heal(&hosts)).await;
    let text = match healed {
        Ok(Ok(_)) => return,
        Ok(Err(error)) => format!("links could not be healed: {error}"),
        Err(_) => "links could not be healed in time".to_owned(),
    };
    cell.journal.push(&Event::Note { t: clock::now(), cand: None, text });
}
