//! Host processes as the coordinator runs them: started by the same factory, with the same protocol. Their requests to
//! the coordinator are answered at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use hustings::access::Access;
use hustings::client::session::ZkSession;
use hustings::coordinator::hosts::{HostMessage, HostProcess, Inbox};
use hustings::process::clock;
use hustings::protocol::{FromHost, HostCandidates, HostSetUp, ToHost, WriteAnswer};
use hustings_record::{Event, Nanos, SEGMENT_ENDING, SessionUse};
use hustings_workloads::driver::{CandidateOrderOutcome, lay_out};
use hustings_workloads::host::Token;
use hustings_workloads::recipes::{RecipeKind, StepDown};
use hustings_workloads::scenario::ROOT;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, spawn_local};

use crate::stage::Stage;
use crate::tail::RecordTail;

pub(crate) const HOSTS: u16 = 5;

/// T, five ticks. Short, so that many crashes fit in.
const TIMEOUT_MS: u64 = 500;
/// As in the scenario `quick`.
const WORK_INTERVAL_MS: u64 = 40;
/// Defaults of scenarios.
const POLL_INTERVAL_MS: u64 = 200;
const CONNECT_CONCURRENCY: u32 = 64;
/// Long enough for another candidate to lead by then. Otherwise the resigned candidate would compete with it.
const REJOIN_AFTER_MS: u64 = 150;
const ADMIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Limit for the arrival of any message.
const AT_MOST: Duration = Duration::from_secs(20);

/// Placement of candidates: `groups` groups of `per_group` candidates, numbered group by group. If a group has more
/// candidates than there are hosts, neighbours in it share a host.
#[derive(Clone, Copy)]
pub(crate) struct Electorate {
    pub(crate) recipe: RecipeKind,
    pub(crate) groups: u32,
    pub(crate) per_group: u32,
}

impl Electorate {
    pub(crate) fn candidates(self) -> u32 {
        self.groups * self.per_group
    }

    pub(crate) fn group_of(self, cand: u32) -> u32 {
        cand / self.per_group
    }

    pub(crate) fn host_of(self, cand: u32) -> u16 {
        (cand % self.per_group * u32::from(HOSTS) / self.per_group) as u16
    }
}

struct Host {
    set_up: HostSetUp,
    /// Generation of the next process.
    generation: u32,
    tail: Option<RecordTail>,
}

/// Messages received so far.
#[derive(Default)]
pub(crate) struct HostReports {
    processes: RefCell<BTreeMap<u16, HostProcess>>,
    /// The tokens of the candidates that believe they lead.
    leaders: RefCell<BTreeMap<u32, Token>>,
    outcomes: RefCell<BTreeMap<u32, CandidateOrderOutcome>>,
    /// Number of hosts that have reported their shutdown.
    gone: Cell<usize>,
    trouble: RefCell<Option<String>>,
    stopping: Cell<bool>,
    changed: Notify,
}

pub(crate) struct Hosts<'s> {
    stage: &'s Stage,
    electorate: Electorate,
    name: String,
    hosts: Vec<Host>,
    heard: Rc<HostReports>,
    inbox: mpsc::Sender<HostMessage>,
    serving: JoinHandle<()>,
    faults: u32,
}

impl<'s> Hosts<'s> {
    /// Creates the groups' znodes below a new root and starts all processes. No candidate is enrolled yet.
    pub(crate) async fn start(stage: &'s Stage, electorate: Electorate) -> anyhow::Result<Self> {
        let name = format!("bench-{}", stage.fresh());
        let chroot = format!("/{name}");
        let names: Vec<String> = (0..electorate.groups).map(name_of).collect();
        let admin = ZkSession::connect(&stage.cluster(""), ADMIN_TIMEOUT).await?;
        lay_out(&admin, &chroot, &names).await?;
        admin.close(ADMIN_TIMEOUT).await;
        let Inbox { sender, receiver } = Inbox::new();
        let heard = Rc::<HostReports>::default();
        let serving = spawn_local(serve(heard.clone(), receiver));
        let set_up = |host| Host { set_up: set_up(stage, electorate, &chroot, host), generation: 0, tail: None };
        let hosts = (0..HOSTS).map(set_up).collect();
        let mut hosts = Self { stage, electorate, name, hosts, heard, inbox: sender, serving, faults: 0 };
        hosts.start_processes(0..HOSTS).await?;
        Ok(hosts)
    }

