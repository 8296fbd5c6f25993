//! What a program is examined on: embedded servers, relays that read along, a resource for its writes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_record::numbers::nanos;
use hustings_record::{Nanos, StepDown, Token};
use hustings_workloads::coordination::{CreateMode, Session as _};
use hustings_workloads::resource::{LedgerResult, Resource};
use rustix::process::Signal;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::spawn_local;

use super::super::beliefs::PartialToken;
use super::super::intake::{FenceDecision, Intake, PendingWrite, ResourceAnswer};
use super::super::message::{FromProgram, SlotStart, ToProgram};
use super::super::program::{Program, ProgramInput};
use super::Command;
use super::wire_history::{ReportedBasis, WireHistory};
use crate::access::Access;
use crate::client::session::ZkSession;
use crate::ensemble::Ensemble as _;
use crate::ensemble::embedded::{EmbeddedEnsemble, EmbeddedOptions};
use crate::ensemble::server_options::ServerOptions;
use crate::files::workdir::WorkDir;
use crate::process::clock;
use crate::process::procfs::RUN_VARIABLE;
use crate::witness::{EphemeralNode, HostSlots, ObservedSlot, Relay, RelayCallback, Slots};

/// Ticks of the servers and the timeout that programs ask for: two ticks at least, twenty at most.
pub(super) const TICK_MS: u64 = 200;
pub(super) const TIMEOUT_MS: u64 = 2_000;
pub(super) const WRITE_EVERY_MS: u64 = 20;
pub(super) const REJOIN_AFTER_MS: u64 = 200;
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Lines that are no messages, after which a program is not listened to any more.
const GARBAGE_MAX: u32 = 1_000;
/// The fault for which a slot is ordered to resign.
pub(super) const RESIGNATION: u32 = 1;
/// Elections, of which a program that can hold many slots stands in all.
pub(super) const ELECTIONS: u32 = 2;

/// One thing that came in.
#[derive(Clone, Debug)]
pub(super) struct StageEvent {
    pub(super) t: Nanos,
    /// Number of the program that it is of.
    pub(super) guest: usize,
    pub(super) what: StageEventKind,
}

#[derive(Clone, Debug)]
pub(super) enum StageEventKind {
    Said(FromProgram),
    /// What a grant says, which was heard right before, and the znode of the wire that it is compared with.
    Granted {
        slot: u32,
        node: Option<String>,
        token: Option<i64>,
        session: Option<i64>,
        by_wire: Option<EphemeralNode>,
    },
    Garbage(String),
    Over,
    /// `czxid`: its token's. `sent`: when it says that it was sent. `said`: the token that it bears; `own`: those of the znodes
    /// that its slot has by the wire.
    Wrote {
        slot: u32,
        sent: Option<Nanos>,
        czxid: i64,
        said: Option<i64>,
        own: Vec<i64>,
        taken: LedgerResult,
    },
}

type Log = Rc<RefCell<Vec<StageEvent>>>;

/// Servers, and everything that came in.
pub(super) struct Stage {
    // Dropped in this order: the servers before their folder.
    ensemble: EmbeddedEnsemble,
    observer: ZkSession,
    work: WorkDir,
    exe: PathBuf,
    command: Command,
    log: Log,
    /// Numbers of the programs that have no reason to end.
    running: RefCell<BTreeSet<usize>>,
    /// When each program was first going to be ended, by number.
    ending: RefCell<BTreeMap<usize, Nanos>>,
    resource: Rc<RefCell<Resource>>,
}

/// One running program with its slots: it is a host.
pub(super) struct ExaminedProgram {
    pub(super) number: usize,
    pub(super) program: Program,
    pub(super) slots: Rc<RefCell<Slots>>,
    relays: Vec<Relay>,
    intake: Intake,
    config: BTreeMap<String, Value>,
}

/// Where a slot stands: slots of an election have all numbers that leave the same rest.
pub(super) fn election_of(slot: u32) -> u32 {
    slot % ELECTIONS
}

fn path_of(election: u32) -> String {
    format!("/election/g{election:04}")
}

