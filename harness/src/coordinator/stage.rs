//! What the tasks of one cell share: its hosts, links, leaders, resource and segment. Faults act through it.

use std::cell::{Cell as Slot, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_reports::record::{Event, Touch};
use hustings_workloads::scenario::Cell;
use rustix::process::Signal;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout_at};

use crate::clock;
use crate::coordinator::hosts::{HostFactory, HostProcess, Inbound, process_memory};
use crate::coordinator::server_watch::ServerWatch;
use crate::ensemble::Ensemble;
use crate::journal::Journal;
use crate::links::Links;
use crate::protocol::{FloorPart, HostSetUp, ToHost};
use hustings_workloads::leaders::Leaders;
use hustings_workloads::resource::Resource;

/// The outcome of an order to one candidate: when it was sent and answered, or why it failed.
type Answer = Result<(u64, u64), String>;

/// Gives the path of a further segment by its writer's name.
pub(super) type Segments = Box<dyn FnMut(&str) -> anyhow::Result<PathBuf>>;

/// What came of one part of the floor's samples.
pub(super) type FloorTaken = (FloorPart, Result<Vec<(u64, u64)>, String>);

/// The shared state of one cell. Single-threaded.
pub struct Stage {
    pub cell: Rc<Cell>,
    pub journal: Journal,
    pub(super) factory: Rc<HostFactory>,
    pub(super) links: Option<Rc<Links>>,
    /// The servers, and who looks at them in cells with faults on servers.
    pub ensemble: Rc<dyn Ensemble>,
    pub(super) server_watch: Option<Rc<ServerWatch>>,
    /// Path under which the cell's znodes live.
    pub chroot: String,
    pub(super) hosts: RefCell<BTreeMap<u16, HostProcess>>,
    /// Set-up of each host, as its first process got it, and where further segments go.
    pub(super) set_ups: BTreeMap<u16, HostSetUp>,
    pub(super) segments: RefCell<Segments>,
    pub(super) lives: RefCell<BTreeMap<u16, u32>>,
    /// Which life of its host each session that led belonged to.
    pub(super) led: RefCell<BTreeMap<i64, u32>>,
    /// Held while a process is being killed: until it is gone, nobody may say that it is.
    pub(super) burying: Mutex<()>,
    /// Hosts whose process the harness itself ended.
    pub(super) buried: RefCell<BTreeSet<(u16, u32)>>,
    /// Hosts under a fault that lasts.
    pub(super) injured: RefCell<BTreeSet<u16>>,
    /// Servers under a fault that lasts.
    pub(super) injured_servers: RefCell<BTreeSet<u32>>,
    pub(super) leaders: RefCell<Leaders>,
    pub(super) resource: RefCell<Resource>,
    pub(super) asked: RefCell<BTreeMap<(u32, u32), oneshot::Sender<Answer>>>,
    pub(super) inbox: mpsc::Sender<Inbound>,
    /// Connected sessions and standing candidates by host.
    pub(super) progress: RefCell<BTreeMap<u16, (u32, u32)>>,
    pub(super) floor: RefCell<Option<mpsc::Sender<FloorTaken>>>,
    pub(super) faults: Slot<u32>,
    /// Faults and fencings under way. The tear-down waits for them: nobody injures or starts a host behind its back.
    pub(super) errands: RefCell<JoinSet<()>>,
    pub(super) stopping: Slot<bool>,
    /// The first thing that makes going on pointless.
    pub(super) trouble: watch::Sender<Option<String>>,
    /// Changes whenever a leader, a candidate's standing or a host changes.
    pub(super) changed: watch::Sender<u64>,
}

impl Stage {
    #[must_use]
    pub fn links(&self) -> Option<Rc<Links>> {
        self.links.clone()
    }

    /// Whether the cell is being torn down.
    #[must_use]
    pub fn stopping(&self) -> bool {
        self.stopping.get()
    }

    #[must_use]
    pub fn pid(&self, host: u16) -> Option<u32> {
        self.hosts.borrow().get(&host).map(|process| process.pid)
    }