    /// Starts a process for each of these hosts. They must have none.
    pub(crate) async fn start_processes(&mut self, which: impl IntoIterator<Item = u16>) -> anyhow::Result<()> {
        let mut wanted = Vec::new();
        for number in which {
            let host = &mut self.hosts[usize::from(number)];
            let generation = host.generation;
            host.generation += 1;
            let writer = format!("{}-{number}.{generation}", self.name);
            let segment = self.stage.folder().join(format!("{writer}.{SEGMENT_ENDING}"));
            host.tail = Some(RecordTail::of(segment.clone()));
            wanted.push((number, generation, HostSetUp { segment, writer, ..host.set_up.clone() }));
        }
        let started = self.stage.factory.start(wanted, &self.inbox).await?;
        self.heard.processes.borrow_mut().extend(started.into_iter().map(|process| (process.host, process)));
        Ok(())
    }

    /// Connects and enrols all candidates of a host.
    pub(crate) fn enrol(&self, host: u16) {
        self.heard.tell(host, ToHost::Enrol);
    }

    /// Events that the hosts have recorded since the last call, host by host.
    pub(crate) fn news(&mut self) -> anyhow::Result<Vec<Event>> {
        self.heard.check()?;
        let mut events = Vec::new();
        for tail in self.hosts.iter_mut().filter_map(|host| host.tail.as_mut()) {
            events.extend(tail.news()?);
        }
        Ok(events)
    }

    /// The only candidate that believes it leads, and its token.
    pub(crate) fn sole_leader(&self) -> Option<(u32, Token)> {
        let leaders = self.heard.leaders.borrow();
        let mut all = leaders.iter().map(|(&cand, &token)| (cand, token));
        all.next().filter(|_| leaders.len() == 1)
    }

    /// Sends an order about a candidate to its host, and waits for the result.
    pub(crate) async fn order(
        &mut self,
        cand: u32,
        order: impl FnOnce(u32) -> ToHost,
    ) -> anyhow::Result<CandidateOrderOutcome> {
        let fault = self.faults;
        self.faults += 1;
        self.heard.tell(self.electorate.host_of(cand), order(fault));
        self.heard.until("an answer", |heard| heard.outcomes.borrow_mut().remove(&fault)).await
    }

    /// Kills a host's process. Returns the time just before the kill.
    pub(crate) async fn kill(&self, host: u16) -> anyhow::Result<Nanos> {
        let process = self.heard.processes.borrow_mut().remove(&host);
        let mut process = process.context("the host has no process")?;
        self.heard.leaders.borrow_mut().retain(|&cand, _| self.electorate.host_of(cand) != host);
        let at = clock::now();
        process.kill().await?;
        Ok(at)
    }

    /// Waits until a candidate believes in another token.
    pub(crate) async fn until_led_by_another(&self, than: Token) -> anyhow::Result<()> {
        let another = |heard: &HostReports| heard.leaders.borrow().values().any(|token| *token != than).then_some(());
        self.heard.until("another leader", another).await
    }

    /// Ends all processes in order.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.heard.stopping.set(true);
        self.heard.gone.set(0);
        let all = self.heard.processes.borrow().len();
        self.heard.processes.borrow().values().for_each(|process| process.tell(ToHost::Stop));
        // A leader waits for the answer to its last write.
        self.heard.until("the hosts' shutdown", |heard| (heard.gone.get() == all).then_some(())).await?;
        for (host, mut process) in self.heard.processes.take() {
            let (status, killed) = process.wait(AT_MOST).await?;
            if killed || !status.success() {
                bail!("host {host} did not end in order: {status}");
            }
        }
        self.serving.abort();
        Ok(())
    }
}