impl Stage {
    pub(super) async fn set_up(exe: &Path, command: Command) -> anyhow::Result<Self> {
        let work = WorkDir::create(&format!("candidate-{}", std::process::id()))?;
        let servers = ServerOptions { tick_ms: TICK_MS, ..ServerOptions::of(3) };
        let ensemble = EmbeddedEnsemble::start(EmbeddedOptions::new(servers, exe.to_owned()), &work).await?;
        let observer = ZkSession::connect(&joined(&ensemble.servers()), Duration::from_secs(4)).await?;
        let paths = (0..ELECTIONS).map(path_of);
        for path in std::iter::once("/election".to_owned()).chain(paths) {
            let made = observer.create(&path, b"", CreateMode::Persistent).await;
            made.map_err(|error| anyhow::anyhow!("{path} cannot be made: {error:?}"))?;
        }
        Ok(Self {
            ensemble,
            observer,
            work,
            exe: exe.to_owned(),
            command,
            log: Log::default(),
            running: RefCell::default(),
            ending: RefCell::default(),
            resource: Rc::new(RefCell::new(Resource::new(ELECTIONS as usize))),
        })
    }

    /// Starts the command as the program with this number, for these slots. It is not told of them yet.
    pub(super) async fn start(&self, number: usize, slots: &[u32]) -> anyhow::Result<ExaminedProgram> {
        let candidates = slots.iter().map(|&slot| (slot, path_of(election_of(slot)))).collect();
        // Whether it queues is not asked here: what its znodes show is looked at by itself.
        let seen = Rc::new(RefCell::new(Slots::new(HostSlots { candidates, queue: true })));
        let history = Rc::new(RefCell::new(WireHistory::of(slots)));
        let (told, noted) = (seen.clone(), history.clone());
        let tell: RelayCallback = Rc::new(move |connection, what| {
            let t = clock::now();
            told.borrow_mut().take(t, connection, &what, &mut |_| {});
            noted.borrow_mut().note(t, &told.borrow());
        });
        let relays = Relay::open_all(self.ensemble.servers(), &Arc::default(), &tell).await;
        let relays = relays.context("no port for a relay")?;
        let (intake, incoming) = Intake::open(slots.iter().copied()).await?;
        let mark = BTreeMap::from([(RUN_VARIABLE.to_owned(), self.work.mark().to_owned())]);
        let (program, heard) = Program::start(&self.exe, &self.command.line, &mark, true)?;
        spawn_local(hear(self.log.clone(), number, history, heard));
        spawn_local(take_writes(self.log.clone(), number, seen.clone(), self.resource.clone(), incoming));
        let config = self.command.config.clone();
        Ok(ExaminedProgram { number, program, slots: seen, relays, intake, config })
    }

    /// Everything that came in and is like this.
    pub(super) fn facts<T>(&self, like: impl Fn(&StageEvent) -> Option<T>) -> Vec<T> {
        self.log.borrow().iter().filter_map(like).collect()
    }

