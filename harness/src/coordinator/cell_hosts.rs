//! The hosts of a cell: their processes one after the other, and the orders that wait for a reply.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_record::{Event, Nanos};
use hustings_workloads::driver::{CandidateOrderOutcome, State};
use rustix::process::Signal;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::coordinator::cell_status::CellStatus;
use crate::coordinator::environment::Environment;
use crate::coordinator::hosts::{HostMessage, HostProcess, process_weight};
use crate::process::clock;
use crate::process::procfs::ProcessId;
use crate::protocol::{HostSetUp, ToHost};
use crate::recording::archive::UnsavedManifest;
use crate::recording::journal::Journal;

/// The sidecar of a program has this long to record how the program ended.
const SIDECAR_AT_MOST: Duration = Duration::from_secs(3);

/// Milliseconds by which a wall clock was ahead before and after it was set; or why that is unknown.
type ClockSet = Result<(i64, i64), String>;

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
    pub(super) deaths: Vec<(u32, String)>,
    /// The generation of each session that led.
    pub(super) led: BTreeMap<i64, u32>,
    /// Connected sessions and enrolled candidates, as its process last reported.
    pub(super) progress: (u32, u32),
    /// Pending orders about its candidates, by fault and candidate.
    pub(super) orders: BTreeMap<(u32, u32), oneshot::Sender<CandidateOrderOutcome>>,
    /// The pending order to set its wall clock.
    pub(super) clock: Option<oneshot::Sender<ClockSet>>,
    /// Held while its process is being ended: no other task may report it as gone before it is.
    reaping: Arc<Mutex<()>>,
}

/// How the harness killed a process.
pub(super) struct KilledProcess {
    pub(super) status: ExitStatus,
    /// When the signal was delivered.
    pub(super) delivered: Nanos,
    /// It ended by the signal, and not by itself just before.
    pub(super) by_signal: bool,
}

impl KilledProcess {
    /// `acted`: whether the process that faults hit was alive before the signal. The rest is what [`HostProcess::kill`]
    /// returned.
    pub(super) fn of(acted: bool, (status, delivered): (ExitStatus, Nanos)) -> Self {
        let by_signal = acted && status.signal() == Some(Signal::KILL.as_raw());
        Self { status, delivered, by_signal }
    }
}

impl CellHost {
    pub(super) fn new(set_up: HostSetUp) -> Self {
        Self {
            set_up,
            process: None,
            generation: 0,
            reaped: BTreeSet::new(),
            deaths: Vec::new(),
            led: BTreeMap::new(),
            progress: (0, 0),
            orders: BTreeMap::new(),
            clock: None,
            reaping: Arc::default(),
        }
    }
}

/// All hosts of a cell. It starts and ends their processes and records that. Single-threaded.
pub(super) struct CellHosts {
    /// Empty before the set-up.
    pub(super) by_number: RefCell<BTreeMap<u16, CellHost>>,
    state: Rc<State>,
    journal: Journal,
    environment: Rc<Environment>,
    status: Rc<CellStatus>,
    inbox: mpsc::Sender<HostMessage>,
}

impl CellHosts {
    pub(super) fn new(
        state: Rc<State>,
        journal: Journal,
        environment: Rc<Environment>,
        status: Rc<CellStatus>,
        inbox: mpsc::Sender<HostMessage>,
    ) -> Self {
        Self { by_number: RefCell::default(), state, journal, environment, status, inbox }
    }

    /// Calls `act` with a host; None if there is no such host.
    pub(super) fn with<T>(&self, host: u16, act: impl FnOnce(&mut CellHost) -> T) -> Option<T> {
        self.by_number.borrow_mut().get_mut(&host).map(act)
    }

    /// Calls `act` with a host's process; None if it has none.
    pub(super) fn process<T>(&self, host: u16, act: impl FnOnce(&HostProcess) -> T) -> Option<T> {
        self.by_number.borrow().get(&host).and_then(|host| host.process.as_ref()).map(act)
    }

