//! A host process from its first message to its last: takes orders from the coordinator and passes them to its slots.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use hustings_record::Event;
use hustings_record::numbers::to_u32;
use hustings_workloads::driver::{SessionClosure, Sessions, live};
use hustings_workloads::host::Order;
use hustings_workloads::recipes::{Election, RecipeKind};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet, spawn_local};

use crate::foreign::intake::PendingWrite;
use crate::host::paths::{Paths, Streams};
use crate::host::process::{HostProcess, HostShared, QueuedMessage};
use crate::host::shutdown::{given_up, hung_up};
use crate::host::slot::HostSlot;
use crate::host::{expire, floor, foreign};
use crate::process::{child, clock, interrupt, limits};
use crate::protocol::{FromHost, HostCandidates, HostSetUp, Receiver, Sender, ToHost, connect};
use crate::recording::journal::{Journal, SegmentOwner};
use crate::recording::stall;

/// Messages to the coordinator that may wait; more than every candidate of a host can have under way.
const OUTGOING_MAX: usize = 1 << 17;
const ORDERS_MAX: usize = 8;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// All candidates together have this long to close their sessions once the host is told to stop.
const STOP_AT_MOST: Duration = Duration::from_secs(12);

/// What the coordinator starts a host process with.
#[derive(Debug, clap::Args)]
pub struct HostArgs {
    /// Address of the coordinator
    #[arg(long)]
    coordinator: SocketAddr,
    /// Number of this host
    #[arg(long)]
    host: u16,
    /// How many processes were this host before
    #[arg(long, default_value_t = 0)]
    generation: u32,
    /// Process to die with
    #[arg(long)]
    parent: u32,
}

/// Runs this process as a host until the coordinator stops it. False: it could not go on, and the coordinator was told why.
pub async fn run(args: HostArgs) -> anyhow::Result<bool> {
    child::die_with_parent(args.parent)?;
    limits::raise_descriptor_limit().context("the descriptor limit cannot be raised")?;
    interrupt::survive_file_size_limit().context("signals cannot be listened to")?;
    let secret = std::env::var(child::SECRET_VARIABLE).context("a host is started by `hustings run`, not by hand")?;
    let (mut sender, mut receiver) = connect(args.coordinator).await.context("the coordinator cannot be reached")?;
    sender
        .send(&FromHost::Hello { secret, host: args.host, generation: args.generation, pid: std::process::id() })
        .await?;
    let Some(ToHost::SetUp(set_up)) = receiver.next().await? else { bail!("the coordinator sent no set-up") };
    let owner =
        SegmentOwner { cell: set_up.cell, writer: &set_up.writer, host: Some(args.host), generation: args.generation };
    let journal = match Journal::create(&set_up.segment, &owner) {
        Ok(journal) => journal,
        Err(error) => {
            sender.send(&FromHost::Failed { what: error.to_string() }).await?;
            return Ok(false);
        }
    };
    let opened = match open_paths(&set_up).await {
        Ok(opened) => opened,
        Err(error) => {
            sender.send(&FromHost::Failed { what: format!("{error:#}") }).await?;
            return Ok(false);
        }
    };
    match (&set_up.stands, opened) {
        (&HostCandidates::Recipe(recipe), opened) => {
            let (paths, streams) = opened.unzip();
            let (shared, stop) = begin(&args, *set_up, paths, journal, sender);
            let writes = streams.map(|streams| streams.writes);
            HostState::new(shared, recipe, args.generation, (stop, writes)).serve(receiver).await
        }
        (HostCandidates::Program(_), Some(opened)) => {
            // What ends with the order to stop goes on until this is over.
            let (shared, _stop) = begin(&args, *set_up, None, journal, sender);
            foreign::serve(shared, opened, receiver).await
        }
        (HostCandidates::Program(_), None) => bail!("a program has no paths"),
    }
}

/// The paths of programs, for one, and for a recipe that is to have them, too.
async fn open_paths(set_up: &HostSetUp) -> anyhow::Result<Option<(Paths, Streams)>> {
    if !set_up.equal_paths && set_up.stands.program().is_none() {
        return Ok(None);
    }
    let candidates = set_up.candidates.iter().map(|(cand, ..)| *cand).collect();
    Ok(Some(Paths::open(&set_up.cluster, candidates).await?))
}