    /// Waits until it holds. False: it did not within that time.
    pub(super) async fn until(&self, at_most: Duration, holds: impl Fn() -> bool) -> bool {
        let end = clock::now() + nanos(at_most);
        while !holds() {
            if clock::now() > end {
                return false;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        true
    }

    /// Notes that this program has no reason to end from now on.
    pub(super) fn must_run(&self, number: usize) {
        self.running.borrow_mut().insert(number);
    }

    /// Notes that this program is going to be ended.
    pub(super) fn may_end(&self, number: usize) {
        self.running.borrow_mut().remove(&number);
        self.ending.borrow_mut().entry(number).or_insert_with(clock::now);
    }

    /// When this program was going to be ended. None: it was not.
    pub(super) fn ordered_to_end(&self, number: usize) -> Option<Nanos> {
        self.ending.borrow().get(&number).copied()
    }

    /// Waits for the end of a program that has no reason to end, and returns its number.
    pub(super) async fn lost(&self) -> usize {
        loop {
            let is_lost = |fact: &StageEvent| {
                matches!(fact.what, StageEventKind::Over) && self.running.borrow().contains(&fact.guest)
            };
            let lost = self.facts(|fact| is_lost(fact).then_some(fact.guest));
            if let Some(&first) = lost.first() {
                return first;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Whether this very znode of an election is there.
    pub(super) async fn has(&self, election: u32, node: &EphemeralNode) -> anyhow::Result<bool> {
        let path = format!("{}/{}", path_of(election), node.name);
        let failed = |error| {
            anyhow::anyhow!(
                "{path} cannot be looked at by the examination's own session ({error:?}): the program is not to blame; if this \
                 machine stood still, examine it again when the machine is idle"
            )
        };
        self.observer.sync(&path).await.map_err(failed)?;
        let there = self.observer.exists(&path).await.map_err(failed)?;
        Ok(there.is_some_and(|there| node.czxid.is_none_or(|czxid| there.czxid == czxid)))
    }

    /// The program that is examined, and its arguments.
    pub(super) fn command(&self) -> &[String] {
        &self.command.line
    }

    /// The servers themselves.
    pub(super) fn cluster(&self) -> String {
        joined(&self.ensemble.servers())
    }

    pub(super) async fn tear_down(self) -> anyhow::Result<()> {
        self.observer.close(Duration::from_secs(5)).await;
        Ok(self.ensemble.stop().await?)
    }
}

impl ExaminedProgram {
    /// Tells it to stand in a slot.
    pub(super) fn stand(&self, slot: u32) -> bool {
        self.program.tell(ToProgram::Start(SlotStart {
            slot,
            group: path_of(election_of(slot)),
            connect: joined(&self.relays.iter().map(Relay::address).collect::<Vec<_>>()),
            timeout_ms: TIMEOUT_MS,
            resource: self.intake.url(slot).unwrap_or_default(),
            write_every_ms: WRITE_EVERY_MS,
            rejoin_after_ms: REJOIN_AFTER_MS,
            step_down: StepDown::OnDisconnect,
            config: self.config.clone(),
        }))
    }

    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        self.program.signal(signal).context("the program cannot be signalled")
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.program.ended()
    }

    pub(super) async fn ends(&mut self, at_most: Duration) -> anyhow::Result<(ExitStatus, bool)> {
        self.program.wait(at_most).await.context("the program's end")
    }
}

async fn hear(log: Log, guest: usize, history: Rc<RefCell<WireHistory>>, mut heard: mpsc::Receiver<ProgramInput>) {
    let mut garbage = 0;
    while let Some(heard) = heard.recv().await {
        let (t, what) = match heard {
            ProgramInput::Said { t, message } => (t, StageEventKind::Said(message)),
            ProgramInput::Garbage { t, why, line } => {
                garbage += 1;
                (t, StageEventKind::Garbage(format!("{line:?} ({why})")))
            }
            ProgramInput::TooMuch { t } => {
                (t, StageEventKind::Garbage("so many notes and the like that most were not taken".to_owned()))
            }
            ProgramInput::Over { t } => (t, StageEventKind::Over),
        };
        let over = matches!(what, StageEventKind::Over);
        let granted = granted(&history.borrow(), &what).map(|what| StageEvent { t, guest, what });
        log.borrow_mut().extend([StageEvent { t, guest, what }].into_iter().chain(granted));
        // It is not listened to any more.
        if garbage >= GARBAGE_MAX && !over {
            log.borrow_mut().push(StageEvent { t, guest, what: StageEventKind::Over });
            return;
        }
    }
}

/// What a grant says, beside the znode of the wire that it is compared with.
fn granted(history: &WireHistory, what: &StageEventKind) -> Option<StageEventKind> {
    let StageEventKind::Said(FromProgram::Grant { slot, t0, t1, node, token, session, .. }) = what else {
        return None;
    };
    let said = ReportedBasis { node: node.as_deref(), token: *token, session: *session };
    let by_wire = history.behind(*slot, said, (*t0, *t1)).cloned();
    Some(StageEventKind::Granted { slot: *slot, node: node.clone(), token: *token, session: *session, by_wire })
}

async fn take_writes(
    log: Log,
    guest: usize,
    slots: Rc<RefCell<Slots>>,
    resource: Rc<RefCell<Resource>>,
    mut incoming: mpsc::Receiver<PendingWrite>,
) {
    while let Some(PendingWrite { t, slot, said, answer }) = incoming.recv().await {
        let (token, sent) = (token(&slots.borrow(), slot, said.token), said.t);
        let own = slots.borrow().slot(slot).map_or_else(Vec::new, ObservedSlot::tokens);
        let taken = resource.borrow_mut().write(election_of(slot) as usize, slot, token);
        let what = StageEventKind::Wrote { slot, sent, czxid: token.czxid, said: said.token, own, taken };
        log.borrow_mut().push(StageEvent { t, guest, what });
        let fenced = if taken.fenced_rejected { FenceDecision::Refused } else { FenceDecision::Taken };
        // Whoever asked may have gone.
        let _ = answer.send(ResourceAnswer { seq: taken.seq, fenced });
    }
}

/// What the writer says that it holds, else what its slot holds by the wire.
fn token(slots: &Slots, slot: u32, said: Option<i64>) -> Token {
    let seen = slots.slot(slot);
    let node = seen.and_then(ObservedSlot::writes_by);
    let session = node.map(|node| node.session).or_else(|| seen.and_then(|seen| seen.session));
    PartialToken { czxid: said.or(node.and_then(|node| node.czxid)), session }.known()
}

fn joined(addresses: &[std::net::SocketAddr]) -> String {
    Access::default().connect_string(addresses, "")
}