    /// The process that runs a host's candidates.
    pub(super) fn pid(&self, host: u16) -> Option<u32> {
        self.process(host, HostProcess::victim)
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

    /// The reported end of the program of this generation of a host.
    pub(super) fn reported_death(&self, host: u16, generation: u32) -> Option<String> {
        let hosts = self.by_number.borrow();
        let deaths = &hosts.get(&host)?.deaths;
        deaths.iter().find(|(of, _)| *of == generation).map(|(_, what)| what.clone())
    }

    pub(super) fn signal(&self, host: u16, signal: Signal) -> std::io::Result<()> {
        let sent = self.process(host, |process| process.signal(signal));
        sent.unwrap_or_else(|| Err(std::io::Error::other("no such host")))
    }

    /// Sends an order about one candidate to its host and waits for the outcome.
    ///
    /// # Errors
    /// The host has ended, reports an error, or does not reply in time.
    pub(super) async fn ask(&self, cand: u32, fault: u32, order: ToHost, at_most: Duration) -> CandidateOrderOutcome {
        let host = self.state.leaders.borrow().host_of(cand).ok_or("no such candidate")?;
        let (sender, answer) = oneshot::channel();
        self.process(host, |process| process.tell(order)).ok_or_else(|| format!("host {host} has no process"))?;
        self.with(host, |host| host.orders.insert((fault, cand), sender));
        let answer = tokio::time::timeout(at_most, answer).await;
        self.with(host, |host| host.orders.remove(&(fault, cand)));
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
    pub(super) async fn set_clock(&self, host: u16, by_ms: i64, at_most: Duration) -> ClockSet {
        let (sender, answer) = oneshot::channel();
        self.with(host, |host| host.clock = Some(sender));
        let asked = self.process(host, |process| process.tell(ToHost::SetClock { by_ms }));
        asked.ok_or_else(|| format!("host {host} has no process"))?;
        match tokio::time::timeout(at_most, answer).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(format!("no answer within {} s", at_most.as_secs())),
        }
    }

    /// Waits until no other task is ending this host's process. Those of several hosts can be ended at once.
    async fn turn(&self, host: u16) -> anyhow::Result<OwnedMutexGuard<()>> {
        let reaping = self.with(host, |host| Arc::clone(&host.reaping)).context("no such host")?;
        Ok(reaping.lock_owned().await)
    }

    /// Kills a host's process and waits until it has ended.
    pub(super) async fn kill(&self, host: u16) -> anyhow::Result<KilledProcess> {
        let _turn = self.turn(host).await?;
        self.reap(host).await
    }

    /// Kills the process under which a session led, unless it has ended already; true if it was alive. An unknown
    /// session may belong to the current process.
    pub(super) async fn kill_leader(&self, host: u16, session: i64) -> anyhow::Result<bool> {
        let _turn = self.turn(host).await?;
        let runs = self.process(host, |process| process.generation);
        let led = self.with(host, |host| host.led.get(&session).copied()).flatten();
        if runs.is_none_or(|generation| led.is_some_and(|led| led != generation)) {
            return Ok(false);
        }
        self.reap(host).await.map(|killed| killed.by_signal)
    }

    async fn reap(&self, host: u16) -> anyhow::Result<KilledProcess> {
        let mut process = {
            let mut hosts = self.by_number.borrow_mut();
            let own = hosts.get_mut(&host).context("no such host")?;
            let process = own.process.take().context("it has no process")?;
            own.reaped.insert(process.generation);
            process
        };
        let memory = process_weight(process.victim()).map_or(0, |weight| weight.rss_max_kb);
        let acted = process.program().is_none_or(ProcessId::is_alive);
        let killed = KilledProcess::of(acted, process.kill().await?);
        self.ended(host, process.generation, killed.by_signal, &killed.status.to_string(), memory);
        Ok(killed)
    }

    /// Sends a host's process SIGTERM, as deployments do, and waits until it has ended; kills it after `grace`. Returns
    /// its exit status, when it ended, and whether it was killed.
    pub(super) async fn terminate(&self, host: u16, grace: Duration) -> anyhow::Result<(ExitStatus, Nanos, bool)> {
        let _turn = self.turn(host).await?;
        let running = self.process(host, |process| (process.pid, process.victim(), process.generation));
        let (pid, victim, generation) = running.context("it has no process")?;
        let (sidecar, acts) = (ProcessId::of(pid), ProcessId::of(victim).context("its process has gone")?);
        self.with(host, |host| host.reaped.insert(generation));
        let memory = process_weight(victim).map_or(0, |weight| weight.rss_max_kb);
        if pid == victim {
            self.signal(host, Signal::TERM)?;
        } else {
            self.process(host, |process| process.tell(ToHost::Terminate));
        }
        // Until it has ended, its messages are answered as usual.
        let killed = !gone(acts, grace).await;
        let at = clock::now();
        if let Some(sidecar) = sidecar.filter(|_| !killed) {
            gone(sidecar, SIDECAR_AT_MOST).await;
        }
        let taken = self.with(host, |host| host.process.take()).flatten();
        let mut process = taken.context("it has gone by itself")?;
        let status = if killed { process.kill().await?.0 } else { process.wait(SIDECAR_AT_MOST).await?.0 };
        self.ended(host, process.generation, true, &status.to_string(), memory);
        Ok((status, at, killed))
    }

    /// The process of a host whose connection ended, unless the harness itself ended that process.
    pub(super) fn lost(&self, host: u16, generation: u32) -> Option<HostProcess> {
        let mut hosts = self.by_number.borrow_mut();
        let own = hosts.get_mut(&host).filter(|host| !host.reaped.contains(&generation))?;
        own.process.take_if(|process| process.generation == generation)
    }

    /// Records that a host's process has ended.
    pub(super) fn ended(&self, host: u16, generation: u32, killed: bool, status: &str, rss_max_kb: u64) {
        self.state.leaders.borrow_mut().forget_host(host);
        self.with(host, |host| {
            host.progress = (0, 0);
            // No reply to them will come.
            host.orders.clear();
        });
        let (t, status) = (clock::now(), status.to_owned());
        self.journal.push(&Event::HostEnded { t, host, generation, killed, status, rss_max_kb });
        self.status.touch();
    }

    /// Starts every host; each enrols its candidates.
    pub(super) async fn start(&self) -> anyhow::Result<()> {
        let wanted =
            self.by_number.borrow().iter().map(|(&host, own)| (host, own.generation, own.set_up.clone())).collect();
        for process in self.environment.factory.start(wanted, &self.inbox).await? {
            self.admit(process);
        }
        Ok(())
    }

    /// Restarts ended hosts, each as its next generation, and enrols them. Returns their process ids.
    pub(super) async fn restart(&self, hosts: &[u16]) -> anyhow::Result<Vec<u32>> {
        let (mut wanted, mut unsaved) = (Vec::new(), None);
        for &host in hosts {
            if self.status.is_stopping() || self.pid(host).is_some() {
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
        wanted.retain(|_| !self.status.is_stopping());
        let started = self.environment.factory.start(wanted, &self.inbox).await?;
        Ok(started.into_iter().map(|process| self.admit(process)).collect())
    }

    fn next_generation(&self, host: u16) -> anyhow::Result<((u16, u32, HostSetUp), UnsavedManifest)> {
        let mut hosts = self.by_number.borrow_mut();
        let own = hosts.get_mut(&host).context("no such host")?;
        own.generation += 1;
        let mut set_up = own.set_up.clone();
        set_up.writer = writer_name(host, own.generation);
        let (segment, unsaved) = self.environment.archive.borrow_mut().name_segment(&set_up.writer)?;
        set_up.segment = segment;
        Ok(((host, own.generation, set_up), unsaved))
    }

    /// Registers a started process and orders it to enrol. Returns its pid.
    fn admit(&self, process: HostProcess) -> u32 {
        let (host, generation, pid) = (process.host, process.generation, process.pid);
        self.journal.push(&Event::HostStarted { t: clock::now(), host, generation, pid });
        process.tell(ToHost::Enrol);
        self.with(host, |host| host.process = Some(process));
        self.status.touch();
        pid
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