    pub fn signal(&self, host: u16, signal: Signal) -> std::io::Result<()> {
        match self.hosts.borrow().get(&host) {
            Some(process) => process.signal(signal),
            None => Err(std::io::Error::other("no such host")),
        }
    }

    /// Sends an order about one candidate to its host and waits for what came of it.
    ///
    /// # Errors
    /// When the host is gone, says so, or does not answer in time.
    pub async fn ask(&self, cand: u32, fault: u32, order: ToHost, at_most: Duration) -> Answer {
        let host = self.leaders.borrow().host_of(cand).ok_or("no such candidate")?;
        let (sender, answer) = oneshot::channel();
        match self.hosts.borrow().get(&host) {
            Some(process) => process.tell(order),
            None => return Err(format!("host {host} has no process")),
        }
        self.asked.borrow_mut().insert((fault, cand), sender);
        let answer = tokio::time::timeout(at_most, answer).await;
        self.asked.borrow_mut().remove(&(fault, cand));
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err("the host went away before it answered".into()),
            Err(_) => Err(format!("no answer within {} s", at_most.as_secs())),
        }
    }

    /// When sessions behind these hosts' links were last heard of.
    ///
    /// # Errors
    /// A sentence for the receipt on why it is not known.
    pub async fn touches(&self, hosts: &[u16]) -> Result<Vec<Touch>, String> {
        match &self.links {
            Some(links) => {
                links.touches(hosts).await.map(|touches| touches.list).map_err(|e| format!("last touches unknown: {e}"))
            }
            None => Err("last touches unknown: no links".into()),
        }
    }

    /// Kills a host's process and waits until it is gone.
    pub async fn kill(&self, host: u16) -> anyhow::Result<ExitStatus> {
        let _turn = self.burying.lock().await;
        self.bury(host).await
    }

    /// Kills the process under which a session led, unless it is dead already; true when it was alive. A session that
    /// nobody has heard of may be of the process that runs now.
    pub async fn kill_leader(&self, host: u16, session: i64) -> anyhow::Result<bool> {
        let _turn = self.burying.lock().await;
        let led = self.led.borrow().get(&session).copied();
        let runs = self.hosts.borrow().get(&host).map(|process| process.life);
        if runs.is_none_or(|life| led.is_some_and(|led| led != life)) {
            return Ok(false);
        }
        self.bury(host).await.map(|_| true)
    }

    async fn bury(&self, host: u16) -> anyhow::Result<ExitStatus> {
        let mut process = self.hosts.borrow_mut().remove(&host).context("it has no process")?;
        self.buried.borrow_mut().insert((host, process.life));
        let memory = process_memory(process.pid).map_or(0, |(_, peak)| peak);
        let status = process.kill().await?;
        self.ended(host, process.life, true, &status.to_string(), memory);
        Ok(status)
    }

    /// Writes down that a host's process is gone.
    pub(super) fn ended(&self, host: u16, life: u32, killed: bool, status: &str, rss_max_kb: u64) {
        let mut leaders = self.leaders.borrow_mut();
        leaders.forget_host(host);
        // Who waits for an answer from there learns that none will come.
        self.asked.borrow_mut().retain(|&(_, cand), _| leaders.host_of(cand) != Some(host));
        drop(leaders);
        self.progress.borrow_mut().remove(&host);
        self.journal.push_through(&Event::HostEnded {
            t: clock::now(),
            host,
            life,
            killed,
            status: status.to_owned(),
            rss_max_kb,
        });
        self.touch();
    }

    /// Starts dead hosts again, as the next life of each, and lets them enrol. Gives their process ids.
    pub async fn restart(&self, hosts: &[u16]) -> anyhow::Result<Vec<u32>> {
        let mut wanted = Vec::new();
        for &host in hosts {
            if self.stopping.get() || self.hosts.borrow().contains_key(&host) {
                continue;
            }
            wanted.push(self.next_life(host)?);
        }
        let started = self.factory.start(wanted, &self.inbox).await?;
        let mut pids = Vec::new();
        for process in started {
            pids.push(process.pid);
            self.admit(process);
        }
        Ok(pids)
    }

    fn next_life(&self, host: u16) -> anyhow::Result<(u16, u32, HostSetUp)> {
        let mut set_up = self.set_ups.get(&host).context("no such host")?.clone();
        let mut lives = self.lives.borrow_mut();
        let life = lives.entry(host).or_insert(0);
        *life += 1;
        set_up.writer = writer_name(host, *life);
        set_up.segment = (self.segments.borrow_mut())(&set_up.writer)?;
        Ok((host, *life, set_up))
    }

    /// Takes in a started process and tells it to enrol.
    pub(super) fn admit(&self, process: HostProcess) {
        let (host, life, pid) = (process.host, process.life, process.pid);
        self.journal.push(&Event::HostStarted { t: clock::now(), host, life, pid });
        process.tell(ToHost::Enrol);
        self.hosts.borrow_mut().insert(host, process);
        self.touch();
    }

    /// Whether this is the process that is the host now, not one before it whose last words are still on their way.
    pub(super) fn is_current(&self, host: u16, life: u32) -> bool {
        self.hosts.borrow().get(&host).is_some_and(|process| process.life == life)
    }

    /// Tells the host something, if it still is that very process.
    pub(super) fn tell(&self, host: u16, life: u32, message: ToHost) {
        if let Some(process) = self.hosts.borrow().get(&host).filter(|process| process.life == life) {
            process.tell(message);
        }
    }

    /// Runs a task that the tear-down waits for.
    pub(super) fn errand(&self, task: impl Future<Output = ()> + 'static) {
        let mut errands = self.errands.borrow_mut();
        while let Some(done) = errands.try_join_next() {
            self.check(done);
        }
        errands.spawn_local(task);
    }

    /// Waits until no errand is under way; those that take longer are ended where they are, and that is told.
    pub(super) async fn finish_errands(&self, at_most: Duration) -> Result<(), String> {
        let until = Instant::now() + at_most;
        loop {
            // Taken out, because an errand may send another meanwhile.
            let mut errands = std::mem::take(&mut *self.errands.borrow_mut());
            if errands.is_empty() {
                return Ok(());
            }
            while !errands.is_empty() {
                match timeout_at(until, errands.join_next()).await {
                    Ok(done) => done.into_iter().for_each(|done| self.check(done)),
                    Err(_) => {
                        let left = errands.len();
                        errands.shutdown().await;
                        self.errands.borrow_mut().abort_all();
                        return Err(format!("{left} faults or fencings were still under way after {at_most:?}"));
                    }
                }
            }
        }
    }

    /// A task that panicked is a bug of the harness: what it left undone must not be measured.
    pub(super) fn check(&self, done: Result<(), JoinError>) {
        if let Err(error) = done {
            self.fail(format!("a fault's task failed: {error}"));
        }
    }

    /// The number of the next fault in the record.
    pub(super) fn next_fault(&self) -> u32 {
        self.faults.set(self.faults.get() + 1);
        self.faults.get() - 1
    }

    pub(super) fn touch(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }

    /// Waits until the clock shows `at`; false when the cell is cut short before.
    pub(super) async fn goes_on_until(&self, at: u64) -> bool {
        let mut changed = self.changed.subscribe();
        tokio::select! {
            biased;
            _ = changed.wait_for(|_| self.stopping.get()) => false,
            () = clock::sleep_until(at) => true,
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

    /// Candidates of all hosts that run.
    pub(super) fn candidates(&self) -> u32 {
        let hosts = self.hosts.borrow();
        hosts.keys().filter_map(|host| self.set_ups.get(host)).map(|set_up| set_up.candidates.len() as u32).sum()
    }

    /// Sessions that are connected and candidates that stand, of all hosts.
    pub(super) fn standing(&self) -> (u32, u32) {
        self.progress.borrow().values().fold((0, 0), |(c, s), (connected, standing)| (c + connected, s + standing))
    }
}

/// Name of a host's segment.
pub(crate) fn writer_name(host: u16, life: u32) -> String {
    format!("host-{host:03}.{life}")
}
