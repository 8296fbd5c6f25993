//! One cell and its record: what the driver does to it is written down, and the segments are sealed whatever happens.

use std::rc::Rc;

use hustings_record::{EnsembleKind, Event, LinkUse};
use hustings_workloads::driver;
use hustings_workloads::scenario::Cell;
use tokio::task::{JoinHandle, spawn_local};

use crate::coordinator::environment::Environment;
use crate::coordinator::inbox;
use crate::coordinator::interruption::{CellInterruption, first_trouble};
use crate::coordinator::live_cell::LiveCell;
use crate::coordinator::liveness_monitor::LivenessMonitor;
use crate::coordinator::server_waits;
use crate::links::RunLinks;
use crate::process::clock;
use crate::recording::journal::{Journal, SegmentOwner};
use crate::recording::stall;

/// Runs one cell. Its segments are sealed and named in the manifest when this returns, as far as they could be.
///
/// # Errors
/// Why it did not come to its end: the first trouble of all.
pub(super) async fn run(cell: Rc<Cell>, environment: Environment) -> Result<(), CellInterruption> {
    let archive = environment.archive.clone();
    archive.borrow_mut().begin_cell(cell.index, &cell.name)?;
    let segment = archive.borrow_mut().add_segment("coordinator")?;
    let owner = SegmentOwner { cell: cell.index, writer: "coordinator", host: None, generation: 0 };
    let journal = Journal::create(&segment, &owner).map_err(anyhow::Error::from)?;
    let own_servers = environment.ensemble.kind() != EnsembleKind::External;
    let info = cell.info(link_use(environment.links.as_deref()), own_servers);
    journal.push(&Event::Cell { t: clock::now(), info: Box::new(info) });
    let helpers = [spawn_local(journal.clone().flush_forever()), spawn_local(stall::watch(journal.clone()))];
    let (live, inbound) = LiveCell::new(cell, environment, journal.clone());
    let liveness_monitor = LivenessMonitor::start(&live);
    let server_waits = spawn_local(server_waits::watch(live.clone()));
    let serving = spawn_local(inbox::serve(live.clone(), inbound));
    let deaf = serving.abort_handle();
    let status = live.status.clone();
    spawn_local(async move {
        let ended = serving.await;
        status.fail(format!("nobody listens to the hosts any more: {ended:?}"));
    });
    let ran = driver::run(&live).await;
    // A host may fail at its very last write.
    let ran = ran.and(live.status.trouble.borrow().clone().map_or(Ok(()), |what| Err(CellInterruption::Aborted(what))));
    deaf.abort();
    liveness_monitor.end(&live, ran.is_err());
    server_waits.abort();
    helpers.iter().for_each(JoinHandle::abort);
    let ran = first_trouble(ran, journal.end().map_err(CellInterruption::Aborted));
    let sealed = archive.borrow_mut().end_cell(ran.is_ok());
    first_trouble(ran, sealed.map_err(CellInterruption::from))
}

fn link_use(links: Option<&RunLinks>) -> LinkUse {
    match links {
        None => LinkUse::Direct,
        Some(links) if links.is_embedded() => LinkUse::Embedded,
        Some(_) => LinkUse::External,
    }
}
