//! One cell from set-up to tear-down: enrol, warm up, measure, heal, drain. Whatever happens on the way, the tear-down is
//! always reached, and the segments are sealed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_reports::record::{Event, PhaseName};
use hustings_workloads::plan::plan;
use hustings_workloads::scenario::{Cell, FaultKind};
use rustix::process::Signal;
use tokio::task::{JoinHandle, spawn_local};

use crate::archive::Archive;
use crate::coordinator::hosts::{HostFactory, process_memory};
use crate::coordinator::server_watch::{self, ServerWatch};
use crate::coordinator::set_up::{self, Ground, Watching};
use crate::coordinator::stage::Stage;
use crate::coordinator::write_probe::WriteProbe;
use crate::coordinator::{calibrate, describe, floor, inbox, schedule};
use crate::ensemble::Ensemble;
use crate::interrupt::Interrupt;
use crate::journal::{Journal, Owner};
use crate::progress::Progress;
use crate::protocol::ToHost;
use crate::{clock, stall};

/// Hosts told to stop close their sessions and end within this; then they are killed.
const STOP_AT_MOST: Duration = Duration::from_secs(20);
/// Faults of a cell that is cut short come to their end within this, and links are healed within it again.
const HEAL_AT_MOST: Duration = Duration::from_secs(15);
/// Nothing is begun or ended this close to a snapshot of the servers' counters, so that it is clear what they include.
const QUIET: Duration = Duration::from_millis(300);
/// Samples of the floor: many where a latency is compared with it, few elsewhere.
const FLOOR_SAMPLES: (u32, u32) = (60, 10);

/// How a cell ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CellEnd {
    Complete,
    Interrupted,
    /// By an error of the infrastructure.
    Aborted(String),
}

/// What a cell needs from its run.
pub(super) struct Surroundings<'a> {
    pub(super) ground: Ground,
    pub(super) ensemble: Rc<dyn Ensemble>,
    pub(super) factory: Rc<HostFactory>,
    pub(super) archive: Rc<RefCell<Archive>>,
    pub(super) interrupt: Interrupt,
    pub(super) progress: &'a Progress,
}

/// Runs one cell. Its segments are sealed and named in the manifest when this returns.
///
/// # Errors
/// When not even its record could be kept.
pub(super) async fn run(cell: Rc<Cell>, around: &Surroundings<'_>) -> anyhow::Result<CellEnd> {
    around.archive.borrow_mut().begin_cell(cell.index, &cell.name)?;
    let segment = around.archive.borrow_mut().add_segment("coordinator")?;
    let owner = Owner { cell: cell.index, writer: "coordinator", host: None, life: 0 };
    let journal = Journal::create(&segment, &owner).with_context(|| segment.display().to_string())?;
    let info = describe::cell(&cell, around.ground.links.as_deref());
    journal.push_through(&Event::Cell { t: clock::now(), info: Box::new(info) });
    let helpers = [spawn_local(journal.clone().flush_forever()), spawn_local(stall::watch(journal.clone()))];
    let end = perform(&cell, around, &journal).await;
    helpers.iter().for_each(JoinHandle::abort);
    let recorded = journal.end();
    let end = match (end, recorded) {
        (Err(error), _) => CellEnd::Aborted(format!("{error:#}")),
        (Ok(CellEnd::Complete | CellEnd::Interrupted), Err(error)) => CellEnd::Aborted(error),
        (Ok(end), _) => end,
    };
    let sealed = around.archive.borrow_mut().end_cell(end == CellEnd::Complete);
    Ok(match (end, sealed) {
        // What could not be sealed is kept as it is. The first trouble is the one to tell.
        (CellEnd::Complete | CellEnd::Interrupted, Err(error)) => CellEnd::Aborted(format!("{error:#}")),
        (end, _) => end,
    })
}

