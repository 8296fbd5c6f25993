//! What the candidates of a simulated cell share: who sits where, who leads, the resource, and how it all ends.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures::future::AbortHandle;
use futures::lock::Mutex;

use super::owners::Owners;
use super::script::What;
use super::seat::Seat;
use super::session::SimSession;
use super::world::{ClientId, World};
use crate::leaders::Leaders;
use crate::recipes::Election;
use crate::resource::Resource;
use crate::scenario::Cell as Parameters;

pub(super) struct Stage {
    pub(super) world: Rc<World>,
    pub(super) cell: Parameters,
    pub(super) leaders: RefCell<Leaders>,
    pub(super) resource: RefCell<Resource>,
    pub(super) owners: RefCell<Owners>,
    pub(super) elections: Vec<Rc<Election>>,
    /// By candidate; those of a dead host are its last ones.
    pub(super) seats: RefCell<Vec<Rc<Seat>>>,
    pub(super) aborts: RefCell<Vec<AbortHandle>>,
    pub(super) hosts: Vec<HostStage>,
    /// Candidates that stand.
    pub(super) standing: Cell<u64>,
    /// Candidates whose process is there.
    pub(super) living: Cell<u64>,
    /// The coordinator waits for the numbers above to change.
    pub(super) watcher: RefCell<Option<Waker>>,
    /// Hosts that a fault has hit and not let go of yet, and servers likewise, by id.
    pub(super) injured: RefCell<Vec<u16>>,
    pub(super) injured_servers: RefCell<Vec<u32>>,
    pub(super) faults: Cell<u32>,
    /// What a schedule does when a candidate begins its n-th term.
    pub(super) on_leading: RefCell<BTreeMap<(u32, u32), Vec<What>>>,
    /// The coordinator's own client, which no fault hits.
    pub(super) admin: Cell<ClientId>,
}

/// A host as far as its processes go.
pub(super) struct HostStage {
    pub(super) life: Cell<u32>,
    pub(super) turns: Turns,
    pub(super) common: Mutex<Option<SimSession>>,
}

impl HostStage {
    pub(super) fn new(connect_concurrency: u32) -> Self {
        Self { life: Cell::new(0), turns: Turns::new(connect_concurrency), common: Mutex::new(None) }
    }
}

impl Stage {
    /// A number that somebody may wait for has changed.
    pub(super) fn touch(&self) {
        if let Some(waker) = self.watcher.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Waits until the condition holds.
    pub(super) async fn until(&self, mut holds: impl FnMut(&Self) -> bool) {
        std::future::poll_fn(|cx| {
            if holds(self) {
                return Poll::Ready(());
            }
            self.watcher.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// Every candidate that has a process stands, and every group is led.
    pub(super) fn settled(&self) -> bool {
        let leaders = self.leaders.borrow();
        leaders.led() == leaders.groups() && self.standing.get() >= self.living.get()
    }

    pub(super) fn seat(&self, cand: u32) -> Option<Rc<Seat>> {
        self.seats.borrow().get(cand as usize).cloned()
    }

    pub(super) fn next_fault(&self) -> u32 {
        let fault = self.faults.get();
        self.faults.set(fault + 1);
        fault
    }
}

/// Lets so many in at a time, in the order in which they came.
pub(super) struct Turns {
    free: Cell<u32>,
    waiting: RefCell<VecDeque<(u64, Waker)>>,
    numbers: Cell<u64>,
}

impl Turns {
    fn new(free: u32) -> Self {
        Self { free: Cell::new(free.max(1)), waiting: RefCell::default(), numbers: Cell::new(0) }
    }

    /// A new process has nobody inside.
    pub(super) fn reset(&self, free: u32) {
        self.free.set(free.max(1));
        self.waiting.borrow_mut().clear();
    }

    pub(super) async fn enter(&self) -> Turn<'_> {
        let mut number = None;
        std::future::poll_fn(|cx| {
            let mut waiting = self.waiting.borrow_mut();
            let first = waiting.front().is_none_or(|(first, _)| Some(*first) == number);
            if self.free.get() > 0 && first {
                if number.is_some() {
                    waiting.pop_front();
                }
                self.free.set(self.free.get() - 1);
                return Poll::Ready(());
            }
            let own = *number.get_or_insert_with(|| {
                self.numbers.set(self.numbers.get() + 1);
                self.numbers.get()
            });
            match waiting.iter_mut().find(|(number, _)| *number == own) {
                Some(place) => place.1 = cx.waker().clone(),
                None => waiting.push_back((own, cx.waker().clone())),
            }
            Poll::Pending
        })
        .await;
        Turn(self)
    }
}

pub(super) struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.free.set(self.0.free.get() + 1);
        if let Some((_, waker)) = self.0.waiting.borrow().front() {
            waker.wake_by_ref();
        }
    }
}