/// What runs on every host, whatever stands there. Gives what it shares, and what ends it.
fn begin(
    args: &HostArgs,
    set_up: HostSetUp,
    paths: Option<Paths>,
    journal: Journal,
    sender: Sender,
) -> (Rc<HostShared>, watch::Sender<bool>) {
    let (outgoing, queue) = mpsc::channel(OUTGOING_MAX);
    let (stop, stopping) = watch::channel(false);
    let shared = Rc::new(HostShared {
        host: args.host,
        set_up,
        paths,
        journal: journal.clone(),
        outgoing,
        fences: RefCell::default(),
        fence_requests: Cell::new(0),
        sync_point: Cell::new(false),
        at_sync_point: RefCell::default(),
        stopping,
        connected: Cell::new(0),
        standing: Cell::new(0),
        wall_ahead_ms: Cell::new(0),
    });
    for &(cand, group, _) in &shared.set_up.candidates {
        journal.push(&Event::Candidate { t: clock::now(), cand, group });
    }
    spawn_local(send_all(queue, sender));
    spawn_local(journal.clone().flush_forever());
    spawn_local(stall::watch(journal));
    spawn_local(tell_progress(shared.clone()));
    (shared, stop)
}

struct HostState {
    shared: Rc<HostShared>,
    recipe: RecipeKind,
    sessions: Rc<Sessions<HostProcess>>,
    stop: watch::Sender<bool>,
    /// What comes in from candidates that write as programs do.
    writes: Option<mpsc::Receiver<PendingWrite>>,
    slots: BTreeMap<u32, (Rc<HostSlot>, mpsc::Sender<Order>)>,
    lives: JoinSet<SessionClosure>,
    ended: EndedCandidates,
}

impl HostState {
    fn new(
        shared: Rc<HostShared>,
        recipe: RecipeKind,
        generation: u32,
        (stop, writes): (watch::Sender<bool>, Option<mpsc::Receiver<PendingWrite>>),
    ) -> Self {
        let set_up = &shared.set_up;
        let process = Rc::new(HostProcess(shared.clone()));
        let sessions = Rc::new(Sessions::new(process, set_up.sessions, set_up.connect_concurrency));
        let mut slots = BTreeMap::new();
        for &(cand, ..) in &set_up.candidates {
            let (sender, orders) = mpsc::channel(ORDERS_MAX);
            let mut rng = ChaCha8Rng::seed_from_u64(set_up.seed);
            rng.set_stream(u64::from(cand) << 32 | u64::from(generation));
            slots.insert(cand, (HostSlot::new(shared.clone(), cand, orders, rng), sender));
        }
        Self { shared, recipe, sessions, stop, writes, slots, lives: JoinSet::new(), ended: EndedCandidates::default() }
    }

    async fn serve(mut self, mut receiver: Receiver) -> anyhow::Result<bool> {
        self.shared.tell(FromHost::Ready { acts: None, equal_paths: self.shared.paths.is_some() });
        let journal = self.shared.journal.clone();
        let mut terminated = signal(SignalKind::terminate()).context("this host cannot hear the signal to end")?;
        loop {
            let message = tokio::select! {
                message = receiver.next() => message?,
                // As a deployment ends a process: it gives everything up, and goes.
                _ = terminated.recv() => Some(ToHost::Stop),
                what = journal.failed() => {
                    return Ok(given_up(&self.shared, what).await);
                }
                Some(life) = self.lives.join_next() => {
                    self.ended.count(life)?;
                    continue;
                }
                Some(write) = next(&mut self.writes) => {
                    self.take(write)?;
                    continue;
                }
            };
            match message {
                None => bail!("the coordinator is gone"),
                Some(ToHost::Stop) => return self.end(receiver).await,
                Some(message) => self.obey(message)?,
            }
        }
    }

    fn obey(&mut self, message: ToHost) -> anyhow::Result<()> {
        match message {
            ToHost::SetUp(_) => bail!("set up twice"),
            ToHost::Enrol => self.enrol(),
            ToHost::Floor { part, one } => {
                let cluster = self.shared.own_cluster().to_owned();
                spawn_local(floor::measure(self.shared.clone(), cluster, part, one));
            }
            ToHost::Resign { fault, cand } => {
                let (slot, orders) = self.slot(cand)?;
                let busy = slot.resigning.get().is_some();
                let refused = (busy || orders.try_send(Order::Resign).is_err()).then_some("it is resigning already");
                if let Some(why) = refused {
                    let outcome = Err(why.to_owned());
                    self.shared.tell(FromHost::Done { fault, cand, outcome });
                } else {
                    slot.resigning.set(Some(fault));
                }
            }
            ToHost::Expire { fault, cand } => {
                let slot = self.slot(cand)?.0.clone();
                spawn_local(expire::expire(slot, fault));
            }
            ToHost::Written { cand, answer } => self.slot(cand)?.0.written(answer),
            ToHost::Fenced { request, error } => {
                if let Some(answer) = self.shared.fences.borrow_mut().remove(&request) {
                    // The candidate may have given up waiting.
                    let _ = answer.send(error);
                }
            }
            ToHost::SyncPoint { laid } => self.shared.sync_point.set(laid),
            // Let go by being dropped.
            ToHost::GoOn { cand } => drop(self.shared.at_sync_point.borrow_mut().remove(&cand)),
            ToHost::SetClock { by_ms } => {
                let ahead = &self.shared.wall_ahead_ms;
                let before = ahead.replace(ahead.get() + by_ms);
                self.shared.tell(FromHost::Clock { outcome: Ok((before, ahead.get())) });
            }
            ToHost::Terminate => bail!("this host has no program to end"),
            ToHost::Stop => {}
        }
        Ok(())
    }

