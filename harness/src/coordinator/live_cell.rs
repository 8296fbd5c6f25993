//! A cell under way on real processes: its hosts, links, servers and segment, and the actions on them.

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

/// The sidecar of a program has this long to record how the program ended.
const BESIDE_AT_MOST: Duration = Duration::from_secs(3);

/// Milliseconds by which a wall clock was ahead before and after it was set; or why that is unknown.
type ClockSet = Result<(i64, i64), String>;

/// The result of one part of the floor's samples.
pub(super) type FloorSaid = (FloorPart, FloorPair, FloorTaken);

/// A host from the cell's set-up to its tear-down: a sequence of processes.
pub(super) struct CellHost {
    /// As its first process got it.
    pub(super) set_up: HostSetUp,
    pub(super) process: Option<HostProcess>,
    /// Number of processes before the current one.
    generation: u32,
    /// Generations whose process the harness itself ended.
    reaped: BTreeSet<u32>,
    /// External programs that ended by themselves: generation and description.
    deaths: Vec<(u32, String)>,
    /// The generation of each session that led.
    led: BTreeMap<i64, u32>,
    /// Connected sessions and enrolled candidates, as its process last reported.
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

/// A cell before its set-up, and the receiver of its hosts' messages.
pub(super) type NewCell = (Rc<LiveCell>, mpsc::Receiver<Inbound>);

/// The state of one cell under way. Single-threaded.
pub(crate) struct LiveCell {
    pub(crate) state: State,
    pub(crate) journal: Journal,
    pub(super) environment: Environment,
    /// Set by the set-up; without candidates there is nothing to observe.
    pub(super) watching: RefCell<Option<Watching>>,
    pub(super) hosts: RefCell<BTreeMap<u16, CellHost>>,
    /// Held while a process is being killed: no other task may report it as gone before it is.
    pub(super) reaping: Mutex<()>,
    pub(super) asked: RefCell<BTreeMap<(u32, u32), oneshot::Sender<CandidateOrderOutcome>>>,
    /// Pending orders to set a host's wall clock.
    clocks: RefCell<BTreeMap<u16, oneshot::Sender<ClockSet>>>,
    pub(super) inbox: mpsc::Sender<Inbound>,
    pub(super) floor: RefCell<Option<mpsc::Sender<FloorSaid>>>,
    pub(super) sync_point: SyncPoint,
    /// Writes that the resource withholds for now.
    pub(crate) hung: Hung,
    pub(super) background_tasks: BackgroundTasks,
    pub(super) stopping: Slot<bool>,
    /// The first error that makes it pointless to continue.
    pub(super) trouble: watch::Sender<Option<String>>,
    /// Changes whenever a leader, a candidate's enrolment or a host changes.
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

    /// The run's access to the servers.
    pub(crate) fn access(&self) -> &Access {
        &self.environment.access
    }

    /// Path of the cell's znodes.
    pub(crate) fn chroot(&self) -> &str {
        &self.environment.chroot
    }

    /// Whether the cell is being torn down.
    pub(crate) fn stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Calls `act` with a host's process; None if it has none.
    pub(super) fn process<T>(&self, host: u16, act: impl FnOnce(&HostProcess) -> T) -> Option<T> {
        self.hosts.borrow().get(&host).and_then(|host| host.process.as_ref()).map(act)
    }

    /// The process that runs a host's candidates.
    pub(crate) fn pid(&self, host: u16) -> Option<u32> {
        self.process(host, HostProcess::victim)
    }

    /// Notes the process that acts for a host, as the host reported it.
    pub(super) fn acts(&self, host: u16, generation: u32, pid: Option<u32>) {
        if self.is_current(host, generation) {
            self.process(host, |process| process.is_acted_for_by(pid));
        }
    }

    /// Notes that the program of a host's candidates ended by itself, as the host reported.
    pub(super) fn died(&self, host: u16, generation: u32, what: &str) {
        if let Some(host) = self.hosts.borrow_mut().get_mut(&host) {
            host.deaths.push((generation, what.to_owned()));
        }
    }

    /// The reported end of the program of this generation of a host.
    pub(super) fn told_of_death(&self, host: u16, generation: u32) -> Option<String> {
        let hosts = self.hosts.borrow();
        let deaths = &hosts.get(&host)?.deaths;
        deaths.iter().find(|(of, _)| *of == generation).map(|(_, what)| what.clone())
    }

    /// Number of times that the program of a host has ended by itself.
    pub(super) fn deaths_of(&self, host: u16) -> usize {
        self.hosts.borrow().get(&host).map_or(0, |host| host.deaths.len())
    }

    /// Waits this long; false if the tear-down begins before.
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

    /// Sends an order about one candidate to its host and waits for the outcome.
    ///
    /// # Errors
    /// The host has ended, reports an error, or does not reply in time.
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

    /// Makes a host set the wall clock of its candidates.
    ///
    /// # Errors
    /// Why the outcome is unknown.
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

    /// Passes on the outcome that a host reported.
    pub(super) fn clock_told(&self, host: u16, outcome: ClockSet) {
        if let Some(waits) = self.clocks.borrow_mut().remove(&host) {
            // The requester may have timed out.
            let _ = waits.send(outcome);
        }
    }

