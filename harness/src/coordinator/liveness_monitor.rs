//! Monitors the processes that a cell depends on: servers and link proxies, except where a fault stops them. A process
//! that is gone ends the run. The time in which one did not run is recorded as an outage that explains findings.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::words::duration;
use hustings_record::{Event, Nanos};
use tokio::task::{JoinHandle, spawn_local};

use crate::coordinator::live_cell::LiveCell;
use crate::ensemble::{Ensemble, EnsembleError};
use crate::process::clock;

const LOOK_EVERY: Duration = Duration::from_millis(250);
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(2);
/// If one check takes long, as in containers, the pause before the next is this many times as long.
const PAUSE_PER_LOOK: u32 = 20;
/// A process that has been stopped for so long is considered lost.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(10);

/// A look that takes longer says that something does not answer.
const LOOK_AT_MOST: Duration = Duration::from_secs(1);

/// The look that is under way.
#[derive(Clone, Copy)]
struct PendingLook {
    /// When every process was last observed running.
    whole: Nanos,
    begun: Nanos,
}

/// The monitor of a cell.
pub(super) struct LivenessMonitor {
    task: JoinHandle<()>,
    pending: Rc<Cell<Option<PendingLook>>>,
}

impl LivenessMonitor {
    /// Begins to look.
    pub(super) fn start(cell: &Rc<LiveCell>) -> Self {
        let pending = Rc::new(Cell::new(None));
        Self { task: spawn_local(watch(cell.clone(), pending.clone())), pending }
    }

    /// Ends it. A cell that is interrupted does not wait for the answer to a look: that something has not answered for long is recorded.
    pub(super) fn end(self, cell: &LiveCell, interrupted: bool) {
        self.task.abort();
        let now = clock::now();
        let late = |look: &PendingLook| interrupted && now - look.begun > nanos(LOOK_AT_MOST);
        if let Some(look) = self.pending.get().filter(late) {
            cell.journal.push(&Event::Outage { from: look.whole, to: Some(now), who: ENSEMBLE.to_owned() });
        }
    }
}

/// The name of all servers together, where it is not known which of them does not answer.
const ENSEMBLE: &str = "the ensemble";

/// A process that was found gone.
struct MissingProcess {
    who: String,
    why: String,
}

/// Since when a process has not been observed running: its last such observation, and when the monitor noticed.
#[derive(Clone, Copy)]
struct InactivityStart {
    from: Nanos,
    seen: Nanos,
}

/// Checks repeatedly, until the cell cannot continue or this is dropped.
async fn watch(cell: Rc<LiveCell>, pending: Rc<Cell<Option<PendingLook>>>) {
    // When every process that was not idle was last observed running.
    let mut whole = clock::now();
    let mut idle: BTreeMap<String, InactivityStart> = BTreeMap::new();
    loop {
        let begun = clock::now();
        pending.set(Some(PendingLook { whole, begun }));
        let looked = look(&cell).await;
        pending.set(None);
        let now = clock::now();
        let since = |who: &str| idle.get(who).copied().unwrap_or(InactivityStart { from: whole, seen: now });
        match looked {
            Ok(names) => idle = names.into_iter().map(|who| (who.clone(), since(&who))).collect(),
            Err(MissingProcess { who, why }) => {
                cell.journal.push(&Event::Outage { from: since(&who).from, to: None, who });
                return cell.status.fail(why);
            }
        }
        for (who, since) in &idle {
            cell.journal.push(&Event::Outage { from: since.from, to: Some(now), who: who.clone() });
            // Counted from the moment of noticing: this process may itself have been stopped before that.
            if now - since.seen > nanos(GIVEN_UP_AFTER) {
                cell.environment.links.iter().for_each(|links| links.give_up(who));
                return cell
                    .status
                    .fail(format!("{who} stood still, and no fault had it so, for {}", duration(now - since.from)));
            }
        }
        whole = begun;
        let took = Duration::from_nanos(now - begun);
        tokio::time::sleep((took * PAUSE_PER_LOOK).clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY)).await;
    }
}

/// Waits until a server has died.
pub(super) async fn death(ensemble: &dyn Ensemble) -> EnsembleError {
    loop {
        match ensemble.check_alive().await {
            Err(died) if died.gone().is_some() => return died,
            _ => {}
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Names of the processes that do not run.
async fn look(cell: &LiveCell) -> Result<Vec<String>, MissingProcess> {
    let mut idle = match cell.environment.ensemble.check_alive().await {
        Ok(idle) => idle,
        Err(error) => vec![gone_or_unknown(error.gone(), &error, ENSEMBLE)?],
    };
    if let Some(links) = &cell.environment.links {
        match links.check_alive().await {
            Ok(proxies) => idle.extend(proxies),
            Err(error) => idle.push(gone_or_unknown(error.gone(), &error, "the links' proxy")?),
        }
    }
    Ok(idle)
}

/// A process named by the error is gone. An error without a name means that the check failed: the state is unknown.
fn gone_or_unknown(who: Option<String>, error: &dyn std::error::Error, all: &str) -> Result<String, MissingProcess> {
    match who {
        Some(who) => Err(MissingProcess { who, why: error.to_string() }),
        None => {
            tracing::warn!(%error, "it could not be looked whether all is well");
            Ok(all.to_owned())
        }
    }
}