async fn perform(cell: &Rc<Cell>, around: &Surroundings<'_>, journal: &Journal) -> anyhow::Result<CellEnd> {
    phase(journal, PhaseName::SetUp);
    let ground = &around.ground;
    let interrupt = &around.interrupt;
    // What is cut off here leaves nothing but znodes of a chroot that nobody else uses.
    tokio::select! {
        laid_out = set_up::lay_out(ground, &cell.group_names) => laid_out?,
        () = interrupt.first() => return Ok(CellEnd::Interrupted),
    }
    let mut host_links = BTreeMap::new();
    if let Some(links) = &ground.links {
        links.populate(&cell.host_names, &ground.upstreams).await?;
        for host in 0..cell.hosts {
            host_links.insert(host, links.endpoints(host));
        }
    }
    let observing = tokio::select! {
        observing = observe(cell, around, journal) => observing?,
        () = interrupt.first() => return Ok(CellEnd::Interrupted),
    };
    let servers = match cell.watch_ms {
        Some(ms) => Some(watch_servers(around, journal, ms).await),
        None => None,
    };
    let watch = servers.as_ref().map(|servers| servers.states.watch().clone());
    let factory = around.factory.clone();
    let (stage, inbound) = set_up::stage(cell.clone(), around, journal.clone(), factory, &host_links, watch)?;
    let mut serving = spawn_local(inbox::serve(stage.clone(), inbound));
    let end = tokio::select! {
        done = phases(&stage, around) => done.map(|()| CellEnd::Complete),
        trouble = trouble(&stage) => Ok(CellEnd::Aborted(trouble)),
        what = journal.failed() => Ok(CellEnd::Aborted(what)),
        what = failed(observing.as_ref()) => Ok(CellEnd::Aborted(what)),
        ended = &mut serving => Ok(CellEnd::Aborted(format!("nobody listens to the hosts any more: {ended:?}"))),
        () = interrupt.first() => Ok(CellEnd::Interrupted),
    };
    let torn_down = tear_down(&stage, observing, servers, around).await;
    serving.abort();
    match end {
        // A host may fail at its very last write.
        Ok(CellEnd::Complete) => {
            torn_down.map(|()| stage.trouble.borrow().clone().map_or(CellEnd::Complete, CellEnd::Aborted))
        }
        other => other,
    }
}

/// Starts the observer and measures its weight. Without candidates there is nothing to observe.
async fn observe(cell: &Cell, around: &Surroundings<'_>, journal: &Journal) -> anyhow::Result<Option<Watching>> {
    if cell.groups == 0 {
        return Ok(None);
    }
    let segment = around.archive.borrow_mut().add_segment("observer")?;
    let watching = set_up::observe(cell, &around.ground, segment).await?;
    calibrate::observer(&around.ground, &*around.ensemble, journal).await;
    Ok(Some(watching))
}

/// What looks at the servers in cells with faults on servers.
struct ServersSeen {
    states: server_watch::Watching,
    writes: WriteProbe,
}

async fn watch_servers(around: &Surroundings<'_>, journal: &Journal, every_ms: u64) -> ServersSeen {
    let every = Duration::from_millis(every_ms);
    let states = ServerWatch::begin(around.ensemble.clone(), journal.clone(), every);
    states.watch().ready().await;
    let path = format!("{}/written", around.ground.chroot);
    let writes = WriteProbe::begin(&around.ground.servers, &path, journal.clone());
    ServersSeen { states, writes }
}

/// What the observer's segment failed with, if ever.
async fn failed(observing: Option<&Watching>) -> String {
    match observing {
        Some(watching) => watching.journal.failed().await,
        None => std::future::pending().await,
    }
}