    /// Passes a write to the resource and sends the reply.
    pub(super) fn take(&self, write: Waiting) {
        let Waiting { host, generation, cand, token, sent } = write;
        let Some(group) = self.state.leaders.borrow().group_of(cand) else { return };
        let taken = self.state.resource.borrow_mut().write(group as usize, cand, token);
        self.journal.push(&taken.event((sent, clock::now()), group, (cand, host), token));
        let answer = WriteAnswer { seq: taken.seq, refused: taken.fenced_rejected };
        self.tell(host, generation, ToHost::Written { cand, answer });
    }

    /// The token of the znode of this name, if the observer knows that znode under the token's session.
    pub(super) fn token_of(&self, cand: u32, token: Token, node: &str) -> Token {
        let group = self.state.leaders.borrow().group_of(cand);
        let watching = self.watching.borrow();
        let czxid = group
            .zip(watching.as_ref())
            .and_then(|(group, watching)| watching.groups.borrow().get(group as usize)?.czxid_of(node, token.session));
        Token { czxid: czxid.unwrap_or(token.czxid), ..token }
    }

    /// Passes the withheld writes of a host to the resource. Returns their number.
    pub(crate) fn take_withheld(&self, host: u16) -> usize {
        let withheld = self.hung.end(host);
        let count = withheld.len();
        withheld.into_iter().for_each(|write| self.take(write));
        count
    }

    /// The last touches of the sessions behind these hosts' links.
    ///
    /// # Errors
    /// A sentence for the verification on why that is unknown.
    pub(crate) async fn touches(&self, hosts: &[u16]) -> Result<Vec<Touch>, String> {
        match &self.environment.links {
            Some(links) => {
                links.touches(hosts).await.map(|touches| touches.list).map_err(|e| format!("last touches unknown: {e}"))
            }
            None => Err("last touches unknown: no links".into()),
        }
    }

    /// Kills a host's process and waits until it has ended. Also returns when the signal was delivered.
    pub(crate) async fn kill(&self, host: u16) -> anyhow::Result<(ExitStatus, Nanos)> {
        let _turn = self.reaping.lock().await;
        self.reap(host).await
    }

    /// Kills the process under which a session led, unless it has ended already; true if it was alive. An unknown
    /// session may belong to the current process.
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

    /// Sends a host's process SIGTERM, as deployments do, and waits until it has ended; kills it after `grace`. Returns
    /// its exit status, when it ended, and whether it was killed.
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
        // Until it has ended, its messages are answered as usual.
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

    /// The process of a host whose connection ended, unless the harness itself ended that process.
    pub(super) fn lost(&self, host: u16, generation: u32) -> Option<HostProcess> {
        let mut hosts = self.hosts.borrow_mut();
        let slot = hosts.get_mut(&host).filter(|slot| !slot.reaped.contains(&generation))?;
        slot.process.take_if(|process| process.generation == generation)
    }

    /// Records that a host's process has ended.
    pub(super) fn ended(&self, host: u16, generation: u32, killed: bool, status: &str, rss_max_kb: u64) {
        let mut leaders = self.state.leaders.borrow_mut();
        leaders.forget_host(host);
        // Drops the pending orders to this host: no reply will come.
        self.asked.borrow_mut().retain(|&(_, cand), _| leaders.host_of(cand) != Some(host));
        drop(leaders);
        if let Some(host) = self.hosts.borrow_mut().get_mut(&host) {
            host.progress = (0, 0);
        }
        let (t, status) = (clock::now(), status.to_owned());
        self.journal.push(&Event::HostEnded { t, host, generation, killed, status, rss_max_kb });
        self.touch();
    }

    /// Starts every host; each enrols its candidates.
    pub(super) async fn start_hosts(&self) -> anyhow::Result<()> {
        let wanted =
            self.hosts.borrow().iter().map(|(&host, slot)| (host, slot.generation, slot.set_up.clone())).collect();
        for process in self.environment.factory.start(wanted, &self.inbox).await? {
            self.admit(process);
        }
        Ok(())
    }

    /// Restarts ended hosts, each as its next generation, and enrols them. Returns their process ids.
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
        // The tear-down may have begun while the disk was slow.
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

    /// Registers a started process and orders it to enrol. Returns its pid.
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

    /// Whether this is the host's current process, not an earlier one with late messages.
    pub(super) fn is_current(&self, host: u16, generation: u32) -> bool {
        self.process(host, |process| process.generation) == Some(generation)
    }

    /// Sends a message to the host, if that process is still current.
    pub(super) fn tell(&self, host: u16, generation: u32, message: ToHost) {
        if self.is_current(host, generation) {
            self.process(host, |process| process.tell(message));
        }
    }

    /// Notes that a session of this generation of its host led.
    pub(super) fn leads(&self, host: u16, generation: u32, session: i64) {
        if let Some(slot) = self.hosts.borrow_mut().get_mut(&host) {
            slot.led.insert(session, generation);
        }
    }

    /// Runs a task that the tear-down waits for.
    pub(super) fn send(&self, task: impl Future<Output = ()> + 'static) {
        self.background_tasks.send(task).into_iter().for_each(|error| self.check(error));
    }

    /// A task that panicked is a bug of the harness: its incomplete work must not be measured.
    pub(super) fn check(&self, error: JoinError) {
        self.fail(format!("a fault's task failed: {error}"));
    }

    pub(super) fn touch(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }

    /// Waits until the cell cannot continue.
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

    /// Keeps the first error: later ones are mostly its consequences.
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

/// Waits until a process has ended; false: it did not in that time.
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
