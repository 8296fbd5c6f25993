//! Runs this program's recipes like any external program: by the protocol, over standard input and output.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{Event, Nanos, SessionUse, StepDown};
use hustings_workloads::driver::{self, Process, SessionClosure, Sessions, live, work};
use hustings_workloads::host::{Departure, Host, Order, Predecessor, Token};
use hustings_workloads::recipes::{Election, RecipeKind};
use rand::TryRng as _;
use rand::rngs::SysRng;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::{JoinSet, spawn_local};

use super::intake::WriteStatement;
use super::lines::StreamLines;
use super::message::{Ability, FromProgram, PROTOCOL, SlotStart, ToProgram};
use super::resource::Resource;
use crate::client::session::ZkSession;
use crate::process::clock;
use crate::process::interrupt::Interrupt;

const ORDERS_MAX: usize = 8;
/// Deadline for all slots together to close their sessions.
const STOP_AT_MOST: Duration = Duration::from_secs(4);
/// Maximum number of sessions opened at once.
const CONNECT_CONCURRENCY: u32 = 16;

/// The recipe to run.
#[derive(Clone, Copy, Debug)]
pub struct OwnRecipe {
    pub recipe: RecipeKind,
    /// None: as ordered.
    pub step_down: Option<StepDown>,
    pub poll_interval_ms: u64,
    /// A deliberate flaw.
    pub flaw: Option<Flaw>,
}

/// Ways to break the protocol, or to leave badly, that must be caught whatever the recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Flaw {
    /// It reports a grant a while after it has begun to act on it.
    ReportsLate,
    /// It never reports that it leads no more.
    NeverRevokes,
    /// It reports terms in slots that it was not given.
    StrangeSlots,
    /// It reports late that it leads no more; the times in the report are right.
    SpeaksLate,
    /// It says that it has resigned before it does.
    ResignsByWord,
    /// It keeps a session open that it does not need any more.
    KeepsSessions,
    /// It ends by itself, a while after it has begun.
    Dies,
    /// Its times lie in the future.
    Ahead,
    /// On SIGTERM it just ends, and leaves its session to expire.
    LeavesOnTerm,
    /// It does not end when it is told to stop.
    IgnoresStop,
    /// It does not end on SIGTERM.
    IgnoresTerm,
    /// It neither resigns when it is ordered to nor answers.
    IgnoresResign,
    /// It enrols again at once after it has resigned.
    RejoinsAtOnce,
}

/// Delay of a deliberately late report of a grant. Reports of a revoke are twice as late.
const LATE: Duration = Duration::from_millis(400);
/// Lead of a deliberately wrong clock.
const AHEAD_NS: Nanos = 5_000_000_000;
/// For deliberate flaws: how early it reports a resignation, and after how long it ends by itself.
const EARLY_NS: Nanos = 100_000_000;
const DIES_AFTER_NS: Nanos = 4_000_000_000;

/// Enrols as ordered on standard input, until that ends.
///
/// # Errors
/// An order cannot be read or understood, there is no client for its writes, or its flaw is to end by itself.
pub async fn stand(own: OwnRecipe) -> anyhow::Result<()> {
    let name = own.recipe.to_string();
    let can = vec![Ability::Report, Ability::Token, Ability::Session, Ability::Resign, Ability::Many];
    say(&FromProgram::Hello { protocol: PROTOCOL, name, version: env!("CARGO_PKG_VERSION").into(), can });
    let (stop, stopping) = watch::channel(false);
    let mut slots: BTreeMap<u32, (Rc<OwnSlot>, mpsc::Sender<Order>)> = BTreeMap::new();
    let mut lives: JoinSet<SessionClosure> = JoinSet::new();
    let resource = Resource::new()?;
    let mut lines = StreamLines::of(tokio::io::stdin());
    let interrupt = Interrupt::take_over();
    let (mut told, began) = (false, clock::now());
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = clock::sleep_until(began + DIES_AFTER_NS), if own.flaw == Some(Flaw::Dies) => {
                anyhow::bail!("it ends by itself, on purpose");
            }
            () = interrupt.first(), if own.flaw != Some(Flaw::IgnoresTerm) => {
                if own.flaw == Some(Flaw::LeavesOnTerm) {
                    return Ok(());
                }
                None
            }
        };
        let Some(line) = line else { break };
        match serde_json::from_str(&line.map_err(anyhow::Error::msg)?)? {
            ToProgram::Sync { n } => say(&FromProgram::Sync { n, t: clock::now(), wall: wall_ns() }),
            ToProgram::Start(start) => {
                let (orders, receiver) = mpsc::channel(ORDERS_MAX);
                let slot = OwnSlot::new(start, own.flaw, resource.clone(), receiver);
                slots.insert(slot.start.slot, (slot.clone(), orders));
                let stopping = stopping.clone();
                lives.spawn_local(async move { slot.stand(own, stopping).await });
            }
            ToProgram::Resign { .. } if own.flaw == Some(Flaw::IgnoresResign) => {}
            ToProgram::Resign { slot, fault } => match slots.get(&slot) {
                Some((slot, orders)) if own.flaw == Some(Flaw::ResignsByWord) => {
                    let (t, slot, orders) = (clock::now(), slot.start.slot, orders.clone());
                    say(&FromProgram::Resigned { slot, fault, t0: t, t1: t });
                    spawn_local(async move {
                        clock::sleep_until(t + EARLY_NS).await;
                        let _ = orders.try_send(Order::Resign);
                    });
                }
                Some((slot, orders)) if slot.resigning.get().is_none() && orders.try_send(Order::Resign).is_ok() => {
                    slot.resigning.set(Some(fault));
                    if own.flaw == Some(Flaw::KeepsSessions) {
                        let (connect, timeout) =
                            (slot.start.connect.clone(), Duration::from_millis(slot.start.timeout_ms));
                        spawn_local(async move {
                            let kept = ZkSession::connect(&connect, timeout).await;
                            std::future::pending::<()>().await;
                            drop(kept);
                        });
                    }
                }
                _ => note(Some(slot), "it cannot resign now"),
            },
            ToProgram::Stop if own.flaw == Some(Flaw::IgnoresStop) => std::future::pending::<()>().await,
            ToProgram::Stop => {
                told = true;
                break;
            }
        }
    }
    stop.send_replace(true);
    for (_, orders) in slots.values() {
        // A full queue already contains an order to leave.
        let _ = orders.try_send(Order::Stop);
    }
    // Slots that are late leave their sessions to expire.
    let _ = tokio::time::timeout(STOP_AT_MOST, async { while lives.join_next().await.is_some() {} }).await;
    if told {
        say(&FromProgram::Bye);
    }
    Ok(())
}