    /// A candidate's write has come in.
    fn take(&self, write: PendingWrite) -> anyhow::Result<()> {
        self.slot(write.slot)?.0.wrote(write);
        Ok(())
    }

    fn slot(&self, cand: u32) -> anyhow::Result<&(Rc<HostSlot>, mpsc::Sender<Order>)> {
        self.slots.get(&cand).with_context(|| format!("candidate {cand} does not sit on this host"))
    }

    fn enrol(&mut self) {
        let set_up = &self.shared.set_up;
        for (cand, _, path) in &set_up.candidates {
            let election = Rc::new(Election {
                path: path.clone(),
                recipe: self.recipe,
                step_down: set_up.step_down,
                poll_interval_ms: set_up.poll_interval_ms,
                create_missing: false,
            });
            let slot = self.slots[cand].0.clone();
            let sessions = self.sessions.clone();
            self.lives.spawn_local(async move { live(&*slot, &sessions, &election).await });
        }
    }

    /// Stops every candidate, writes the last event and reports the shutdown, all in bounded time.
    async fn end(mut self, mut receiver: Receiver) -> anyhow::Result<bool> {
        self.stop.send_replace(true);
        for (_, orders) in self.slots.values() {
            // A full queue has an order to leave in it already.
            let _ = orders.try_send(Order::Stop);
        }
        let until = tokio::time::Instant::now() + STOP_AT_MOST;
        let mut heard = true;
        loop {
            tokio::select! {
                // Whoever leads leaves with the answer to its last write.
                message = receiver.next(), if heard => match message {
                    Ok(Some(message @ (ToHost::Written { .. } | ToHost::Fenced { .. } | ToHost::GoOn { .. }))) => {
                        self.obey(message)?;
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => heard = false,
                },
                Some(write) = next(&mut self.writes) => self.take(write)?,
                life = tokio::time::timeout_at(until, self.lives.join_next()) => match life {
                    Ok(Some(life)) => self.ended.count(life)?,
                    Ok(None) | Err(_) => break,
                },
            }
        }
        let EndedCandidates { closed, mut unanswered } = self.ended;
        unanswered += to_u32(self.lives.len());
        // Whoever did not end in time must let go of the common session.
        self.lives.shutdown().await;
        unanswered += u32::from(!self.sessions.release().await);
        if let Err(what) = self.shared.journal.end() {
            return Ok(given_up(&self.shared, what).await);
        }
        self.shared.tell(FromHost::Bye { closed, unanswered });
        hung_up(&mut receiver).await;
        Ok(true)
    }
}

/// How candidates ended that have.
#[derive(Clone, Copy, Default)]
struct EndedCandidates {
    closed: u32,
    unanswered: u32,
}

impl EndedCandidates {
    /// A candidate that panicked is a bug, and must not be taken for one that stands no more.
    fn count(&mut self, life: Result<SessionClosure, JoinError>) -> anyhow::Result<()> {
        match life.context("a candidate's task failed")? {
            SessionClosure::Closed => self.closed += 1,
            SessionClosure::Unanswered => self.unanswered += 1,
        }
        Ok(())
    }
}

/// The next write; never, if none come in here.
async fn next(writes: &mut Option<mpsc::Receiver<PendingWrite>>) -> Option<PendingWrite> {
    match writes {
        Some(writes) => writes.recv().await,
        None => std::future::pending().await,
    }
}

async fn send_all(mut queue: mpsc::Receiver<QueuedMessage>, mut sender: Sender) {
    while let Some(outgoing) = queue.recv().await {
        let Some(message) = outgoing.message() else { continue };
        if sender.send(&message).await.is_err() {
            return;
        }
    }
}

async fn tell_progress(shared: Rc<HostShared>) {
    let mut told = (u32::MAX, u32::MAX);
    loop {
        let now = (shared.connected.get(), shared.standing.get());
        if now != told {
            shared.tell(FromHost::Progress { connected: now.0, standing: now.1 });
            told = now;
        }
        tokio::time::sleep(PROGRESS_INTERVAL).await;
    }
}
