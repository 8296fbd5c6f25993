//! A cell under way on real processes: its hosts, links, servers and segment, and what is done to them.

use std::cell::{Cell as Slot, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_record::{Event, Nanos, Touch};
use hustings_workloads::driver::{CandidateOrderOutcome, FloorPair, FloorPart, FloorTaken, State};
use hustings_workloads::host::Token;
use hustings_workloads::scenario::{Cell, placement};
use rustix::process::Signal;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::{JoinError, spawn_blocking};

use crate::access::Access;
use crate::coordinator::background_tasks::BackgroundTasks;
use crate::coordinator::cut_short::CutShort;
use crate::coordinator::environment::Environment;
use crate::coordinator::hosts::{HostProcess, Inbound, Inbox, process_weight};
use crate::coordinator::hung::{Hung, Waiting};
use crate::coordinator::sync_point::SyncPoint;
use crate::coordinator::watching::Watching;
use crate::ensemble::Ensemble;
use crate::links::RunLinks;
use crate::process::clock;
use crate::process::procfs::ProcessId;
use crate::protocol::{HostSetUp, ToHost, WriteAnswer};
use crate::recording::archive::UnsavedManifest;
use crate::recording::journal::Journal;

/// What stands beside a program has this long to write down what it saw of its end.
const BESIDE_AT_MOST: Duration = Duration::from_secs(3);

/// By how many milliseconds a wall clock was ahead before and after it was set; or why that is not known.
type ClockSet = Result<(i64, i64), String>;

/// What came of one part of the floor's samples.
pub(super) type FloorSaid = (FloorPart, FloorPair, FloorTaken);

/// A host from the cell's set-up to its tear-down: one process after the other.
pub(super) struct CellHost {
    /// As its first process got it.
    pub(super) set_up: HostSetUp,
    pub(super) process: Option<HostProcess>,
    /// How many processes were this host before the last one.
    generation: u32,
    /// Lives whose process the harness itself ended.
    reaped: BTreeSet<u32>,
    /// Programs of somebody else's that ended by themselves: which generation's, and what was said of it.
    deaths: Vec<(u32, String)>,
    /// Which generation each session that led belonged to.
    led: BTreeMap<i64, u32>,
    /// Connected sessions and standing candidates, as its process last told.
    pub(super) progress: (u32, u32),
}

impl CellHost {
    pub(super) fn new(set_up: HostSetUp) -> Self {
        Self {
            set_up,
            process: None,
            generation: 0,
            reaped: BTreeSet::new(),
            deaths: Vec::default(),
            led: BTreeMap::default(),
            progress: (0, 0),
        }
    }
}

/// A cell of which nothing is set up yet, and where its hosts' words come in.
pub(super) type NewCell = (Rc<LiveCell>, mpsc::Receiver<Inbound>);

/// The state of one cell under way. Single-threaded.
pub(crate) struct LiveCell {
    pub(crate) state: State,
    pub(crate) journal: Journal,
    pub(super) environment: Environment,
    /// Since the set-up; without candidates there is nothing to observe.
    pub(super) watching: RefCell<Option<Watching>>,
    pub(super) hosts: RefCell<BTreeMap<u16, CellHost>>,
    /// Held while a process is being killed: until it is gone, nobody may say that it is.
    pub(super) reaping: Mutex<()>,
    pub(super) asked: RefCell<BTreeMap<(u32, u32), oneshot::Sender<CandidateOrderOutcome>>>,
    /// Who waits for what came of an order to set a host's wall clock.
    clocks: RefCell<BTreeMap<u16, oneshot::Sender<ClockSet>>>,
    pub(super) inbox: mpsc::Sender<Inbound>,
    pub(super) floor: RefCell<Option<mpsc::Sender<FloorSaid>>>,
    pub(super) sync_point: SyncPoint,
    /// Writes that the resource does not take for now.
    pub(crate) hung: Hung,
    pub(super) background_tasks: BackgroundTasks,
    pub(super) stopping: Slot<bool>,
    /// The first thing that makes going on pointless.
    pub(super) trouble: watch::Sender<Option<String>>,
    /// Changes whenever a leader, a candidate's standing or a host changes.
    pub(super) changed: watch::Sender<u64>,
}

impl LiveCell {
    pub(super) fn new(cell: Rc<Cell>, environment: Environment, journal: Journal) -> NewCell {
        let Inbox { sender, receiver } = Inbox::new();
        let placed = placement(&cell, environment.seed);
        let live = Self {
            state: State::new(cell, environment.seed, placed),
            journal,
            environment,
            watching: RefCell::default(),
            hosts: RefCell::default(),
            reaping: Mutex::default(),
            asked: RefCell::default(),
            clocks: RefCell::default(),
            inbox: sender,
            floor: RefCell::default(),
            sync_point: SyncPoint::default(),
            hung: Hung::default(),
            background_tasks: BackgroundTasks::default(),
            stopping: Slot::new(false),
            trouble: watch::Sender::new(None),
            changed: watch::Sender::new(0),
        };
        (Rc::new(live), receiver)
    }

    pub(crate) fn links(&self) -> Option<Rc<RunLinks>> {
        self.environment.links.clone()
    }

    pub(crate) fn ensemble(&self) -> Rc<dyn Ensemble> {
        self.environment.ensemble.clone()
    }

    /// Who the run is to the servers.
    pub(crate) fn access(&self) -> &Access {
        &self.environment.access
    }

    /// Path under which the cell's znodes live.
    pub(crate) fn chroot(&self) -> &str {
        &self.environment.chroot
    }

    /// Whether the cell is being torn down.
    pub(crate) fn stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Does something with a host's process; None where it has none.
    pub(super) fn process<T>(&self, host: u16, act: impl FnOnce(&HostProcess) -> T) -> Option<T> {
        self.hosts.borrow().get(&host).and_then(|host| host.process.as_ref()).map(act)
    }

    /// The process on which a host's candidates live.
    pub(crate) fn pid(&self, host: u16) -> Option<u32> {
        self.process(host, HostProcess::victim)
    }

    /// A host says which process acts for it.
    pub(super) fn acts(&self, host: u16, generation: u32, pid: Option<u32>) {
        if self.is_current(host, generation) {
            self.process(host, |process| process.is_acted_for_by(pid));
        }
    }

    /// A host says that the program whose candidates these were has ended by itself.
    pub(super) fn died(&self, host: u16, generation: u32, what: &str) {
        if let Some(host) = self.hosts.borrow_mut().get_mut(&host) {
            host.deaths.push((generation, what.to_owned()));
        }
    }

    /// What was said of the end of the program of this generation of a host.
    pub(super) fn told_of_death(&self, host: u16, generation: u32) -> Option<String> {
        let hosts = self.hosts.borrow();
        let deaths = &hosts.get(&host)?.deaths;
        deaths.iter().find(|(of, _)| *of == generation).map(|(_, what)| what.clone())
    }

    /// How often the program of a host has ended by itself.
    pub(super) fn deaths_of(&self, host: u16) -> usize {
        self.hosts.borrow().get(&host).map_or(0, |host| host.deaths.len())
    }

    /// Waits for so long; false when the cell is being torn down before.
    pub(super) async fn goes_on_for(&self, long: Duration) -> bool {
        let mut changed = self.changed.subscribe();
        tokio::select! {
            biased;
            _ = changed.wait_for(|_| self.stopping.get()) => false,
            () = tokio::time::sleep(long) => true,
        }
    }

    pub(crate) fn signal(&self, host: u16, signal: Signal) -> std::io::Result<()> {
        let sent = self.process(host, |process| process.signal(signal));
        sent.unwrap_or_else(|| Err(std::io::Error::other("no such host")))
    }

    /// Sends an order about one candidate to its host and waits for what came of it.
    ///
    /// # Errors
    /// When the host is gone, says so, or does not answer in time.
    pub(crate) async fn ask(&self, cand: u32, fault: u32, order: ToHost, at_most: Duration) -> CandidateOrderOutcome {
        let host = self.state.leaders.borrow().host_of(cand).ok_or("no such candidate")?;
        let (sender, answer) = oneshot::channel();
        self.process(host, |process| process.tell(order)).ok_or_else(|| format!("host {host} has no process"))?;
        self.asked.borrow_mut().insert((fault, cand), sender);
        let answer = tokio::time::timeout(at_most, answer).await;
        self.asked.borrow_mut().remove(&(fault, cand));
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err("the host went away before it answered".into()),
            Err(_) => Err(format!("no answer within {} s", at_most.as_secs())),
        }
    }

    /// Has a host set the wall clock of its candidates.
    ///
    /// # Errors
    /// Why it is not known what came of it.
    pub(crate) async fn set_clock(&self, host: u16, by_ms: i64, at_most: Duration) -> ClockSet {
        let (sender, answer) = oneshot::channel();
        self.clocks.borrow_mut().insert(host, sender);
        let asked = self.process(host, |process| process.tell(ToHost::SetClock { by_ms }));
        asked.ok_or_else(|| format!("host {host} has no process"))?;
        match tokio::time::timeout(at_most, answer).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(format!("no answer within {} s", at_most.as_secs())),
        }
    }

    /// A host says what came of that.
    pub(super) fn clock_told(&self, host: u16, outcome: ClockSet) {
        if let Some(waits) = self.clocks.borrow_mut().remove(&host) {
            // Whoever asked may have given up.
            let _ = waits.send(outcome);
        }
    }

    /// Has the resource take a write, and answers it.
    pub(super) fn take(&self, write: Waiting) {
        let Waiting { host, generation, cand, token, sent } = write;
        let Some(group) = self.state.leaders.borrow().group_of(cand) else { return };
        let taken = self.state.resource.borrow_mut().write(group as usize, cand, token);
        self.journal.push(&taken.event((sent, clock::now()), group, (cand, host), token));
        let answer = WriteAnswer { seq: taken.seq, refused: taken.fenced_rejected };
        self.tell(host, generation, ToHost::Written { cand, answer });
    }

    /// The token of the znode of this name, as far as the observer knows it under the token's session.
    pub(super) fn token_of(&self, cand: u32, token: Token, node: &str) -> Token {
        let group = self.state.leaders.borrow().group_of(cand);
        let watching = self.watching.borrow();
        let czxid = group
            .zip(watching.as_ref())
            .and_then(|(group, watching)| watching.groups.borrow().get(group as usize)?.czxid_of(node, token.session));
        Token { czxid: czxid.unwrap_or(token.czxid), ..token }
    }

    /// Has the resource take what it withheld from a host. Gives how many writes that were.
    pub(crate) fn take_withheld(&self, host: u16) -> usize {
        let withheld = self.hung.end(host);
        let count = withheld.len();
        withheld.into_iter().for_each(|write| self.take(write));
        count
    }

    /// When sessions behind these hosts' links were last heard of.
    ///
    /// # Errors
    /// A sentence for the receipt on why it is not known.
    pub(crate) async fn touches(&self, hosts: &[u16]) -> Result<Vec<Touch>, String> {
        match &self.environment.links {
            Some(links) => {
                links.touches(hosts).await.map(|touches| touches.list).map_err(|e| format!("last touches unknown: {e}"))
            }
            None => Err("last touches unknown: no links".into()),
        }
    }

    /// Kills a host's process and waits until it is gone. Gives when the signal was delivered, too.
    pub(crate) async fn kill(&self, host: u16) -> anyhow::Result<(ExitStatus, Nanos)> {
        let _turn = self.reaping.lock().await;
        self.reap(host).await
    }

    /// Kills the process under which a session led, unless it is dead already; true when it was alive. A session that
    /// nobody has heard of may be of the process that runs now.
    pub(super) async fn kill_leader(&self, host: u16, session: i64) -> anyhow::Result<bool> {
        let _turn = self.reaping.lock().await;
        let runs = self.process(host, |process| process.generation);
        let led = self.hosts.borrow().get(&host).and_then(|host| host.led.get(&session).copied());
        if runs.is_none_or(|generation| led.is_some_and(|led| led != generation)) {
            return Ok(false);
        }
        self.reap(host).await.map(|_| true)
    }

    async fn reap(&self, host: u16) -> anyhow::Result<(ExitStatus, Nanos)> {
        let mut process = {
            let mut hosts = self.hosts.borrow_mut();
            let slot = hosts.get_mut(&host).context("no such host")?;
            let process = slot.process.take().context("it has no process")?;
            slot.reaped.insert(process.generation);
            process
        };
        let memory = process_weight(process.victim()).map_or(0, |weight| weight.rss_max_kb);
        let (status, delivered) = process.kill().await?;
        self.ended(host, process.generation, true, &status.to_string(), memory);
        Ok((status, delivered))
    }

    /// Sends a host's process the signal by which deployments end processes, and waits until it is gone; kills it after `grace`.
    /// Gives when it was gone and by what, and whether it had to be killed.
    pub(crate) async fn terminate(&self, host: u16, grace: Duration) -> anyhow::Result<(ExitStatus, Nanos, bool)> {
        let _turn = self.reaping.lock().await;
        let (pid, victim) =
            self.process(host, |process| (process.pid, process.victim())).context("it has no process")?;
        let (beside, acts) = (ProcessId::of(pid), ProcessId::of(victim).context("its process has gone")?);
        if let Some(slot) = self.hosts.borrow_mut().get_mut(&host) {
            slot.reaped.extend(slot.process.as_ref().map(|process| process.generation));
        }
        let memory = process_weight(victim).map_or(0, |weight| weight.rss_max_kb);
        if pid == victim {
            self.signal(host, Signal::TERM)?;
        } else {
            self.process(host, |process| process.tell(ToHost::Terminate));
        }
        // Until it is gone it is answered like any other.
        let killed = !gone(acts, grace).await;
        let at = clock::now();
        if let Some(beside) = beside.filter(|_| !killed) {
            gone(beside, BESIDE_AT_MOST).await;
        }
        let taken = self.hosts.borrow_mut().get_mut(&host).and_then(|slot| slot.process.take());
        let mut process = taken.context("it has gone by itself")?;
        let (status, _) = if killed { (process.kill().await?.0, true) } else { process.wait(BESIDE_AT_MOST).await? };
        self.ended(host, process.generation, true, &status.to_string(), memory);
        Ok((status, at, killed))
    }

    /// The process of a host that has hung up, unless the harness itself ended it.
    pub(super) fn lost(&self, host: u16, generation: u32) -> Option<HostProcess> {
        let mut hosts = self.hosts.borrow_mut();
        let slot = hosts.get_mut(&host).filter(|slot| !slot.reaped.contains(&generation))?;
        slot.process.take_if(|process| process.generation == generation)
    }

    /// Writes down that a host's process is gone.
    pub(super) fn ended(&self, host: u16, generation: u32, killed: bool, status: &str, rss_max_kb: u64) {
        let mut leaders = self.state.leaders.borrow_mut();
        leaders.forget_host(host);
        // Who waits for an answer from there learns that none will come.
        self.asked.borrow_mut().retain(|&(_, cand), _| leaders.host_of(cand) != Some(host));
        drop(leaders);
        if let Some(host) = self.hosts.borrow_mut().get_mut(&host) {
            host.progress = (0, 0);
        }
        let (t, status) = (clock::now(), status.to_owned());
        self.journal.push(&Event::HostEnded { t, host, generation, killed, status, rss_max_kb });
        self.touch();
    }

    /// Starts every host; each lets its candidates stand.
    pub(super) async fn start_hosts(&self) -> anyhow::Result<()> {
        let wanted =
            self.hosts.borrow().iter().map(|(&host, slot)| (host, slot.generation, slot.set_up.clone())).collect();
        for process in self.environment.factory.start(wanted, &self.inbox).await? {
            self.admit(process);
        }
        Ok(())
    }

    /// Starts dead hosts again, as the next generation of each, and lets them enrol. Gives their process ids.
    pub(crate) async fn restart(&self, hosts: &[u16]) -> anyhow::Result<Vec<u32>> {
        let (mut wanted, mut unsaved) = (Vec::new(), None);
        for &host in hosts {
            if self.stopping.get() || self.pid(host).is_some() {
                continue;
            }
            let (next, manifest) = self.next_generation(host)?;
            wanted.push(next);
            unsaved = Some(manifest);
        }
        if let Some(manifest) = unsaved {
            spawn_blocking(|| manifest.save()).await??;
        }
        // The disk may have taken its time.
        wanted.retain(|_| !self.stopping.get());
        let started = self.environment.factory.start(wanted, &self.inbox).await?;
        let admit = |process: HostProcess| self.admit(process);
        Ok(started.into_iter().map(admit).collect())
    }

    fn next_generation(&self, host: u16) -> anyhow::Result<((u16, u32, HostSetUp), UnsavedManifest)> {
        let mut hosts = self.hosts.borrow_mut();
        let slot = hosts.get_mut(&host).context("no such host")?;
        slot.generation += 1;
        let mut set_up = slot.set_up.clone();
        set_up.writer = writer_name(host, slot.generation);
        let (segment, unsaved) = self.environment.archive.borrow_mut().name_segment(&set_up.writer)?;
        set_up.segment = segment;
        Ok(((host, slot.generation, set_up), unsaved))
    }

    /// Takes in a started process and tells it to enrol. Gives its pid.
    fn admit(&self, process: HostProcess) -> u32 {
        let (host, generation, pid) = (process.host, process.generation, process.pid);
        self.journal.push(&Event::HostStarted { t: clock::now(), host, generation, pid });
        process.tell(ToHost::Enrol);
        if let Some(slot) = self.hosts.borrow_mut().get_mut(&host) {
            slot.process = Some(process);
        }
        self.touch();
        pid
    }

    /// Whether this is the process that is the host now, not one before it whose last words are still on their way.
    pub(super) fn is_current(&self, host: u16, generation: u32) -> bool {
        self.process(host, |process| process.generation) == Some(generation)
    }

    /// Tells the host something, if it still is that very process.
    pub(super) fn tell(&self, host: u16, generation: u32, message: ToHost) {
        if self.is_current(host, generation) {
            self.process(host, |process| process.tell(message));
        }
    }

    /// Remembers that a session of this generation of its host led.
    pub(super) fn leads(&self, host: u16, generation: u32, session: i64) {
        if let Some(slot) = self.hosts.borrow_mut().get_mut(&host) {
            slot.led.insert(session, generation);
        }
    }

    /// Runs a task that the tear-down waits for.
    pub(super) fn send(&self, task: impl Future<Output = ()> + 'static) {
        self.background_tasks.send(task).into_iter().for_each(|error| self.check(error));
    }

    /// A task that panicked is a bug of the harness: what it left undone must not be measured.
    pub(super) fn check(&self, error: JoinError) {
        self.fail(format!("a fault's task failed: {error}"));
    }

    pub(super) fn touch(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }

    /// Waits until the cell cannot go on.
    pub(super) async fn cut_short(&self) -> CutShort {
        let mut trouble = self.trouble.subscribe();
        let observed = self.watching.borrow().as_ref().map(|watching| watching.journal.clone());
        let unobserved = async {
            match observed {
                Some(journal) => journal.failed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Ok(what) = trouble.wait_for(Option::is_some) => CutShort::Aborted(what.clone().unwrap_or_default()),
            what = self.journal.failed() => CutShort::Aborted(what),
            what = unobserved => CutShort::Aborted(what),
            () = self.environment.interrupt.first() => CutShort::Interrupted,
        }
    }

    /// The first trouble stays: what follows is mostly its echo.
    pub(super) fn fail(&self, what: String) {
        self.trouble.send_if_modified(|trouble| {
            let first = trouble.is_none();
            if first {
                *trouble = Some(what);
            }
            first
        });
    }
}

/// Waits until a process is gone; false: it was not in that time.
pub(super) async fn gone(process: ProcessId, at_most: Duration) -> bool {
    let until = tokio::time::Instant::now() + at_most;
    while process.is_alive() {
        if tokio::time::Instant::now() > until {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    true
}

/// Name of a host's segment.
pub(crate) fn writer_name(host: u16, generation: u32) -> String {
    format!("host-{host:03}.{generation}")
}
