//! A candidate on a bench, and the host that it sees: all its events and actions go into the journal.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::task::{Poll, Waker};

use hustings_record::Event;

use crate::host::{Departure, Host, Nanos, Order, Predecessor, Token};
use crate::recipes::Lifecycle;
use crate::simulation::session::SimSession;
use crate::simulation::world::{SimWorld, micros};

/// One line of the journal.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalEntry {
    Said(Event),
    Believes(Option<Token>),
    Fences(Predecessor),
}

/// State shared by all contenders: the believers, everyone's journal, and whether fencing fails.
#[derive(Default)]
pub(super) struct BenchState {
    pub(super) journal: RefCell<Vec<(usize, JournalEntry)>>,
    pub(super) believers: RefCell<BTreeSet<usize>>,
    pub(super) believers_max: Cell<usize>,
    pub(super) fencing_fails: Cell<bool>,
}

impl BenchState {
    fn write_down(&self, index: usize, entry: JournalEntry) {
        self.journal.borrow_mut().push((index, entry));
    }

    pub(super) fn believe(&self, index: usize, believes: bool) {
        let mut believers = self.believers.borrow_mut();
        if believes {
            believers.insert(index);
        } else {
            believers.remove(&index);
        }
        self.believers_max.set(self.believers_max.get().max(believers.len()));
    }
}

#[derive(Default)]
pub(super) struct BenchCandidate {
    pub(super) session: RefCell<Option<Rc<SimSession>>>,
    pub(super) lifecycle: Lifecycle,
    pub(super) departure: RefCell<Option<Departure>>,
    orders: RefCell<(VecDeque<Order>, Option<Waker>)>,
}

impl BenchCandidate {
    pub(super) fn give(&self, order: Order) {
        let mut orders = self.orders.borrow_mut();
        orders.0.push_back(order);
        if let Some(waker) = orders.1.take() {
            waker.wake();
        }
    }

    pub(super) fn forget_orders(&self) {
        self.orders.borrow_mut().0.clear();
    }
}

/// A contender's slot as its recipe sees it.
pub(super) struct BenchSlot {
    /// Of the contender, and of its host.
    pub(super) number: u16,
    pub(super) world: Rc<SimWorld>,
    pub(super) state: Rc<BenchState>,
    pub(super) candidate: Rc<BenchCandidate>,
}

impl BenchSlot {
    fn write_down(&self, entry: JournalEntry) {
        self.state.write_down(usize::from(self.number), entry);
    }
}

impl Host for BenchSlot {
    fn now(&self) -> Nanos {
        self.world.clock.nanos()
    }

    async fn sleep_until(&self, at: Nanos) {
        self.world.clock.sleep_until(self.number, micros(at)).await;
    }

    fn candidate(&self) -> u32 {
        u32::from(self.number)
    }

    fn number(&self) -> u16 {
        self.number
    }

    fn draw(&self) -> u64 {
        self.world.draw(u64::MAX)
    }

    fn record(&self, event: Event) {
        self.write_down(JournalEntry::Said(event));
    }

    fn believe(&self, token: Option<Token>) {
        self.state.believe(usize::from(self.number), token.is_some());
        self.write_down(JournalEntry::Believes(token));
    }

    /// There is no leader's work on a bench.
    async fn work_done(&self) {}

    async fn fence(&self, old: &Predecessor, _: Token) -> Result<(), String> {
        self.write_down(JournalEntry::Fences(old.clone()));
        if self.state.fencing_fails.get() { Err("the fence is down".into()) } else { Ok(()) }
    }

    async fn order(&self) -> Order {
        std::future::poll_fn(|cx| {
            let mut orders = self.candidate.orders.borrow_mut();
            if let Some(order) = orders.0.pop_front() {
                return Poll::Ready(order);
            }
            orders.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}