/// Nanoseconds since 1970.
fn wall_ns() -> Option<Nanos> {
    u64::try_from(crate::process::utc::unix_ms()).ok()?.checked_mul(1_000_000)
}

/// Flushes before it returns: a message is in the pipe before any action that follows it.
fn say(message: &FromProgram) {
    let Ok(mut line) = serde_json::to_string(message) else { return };
    line.push('\n');
    let mut out = std::io::stdout().lock();
    // The reader is gone, and will end this process.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

fn note(slot: Option<u32>, text: &str) {
    say(&FromProgram::Note { slot, text: text.to_owned() });
}

/// One slot, and the resource that it writes to.
struct OwnSlot {
    start: SlotStart,
    flaw: Option<Flaw>,
    resource: Resource,
    /// The token it believes in, and a number that changes with every change of belief.
    belief: Cell<(Option<Token>, u64)>,
    term: Cell<u32>,
    write_under_way: Cell<bool>,
    done: RefCell<Option<Waker>>,
    resigning: Cell<Option<u32>>,
    orders: Mutex<mpsc::Receiver<Order>>,
    this: Weak<Self>,
}

impl OwnSlot {
    fn new(start: SlotStart, flaw: Option<Flaw>, resource: Resource, orders: mpsc::Receiver<Order>) -> Rc<Self> {
        Rc::new_cyclic(|this| Self {
            start,
            flaw,
            resource,
            belief: Cell::new((None, 0)),
            term: Cell::new(0),
            write_under_way: Cell::new(false),
            done: RefCell::default(),
            resigning: Cell::new(None),
            orders: Mutex::new(orders),
            this: this.clone(),
        })
    }

    async fn stand(&self, own: OwnRecipe, stopping: watch::Receiver<bool>) -> SessionClosure {
        let OwnRecipe { recipe, step_down, poll_interval_ms, .. } = own;
        let path = self.start.group.clone();
        let step_down = step_down.unwrap_or(self.start.step_down);
        let election = Election { path, recipe, step_down, poll_interval_ms, create_missing: true };
        let SlotStart { connect, timeout_ms, .. } = &self.start;
        let process = OwnProcess { connect: connect.clone(), timeout: Duration::from_millis(*timeout_ms), stopping };
        let sessions = Sessions::new(Rc::new(process), SessionUse::PerCandidate, CONNECT_CONCURRENCY);
        live(self, &sessions, &election).await
    }

    /// Reports its belief, falsified according to its flaw.
    fn report(&self, mut said: FromProgram) {
        match (self.flaw, &mut said) {
            (Some(Flaw::NeverRevokes), FromProgram::Revoke { .. }) => return,
            (Some(Flaw::ReportsLate), FromProgram::Grant { .. })
            | (Some(Flaw::SpeaksLate), FromProgram::Revoke { .. }) => {
                let late = if self.flaw == Some(Flaw::SpeaksLate) { 2 * LATE } else { LATE };
                spawn_local(async move {
                    clock::sleep_until(clock::now() + nanos(late)).await;
                    say(&said);
                });
                return;
            }
            (Some(Flaw::StrangeSlots), FromProgram::Grant { slot, .. } | FromProgram::Revoke { slot, .. }) => {
                *slot += 10_000
            }
            (Some(Flaw::Ahead), FromProgram::Grant { t0, t1, .. } | FromProgram::Revoke { t0, t1, .. }) => {
                (*t0, *t1) = (*t0 + AHEAD_NS, *t1 + AHEAD_NS);
            }
            _ => {}
        }
        say(&said);
    }

    fn answered(&self) {
        self.write_under_way.set(false);
        if let Some(waker) = self.done.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Host for OwnSlot {
    fn now(&self) -> Nanos {
        clock::now()
    }

    async fn sleep_until(&self, at: Nanos) {
        clock::sleep_until(at).await;
    }

    fn candidate(&self) -> u32 {
        self.start.slot
    }

    fn number(&self) -> u16 {
        0
    }

    fn draw(&self) -> u64 {
        // Without random bytes, the clock makes processes differ.
        SysRng.try_next_u64().unwrap_or_else(|_| clock::now())
    }

    fn record(&self, event: Event) {
        let slot = self.start.slot;
        match event {
            Event::Joined { t, node, .. } => say(&FromProgram::Standing { slot, t, node }),
            Event::Grant { t, session, term, czxid, node, .. } => {
                // The protocol counts terms from 1.
                let term = term + 1;
                self.term.set(term);
                let (t1, node) = (clock::now(), Some(node));
                let (token, session) = (Some(czxid), Some(session));
                self.report(FromProgram::Grant { slot, term, t0: t, t1, node, token, session });
            }
            Event::Revoke { from, to, term, reason, .. } => {
                let reason = serde_json::to_value(reason).ok().and_then(|reason| reason.as_str().map(str::to_owned));
                self.report(FromProgram::Revoke { slot, term: term + 1, t0: from, t1: to, reason });
            }
            Event::Note { text, .. } => note(Some(slot), &text),
            // The wire shows the rest better.
            _ => {}
        }
    }

    fn believe(&self, token: Option<Token>) {
        let change = self.belief.get().1 + 1;
        self.belief.set((token, change));
        if let (Some(token), Some(this)) = (token, self.this.upgrade()) {
            spawn_local(async move { work(&*this, token, change).await });
        }
    }

    async fn work_done(&self) {
        std::future::poll_fn(|cx| {
            if !self.write_under_way.get() {
                return Poll::Ready(());
            }
            self.done.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    async fn fence(&self, _: &Predecessor, _: Token) -> Result<(), String> {
        // Only its token stops a former leader here.
        Ok(())
    }

    async fn order(&self) -> Order {
        match self.orders.lock().await.recv().await {
            Some(order) => order,
            None => std::future::pending().await,
        }
    }
}

impl driver::Slot for OwnSlot {
    type Process = OwnProcess;

    fn begins(&self, _: &ZkSession) {}

    fn left(&self, departure: &Departure) {
        let Some(fault) = self.resigning.take() else { return };
        let slot = self.start.slot;
        match departure.resignation() {
            Ok((t0, t1)) => say(&FromProgram::Resigned { slot, fault, t0, t1 }),
            Err(why) => note(Some(slot), &why),
        }
    }

    fn rejoin_after(&self) -> Duration {
        let is_to_rest = self.flaw != Some(Flaw::RejoinsAtOnce);
        if is_to_rest { Duration::from_millis(self.start.rejoin_after_ms) } else { Duration::ZERO }
    }

    fn believes(&self, change: u64) -> bool {
        self.belief.get().1 == change
    }

    fn write(&self, token: Token) {
        let Some(this) = self.this.upgrade().filter(|_| !self.write_under_way.replace(true)) else { return };
        let change = self.belief.get().1;
        spawn_local(async move {
            if driver::Slot::believes(&*this, change) {
                let said =
                    WriteStatement { term: Some(this.term.get()), token: Some(token.czxid), t: Some(clock::now()) };
                this.resource.write(&this.start.resource, &said).await;
            }
            this.answered();
        });
    }

    fn work_interval(&self) -> Duration {
        Duration::from_millis(self.start.write_every_ms.max(1))
    }
}

struct OwnProcess {
    connect: String,
    timeout: Duration,
    stopping: watch::Receiver<bool>,
}

impl Process for OwnProcess {
    type Session = ZkSession;

    fn now(&self) -> Nanos {
        clock::now()
    }

    async fn sleep_until(&self, at: Nanos) {
        clock::sleep_until(at).await;
    }

    async fn stopped(&self) {
        // An error means that the sender is dropped: it is ending.
        let _ = self.stopping.clone().wait_for(|&stop| stop).await;
    }

    fn record(&self, event: Event) {
        if let Event::Note { text, .. } = event {
            note(None, &text);
        }
    }

    async fn connect(&self, _: Option<u32>) -> Result<ZkSession, String> {
        ZkSession::connect(&self.connect, self.timeout).await.map_err(|error| error.to_string())
    }

    fn share(&self, session: &ZkSession) -> ZkSession {
        session.share()
    }

    async fn close(&self, session: ZkSession, at_most: Duration) -> bool {
        session.close(at_most).await
    }
}