impl HostReports {
    fn tell(&self, host: u16, message: ToHost) {
        if let Some(process) = self.processes.borrow().get(&host) {
            process.tell(message);
        }
    }

    fn check(&self) -> anyhow::Result<()> {
        self.trouble.borrow().as_ref().map_or(Ok(()), |trouble| bail!("{trouble}"))
    }

    /// Waits for an effect of messages.
    async fn until<T>(&self, what: &str, look: impl Fn(&Self) -> Option<T>) -> anyhow::Result<T> {
        let waited = async {
            loop {
                self.check()?;
                if let Some(found) = look(self) {
                    return Ok(found);
                }
                self.changed.notified().await;
            }
        };
        tokio::time::timeout(AT_MOST, waited).await.with_context(|| format!("{what} did not come in time"))?
    }

    fn take(&self, host: u16, generation: u32, message: Option<FromHost>) {
        // Ignore late messages of a killed process.
        if self.processes.borrow().get(&host).is_none_or(|process| process.generation != generation) {
            return;
        }
        let trouble = match message {
            Some(FromHost::Write { cand, .. }) => {
                return self.tell(host, ToHost::Written { cand, answer: WriteAnswer { seq: 0, refused: false } });
            }
            Some(FromHost::Fence { request, .. }) => return self.tell(host, ToHost::Fenced { request, error: None }),
            Some(FromHost::Won { cand }) => return self.tell(host, ToHost::GoOn { cand }),
            Some(FromHost::Belief { cand, token }) => {
                let mut leaders = self.leaders.borrow_mut();
                match token {
                    Some(token) => leaders.insert(cand, token),
                    None => leaders.remove(&cand),
                };
                None
            }
            Some(FromHost::Done { fault, outcome, .. }) => {
                self.outcomes.borrow_mut().insert(fault, outcome);
                None
            }
            Some(FromHost::Bye { .. }) => {
                self.gone.set(self.gone.get() + 1);
                None
            }
            Some(FromHost::Failed { what } | FromHost::Died { what }) => Some(format!("host {host}: {what}")),
            None => Some(format!("host {host} has hung up")),
            Some(
                FromHost::Hello { .. }
                | FromHost::Ready { .. }
                | FromHost::Progress { .. }
                | FromHost::Clock { .. }
                | FromHost::FloorDone { .. },
            ) => None,
        };
        if let Some(trouble) = trouble.filter(|_| !self.stopping.get()) {
            self.trouble.borrow_mut().get_or_insert(trouble);
        }
        self.changed.notify_waiters();
    }
}

async fn serve(heard: Rc<HostReports>, mut inbound: mpsc::Receiver<HostMessage>) {
    while let Some(HostMessage { host, generation, message }) = inbound.recv().await {
        heard.take(host, generation, message);
    }
}

fn name_of(group: u32) -> String {
    format!("g{group}")
}

fn set_up(stage: &Stage, electorate: Electorate, chroot: &str, host: u16) -> HostSetUp {
    let own = (0..electorate.candidates()).filter(|&cand| electorate.host_of(cand) == host);
    let candidates = own.map(|cand| {
        let group = electorate.group_of(cand);
        (cand, group, format!("{ROOT}/{}", name_of(group)))
    });
    HostSetUp {
        cell: 0,
        cluster: stage.cluster(chroot),
        access: Access::default(),
        stands: HostCandidates::Recipe(electorate.recipe),
        equal_paths: false,
        step_down: StepDown::OnDisconnect,
        timeout_ms: TIMEOUT_MS,
        poll_interval_ms: POLL_INTERVAL_MS,
        work_interval_ms: WORK_INTERVAL_MS,
        rejoin_after_ms: REJOIN_AFTER_MS,
        connect_concurrency: CONNECT_CONCURRENCY,
        sessions: SessionUse::PerCandidate,
        seed: 1,
        candidates: candidates.collect(),
        segment: std::path::PathBuf::new(),
        writer: String::new(),
    }
}
