//! `Booth` over a clock that a test moves, with a journal of everything a candidate says and does.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use hustings_workloads::booth::{Booth, Nanos, Order, Predecessor, Report, RevokeReason, Token};
use hustings_workloads::coordination::WatchEvent;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Joined(Option<String>),
    Grant { term: u32, token: Token, node: String },
    Granted { term: u32 },
    Revoke { term: u32, reason: RevokeReason },
    Notified { node: String, event: WatchEvent },
    Settled,
    Note(String),
    Believe(Option<Token>),
    Fence { old: Predecessor },
}

/// What all candidates of a bench share: the clock, the journal, who believes, and what fencing comes to.
#[derive(Default)]
pub(crate) struct Hall {
    pub(crate) now: Cell<Nanos>,
    pub(crate) sleepers: RefCell<Vec<(Nanos, Waker)>>,
    pub(crate) journal: RefCell<Vec<(usize, Nanos, Entry)>>,
    pub(crate) believers: RefCell<BTreeSet<usize>>,
    pub(crate) believers_max: Cell<usize>,
    pub(crate) fencing_fails: Cell<bool>,
    pub(crate) draws: Cell<u64>,
    /// How far everybody's wall clock was set back.
    pub(crate) set_back: Cell<Nanos>,
}

impl Hall {
    pub(super) async fn sleep_until(&self, at: Nanos) {
        poll_fn(|cx| {
            if self.now.get() >= at {
                return Poll::Ready(());
            }
            self.sleepers.borrow_mut().push((at, cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}

#[derive(Clone)]
pub(crate) struct TestBooth {
    pub(crate) index: usize,
    pub(crate) hall: Rc<Hall>,
    pub(crate) orders: Rc<RefCell<(VecDeque<Order>, Option<Waker>)>>,
}

impl TestBooth {
    fn log(&self, entry: Entry) {
        self.hall.journal.borrow_mut().push((self.index, self.hall.now.get(), entry));
    }
}

impl Booth for TestBooth {
    fn now(&self) -> Nanos {
        self.hall.now.set(self.hall.now.get() + 1);
        self.hall.now.get()
    }

    async fn sleep_until(&self, at: Nanos) {
        self.hall.sleep_until(at).await;
    }

    fn wall_now(&self) -> Nanos {
        self.now().saturating_sub(self.hall.set_back.get())
    }

    fn candidate(&self) -> u32 {
        self.index as u32
    }

    fn host(&self) -> u16 {
        self.index as u16
    }

    fn draw(&self) -> u64 {
        self.hall.draws.set(self.hall.draws.get() + 1);
        // Spread, so that the order of guids is not the order of arrival.
        self.hall.draws.get().wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn report(&self, report: Report<'_>) {
        self.log(match report {
            Report::Joined { node, .. } => Entry::Joined(node.map(str::to_owned)),
            Report::Grant { term, token, node, .. } => Entry::Grant { term, token, node: node.to_owned() },
            Report::Granted { term, .. } => Entry::Granted { term },
            Report::Revoke { from, to, term, reason } => {
                assert!(from < to);
                Entry::Revoke { term, reason }
            }
            Report::Notified { node, event, .. } => Entry::Notified { node: node.to_owned(), event },
            Report::Settled => Entry::Settled,
            Report::Note { text } => Entry::Note(text.to_owned()),
        });
    }

    fn believe(&self, token: Option<Token>) {
        let mut believers = self.hall.believers.borrow_mut();
        if token.is_some() {
            believers.insert(self.index);
        } else {
            believers.remove(&self.index);
        }
        self.hall.believers_max.set(self.hall.believers_max.get().max(believers.len()));
        drop(believers);
        self.log(Entry::Believe(token));
    }

    async fn fence(&self, old: &Predecessor, _new: Token) -> Result<(), String> {
        self.log(Entry::Fence { old: old.clone() });
        if self.hall.fencing_fails.get() { Err("the fence is down".into()) } else { Ok(()) }
    }

    async fn order(&self) -> Order {
        poll_fn(|cx| {
            let mut orders = self.orders.borrow_mut();
            match orders.0.pop_front() {
                Some(order) => Poll::Ready(order),
                None => {
                    orders.1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}