async fn phases(stage: &Rc<Stage>, around: &Surroundings<'_>) -> anyhow::Result<()> {
    let cell = stage.cell.clone();
    phase(&stage.journal, PhaseName::Enrol);
    set_up::start_hosts(stage).await?;
    let enrolled = enrol(stage, around.progress).await;
    remember_memory(stage);
    if let Err(short) = enrolled {
        stage.journal.push(&Event::Note { t: clock::now(), cand: None, text: short.clone() });
        around.progress.line(&format!("  {}: {short}", cell.name));
        return Ok(());
    }
    phase(&stage.journal, PhaseName::WarmUp);
    let warm = clock::now() + cell.phases.warm_up_ms * 1_000_000;
    let samples = if cell.fault.kind == FaultKind::Resign { FLOOR_SAMPLES.0 } else { FLOOR_SAMPLES.1 };
    if cell.groups > 0 {
        floor::measure(stage, samples).await;
    }
    clock::sleep_until(warm).await;
    servers(stage, &*around.ensemble, "begin").await;
    tokio::time::sleep(QUIET).await;
    phase(&stage.journal, PhaseName::Measure);
    let measured = plan(&cell, around.ground.seed);
    let until = clock::now() + measured.measure_ms * 1_000_000;
    around.progress.now(&format!("{}: measuring for about {} s", cell.name, measured.measure_ms.div_ceil(1_000)));
    let faults = schedule::begin(stage, measured, around.ground.seed);
    faults.await.context("the fault schedule failed")?;
    clock::sleep_until(until).await;
    phase(&stage.journal, PhaseName::Heal);
    phase(&stage.journal, PhaseName::Drain);
    let until = drain(stage, around.progress).await;
    servers(stage, &*around.ensemble, "end").await;
    tokio::time::sleep(QUIET).await;
    // Servers so busy that they answered late may have cost somebody the lead meanwhile. Who leads at the end is in the record.
    let _ = settled(stage, until, || ()).await;
    Ok(())
}

fn phase(journal: &Journal, phase: PhaseName) {
    journal.push_through(&Event::Phase { t: clock::now(), phase });
}

/// Waits until every candidate stands and every group is led, or says how far it came.
async fn enrol(stage: &Stage, progress: &Progress) -> Result<(), String> {
    let cell = &stage.cell;
    let total = cell.candidates();
    let until = clock::now() + cell.phases.enrol_max_ms * 1_000_000;
    settled(stage, until, || {
        let ((_, standing), led) = (stage.standing(), stage.leaders.borrow().led());
        progress.now(&format!("{}: {standing}/{total} stand, {led}/{} groups led", cell.name, cell.groups));
    })
    .await
    .map_err(|()| {
        let ((connected, standing), led) = (stage.standing(), stage.leaders.borrow().led());
        let (seconds, groups) = (cell.phases.enrol_max_ms / 1_000, cell.groups);
        format!(
            "after {seconds} s only {standing} of {total} candidates stand ({connected} connected) and {led} of {groups} \
             groups are led; no fault was injected"
        )
    })
}

/// Liveness is demanded now: waits for every group to be led, at least for the drain's minimum, at most for its maximum,
/// and gives the end of that.
async fn drain(stage: &Stage, progress: &Progress) -> u64 {
    let cell = &stage.cell;
    progress.now(&format!("{}: draining", cell.name));
    let at_least = clock::now() + cell.phases.drain_ms * 1_000_000;
    let until = clock::now() + cell.phases.drain_max_ms * 1_000_000;
    clock::sleep_until(at_least).await;
    if settled(stage, until, || ()).await.is_err() {
        let text = "the drain ended before every candidate stood and every group was led".to_owned();
        stage.journal.push(&Event::Note { t: clock::now(), cand: None, text });
    }
    until
}

/// Waits until every candidate stands and every group is led.
async fn settled(stage: &Stage, until: u64, mut tell: impl FnMut()) -> Result<(), ()> {
    let mut changed = stage.changed.subscribe();
    loop {
        tell();
        let led = stage.leaders.borrow().led() == stage.leaders.borrow().groups();
        if led && stage.standing().1 >= stage.candidates() {
            return Ok(());
        }
        if clock::now() >= until {
            return Err(());
        }
        let pause = Duration::from_millis(50);
        // Either way it is looked at again: a change that was missed costs one pause.
        let _ = tokio::time::timeout(pause, changed.changed()).await;
    }
}

fn remember_memory(stage: &Stage) {
    for process in stage.hosts.borrow().values() {
        let candidates = stage.set_ups.get(&process.host).map_or(0, |set_up| set_up.candidates.len() as u32);
        if let Some((rss_kb, _)) = process_memory(process.pid) {
            stage.journal.push(&Event::HostMemory { t: clock::now(), host: process.host, rss_kb, candidates });
        }
    }
}

