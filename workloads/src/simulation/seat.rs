//! A candidate's seat in the simulated world: the [`Booth`] that its recipe sees, and the leader's work.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Poll, Waker};

use super::stage::Stage;
use super::witness::{By, Saw};
use super::world::{ClientId, sleep_until};
use crate::booth::{Booth, Nanos, Order, Predecessor, Report, Token};
use crate::model::Micros;
use crate::scenario::FencingMethod;

pub(super) struct Seat {
    pub(super) stage: Rc<Stage>,
    pub(super) cand: u32,
    pub(super) group: u32,
    pub(super) host: u16,
    /// Its candidate's life has begun.
    pub(super) lives: Cell<bool>,
    /// Its process was killed.
    pub(super) dead: Cell<bool>,
    pub(super) client: Cell<Option<ClientId>>,
    pub(super) session: Cell<i64>,
    pub(super) requests: RefCell<Rc<Cell<u32>>>,
    requests_before: Cell<u32>,
    /// The token it believes in, and a number that changes with every change of belief.
    belief: Cell<(Option<Token>, u32)>,
    writing: Cell<bool>,
    stands: Cell<bool>,
    /// Name of the znode that it stands or leads by.
    pub(super) node: RefCell<Option<String>>,
    /// How many terms it has begun.
    terms: Cell<u32>,
    pub(super) resigning: Cell<Option<(u32, Micros)>>,
    orders: RefCell<VecDeque<Order>>,
    order_waker: RefCell<Option<Waker>>,
    /// How far its wall clock was set back.
    pub(super) set_back: Cell<Nanos>,
}

impl Seat {
    pub(super) fn new(stage: Rc<Stage>, cand: u32, group: u32, host: u16) -> Rc<Self> {
        Rc::new(Self {
            stage,
            cand,
            group,
            host,
            lives: Cell::new(false),
            dead: Cell::new(false),
            client: Cell::new(None),
            session: Cell::new(0),
            requests: RefCell::default(),
            requests_before: Cell::new(0),
            belief: Cell::new((None, 0)),
            writing: Cell::new(false),
            stands: Cell::new(false),
            node: RefCell::default(),
            terms: Cell::new(0),
            resigning: Cell::new(None),
            orders: RefCell::default(),
            order_waker: RefCell::default(),
            set_back: Cell::new(0),
        })
    }

    pub(super) fn stands(&self, stands: bool) {
        if self.stands.replace(stands) != stands {
            let count = &self.stage.standing;
            count.set(if stands { count.get() + 1 } else { count.get() - 1 });
            self.stage.touch();
        }
    }

    /// Gives an order; it is taken when the recipe looks.
    pub(super) fn give(&self, order: Order) {
        self.orders.borrow_mut().push_back(order);
        if let Some(waker) = self.order_waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Its process is gone, and every belief with it.
    pub(super) fn bury(&self) {
        self.dead.set(true);
        self.stands(false);
        self.belief.set((None, self.belief.get().1 + 1));
    }

    /// Writes at once and then every interval, until the belief numbered `change` is over. A write waits for the answer to the
    /// one before; intended times that pass meanwhile are skipped.
    fn lead(self: &Rc<Self>, token: Token, change: u32, intended: Micros) {
        if self.dead.get() || self.belief.get().1 != change {
            return;
        }
        let world = &self.stage.world;
        if !self.writing.replace(true) {
            let seat = self.clone();
            world.later(world.now() + world.timing.resource_us, move |_| seat.written(token));
        }
        let interval = self.stage.cell.work_interval_ms.max(1) * 1_000;
        let behind = world.now().saturating_sub(intended) / interval;
        let next = intended + interval * (behind + 1);
        let seat = self.clone();
        world.host_later(self.host, next, move |_| seat.lead(token, change, next));
    }

    /// The resource takes a write.
    fn written(self: &Rc<Self>, token: Token) {
        let (world, group) = (&self.stage.world, self.group);
        let taken = self.stage.resource.borrow_mut().write(group as usize, self.cand, token);
        world.saw(By::Coordinator, Saw::Write { group, cand: self.cand, host: self.host, token, taken });
        let seat = self.clone();
        world.host_later(self.host, world.now() + world.timing.resource_us, move |_| seat.writing.set(false));
    }
}

/// The seat as its recipe holds it.
pub(super) struct Held(pub(super) Rc<Seat>);

impl Booth for Held {
    fn now(&self) -> Nanos {
        self.0.stage.world.now() * 1_000
    }

    fn wall_now(&self) -> Nanos {
        self.now().saturating_sub(self.0.set_back.get())
    }

    async fn sleep_until(&self, at: Nanos) {
        sleep_until(&self.0.stage.world, self.0.host, at.div_ceil(1_000)).await;
    }

    fn candidate(&self) -> u32 {
        self.0.cand
    }

    fn host(&self) -> u16 {
        self.0.host
    }

    fn draw(&self) -> u64 {
        self.0.stage.world.draw(u64::MAX)
    }

    fn report(&self, report: Report<'_>) {
        let seat = &self.0;
        let sent = seat.requests.borrow().get();
        match &report {
            Report::Joined { node, .. } => {
                seat.requests_before.set(sent);
                seat.node.replace(node.map(str::to_owned));
            }
            Report::Grant { node, .. } => drop(seat.node.replace(Some((*node).to_owned()))),
            Report::Notified { .. } => seat.requests_before.set(sent),
            _ => {}
        }
        let requests = sent.wrapping_sub(seat.requests_before.get());
        let joined = matches!(report, Report::Joined { .. });
        let (cand, session) = (seat.cand, seat.session.get());
        seat.stage.world.saw(By::Host(seat.host), Saw::Report { cand, session, requests, report });
        if joined {
            seat.stands(true);
        }
    }

    fn believe(&self, token: Option<Token>) {
        let seat = &self.0;
        let change = seat.belief.get().1 + 1;
        seat.belief.set((token, change));
        seat.stage.leaders.borrow_mut().believe(seat.cand, token);
        seat.stage.touch();
        if let Some(token) = token {
            seat.terms.set(seat.terms.get() + 1);
            seat.stage.leads(seat.cand, seat.terms.get());
            let (own, world) = (seat.clone(), &seat.stage.world);
            let now = world.now();
            world.host_later(seat.host, now, move |_| own.lead(token, change, now));
        }
    }

    async fn fence(&self, old: &Predecessor, _: Token) -> Result<(), String> {
        let (seat, world) = (&self.0, &self.0.stage.world);
        sleep_until(world, seat.host, world.now() + world.timing.resource_us).await;
        let (how, done) = match seat.stage.cell.fencing {
            FencingMethod::None => ("none", false),
            FencingMethod::Resource => {
                seat.stage.resource.borrow_mut().bar(seat.group as usize, old.token);
                ("resource", true)
            }
            // A host cannot outlive its own fencing.
            FencingMethod::Kill if old.host == seat.host => ("none", false),
            FencingMethod::Kill => {
                seat.stage.fell(old);
                ("kill", false)
            }
        };
        world.saw(By::Coordinator, Saw::Fence { group: seat.group, by: seat.cand, old: old.token, how, done });
        sleep_until(world, seat.host, world.now() + world.timing.resource_us).await;
        Ok(())
    }

    async fn order(&self) -> Order {
        std::future::poll_fn(|cx| {
            if let Some(order) = self.0.orders.borrow_mut().pop_front() {
                return Poll::Ready(order);
            }
            self.0.order_waker.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await
    }
}
