//! `Host` over the real clock, with a journal of all events of the candidates.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use hustings::process::clock;
use hustings_workloads::host::{Event, Host, Nanos, Order, Predecessor, RevokeReason, Token};
use tokio::sync::{Mutex, mpsc};

/// One line of the journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Joined,
    Grant(Token),
    Revoke(RevokeReason),
    Notified,
    Note(String),
    Fence(Predecessor, Token),
}

/// State shared by the candidates of a group.
#[derive(Default)]
pub(crate) struct GroupState {
    pub(crate) journal: RefCell<Vec<(u32, Entry)>>,
    /// All events that they would record.
    pub(crate) events: RefCell<Vec<(u32, Event)>>,
    pub(crate) believers: RefCell<BTreeSet<u32>>,
    pub(crate) believers_max: Cell<usize>,
    draws: Cell<u64>,
}

pub(crate) struct TestHost {
    pub(crate) candidate: u32,
    pub(crate) shared: Rc<GroupState>,
    pub(crate) orders: Mutex<mpsc::Receiver<Order>>,
}

impl TestHost {
    fn log(&self, entry: Entry) {
        self.shared.journal.borrow_mut().push((self.candidate, entry));
    }
}

impl Host for TestHost {
    fn now(&self) -> Nanos {
        clock::now()
    }

    async fn sleep_until(&self, at: Nanos) {
        clock::sleep_until(at).await;
    }

    fn candidate(&self) -> u32 {
        self.candidate
    }

    fn number(&self) -> u16 {
        7
    }

    fn draw(&self) -> u64 {
        self.shared.draws.set(self.shared.draws.get() + 1);
        // Spread, so that the order of guids is not the order of arrival.
        self.shared.draws.get().wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn record(&self, event: Event) {
        self.shared.events.borrow_mut().push((self.candidate, event.clone()));
        match event {
            Event::Joined { .. } => self.log(Entry::Joined),
            Event::Grant { czxid, session, .. } => self.log(Entry::Grant(Token { czxid, session })),
            Event::Revoke { reason, .. } => self.log(Entry::Revoke(reason)),
            Event::Notified { .. } => self.log(Entry::Notified),
            Event::Note { text, .. } => self.log(Entry::Note(text)),
            _ => {}
        }
    }

    fn believe(&self, token: Option<Token>) {
        let mut believers = self.shared.believers.borrow_mut();
        if token.is_some() {
            believers.insert(self.candidate);
        } else {
            believers.remove(&self.candidate);
        }
        self.shared.believers_max.set(self.shared.believers_max.get().max(believers.len()));
    }

    /// There is no leader's work here.
    async fn work_done(&self) {}

    async fn fence(&self, old: &Predecessor, new: Token) -> Result<(), String> {
        self.log(Entry::Fence(old.clone(), new));
        Ok(())
    }

    async fn order(&self) -> Order {
        match self.orders.lock().await.recv().await {
            Some(order) => order,
            None => std::future::pending().await,
        }
    }
}