/// The servers' own counters. Where they cannot be read the record has none, and the checker that needs them says so.
async fn servers(stage: &Stage, ensemble: &dyn Ensemble, at: &str) {
    match ensemble.metrics().await {
        Ok(metrics) => stage.journal.push(&Event::Servers { t: clock::now(), at: at.to_owned(), metrics }),
        Err(error) => {
            let text = format!("the servers' counters could not be read: {error:#}");
            stage.journal.push(&Event::Note { t: clock::now(), cand: None, text });
        }
    }
}

async fn trouble(stage: &Stage) -> String {
    let mut trouble = stage.trouble.subscribe();
    match trouble.wait_for(Option::is_some).await {
        Ok(what) => what.clone().unwrap_or_default(),
        Err(_) => std::future::pending().await,
    }
}

/// Heals what is injured, stops every host in order, ends the observer and takes the links down.
async fn tear_down(
    stage: &Rc<Stage>,
    observing: Option<Watching>,
    servers: Option<ServersSeen>,
    around: &Surroundings<'_>,
) -> anyhow::Result<()> {
    around.progress.now(&format!("{}: tearing down", stage.cell.name));
    phase(&stage.journal, PhaseName::TearDown);
    stage.stopping.set(true);
    stage.touch();
    // First the faults end: from here on nobody stops, kills or starts a host behind our back.
    if let Err(text) = stage.finish_errands(HEAL_AT_MOST).await {
        stage.journal.push(&Event::Note { t: clock::now(), cand: None, text });
    }
    heal_everything(stage).await;
    // Each step is taken whatever became of the one before; the first error is the one to tell.
    let stopped = stop_hosts(stage, around.interrupt.second()).await;
    let observed = match observing {
        Some(watching) => watching.end().await.map_err(anyhow::Error::msg),
        None => Ok(()),
    };
    if let Some(servers) = servers {
        servers.writes.end().await;
        servers.states.end().await;
    }
    let unlinked = match &stage.links {
        Some(links) => links.depopulate().await.context("the links could not be taken down"),
        None => Ok(()),
    };
    phase(&stage.journal, PhaseName::End);
    stopped.and(observed).and(unlinked)
}

/// Tells every host to stop and waits until all processes are gone. Those that do not end in time, and all when the user does
/// not want to wait, are killed.
async fn stop_hosts(stage: &Stage, at_once: impl Future<Output = ()>) -> anyhow::Result<()> {
    let mut processes = std::mem::take(&mut *stage.hosts.borrow_mut());
    let mut memory = BTreeMap::new();
    for process in processes.values() {
        // One that has ended has none any more.
        memory.insert(process.host, process_memory(process.pid).map_or(0, |(_, peak)| peak));
        process.tell(ToHost::Stop);
    }
    let until = tokio::time::Instant::now() + STOP_AT_MOST;
    let all = async {
        let mut outcome = Ok(());
        for process in processes.values_mut() {
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            match process.wait(left).await {
                Ok((status, killed)) => {
                    stage.ended(process.host, process.life, killed, &status.to_string(), memory[&process.host])
                }
                Err(error) => outcome = outcome.and(Err(error).context(format!("host {} is lost", process.host))),
            }
        }
        outcome
    };
    tokio::select! {
        outcome = all => outcome,
        () = at_once => Err(anyhow::anyhow!("the hosts were killed, because the run was to stop at once")),
    }
}

/// The faults' tasks heal what they injured when they see that the cell is stopping; this is for what they could not.
async fn heal_everything(stage: &Stage) {
    for process in stage.hosts.borrow().values() {
        // A process that is not stopped is not moved by it; one that is gone is found out when it is waited for.
        let _ = process.signal(Signal::CONT);
    }
    let Some(links) = &stage.links else { return };
    let hosts: Vec<u16> = (0..stage.cell.hosts).collect();
    let healed = tokio::time::timeout(HEAL_AT_MOST, links.heal(&hosts)).await;
    let text = match healed {
        Ok(Ok(_)) => return,
        Ok(Err(error)) => format!("links could not be healed: {error}"),
        Err(_) => "links could not be healed in time".to_owned(),
    };
    stage.journal.push(&Event::Note { t: clock::now(), cand: None, text });
}
