//! A running simulated cell: its world, and the state of its hosts and candidates.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures::channel::oneshot;
use hustings_record::{Nanos, Token};

use super::process::SimProcess;
use super::session::SimSession;
use super::slot::SimSlot;
use super::world::SimWorld;
use crate::driver::{Sessions, State};
use crate::recipes::Election;
use crate::schedule::{Action, Step};

pub(super) struct SimCell {
    pub(super) world: Rc<SimWorld>,
    pub(super) state: State,
    /// The schedule that replaces the cell's plan, if there is one.
    pub(super) schedule: Option<Vec<Step>>,
    pub(super) elections: Vec<Election>,
    /// By candidate; after a host's death, those of its last process.
    pub(super) slots: RefCell<Vec<Rc<SimSlot>>>,
    pub(super) hosts: Vec<SimHost>,
    /// Number of enrolled candidates.
    pub(super) standing: Cell<u64>,
    /// Number of candidates whose process is running.
    pub(super) living: Cell<u64>,
    /// Changes of the numbers above, and of the leaders.
    pub(super) changes: Rc<Changes>,
    /// The latest time at which the coordinator wakes.
    pub(super) alarm: Cell<Nanos>,
    /// Actions of a schedule when a candidate begins its n-th term.
    pub(super) on_leading: RefCell<BTreeMap<(u32, u32), Vec<Action>>>,
    /// The sync point for a candidate that wins.
    pub(super) sync_point: RefCell<Option<SyncPoint>>,
    /// Hosts whose writes are withheld, and the writes that have arrived.
    pub(super) hung: RefCell<BTreeMap<u16, Vec<WithheldWrite>>>,
    /// The coordinator's own session, which no fault hits.
    pub(super) admin: RefCell<Option<SimSession>>,
}

/// Waits on some hosts for a candidate that wins.
pub(super) struct SyncPoint {
    pub(super) hosts: Vec<u16>,
    /// Present until it triggers.
    pub(super) triggered: Option<oneshot::Sender<u16>>,
    /// Releases the held candidate.
    pub(super) held: Option<oneshot::Sender<()>>,
}

/// A write that has arrived but is withheld.
pub(super) struct WithheldWrite {
    pub(super) slot: Rc<SimSlot>,
    pub(super) token: Token,
    pub(super) sent: Nanos,
}

/// The processes of a host.
pub(super) struct SimHost {
    pub(super) generation: Cell<u32>,
    /// The sessions of its current process.
    pub(super) sessions: RefCell<Rc<Sessions<SimProcess>>>,
}

impl SimCell {
    pub(super) fn slot(&self, cand: u32) -> Option<Rc<SimSlot>> {
        self.slots.borrow().get(cand as usize).cloned()
    }

    /// A candidate has enrolled or left.
    pub(super) fn stands(&self, slot: &SimSlot, stands: bool) {
        if slot.stands.replace(stands) != stands {
            self.standing.set(if stands { self.standing.get() + 1 } else { self.standing.get() - 1 });
            self.changes.tell();
        }
    }
}

/// Notifies the coordinator that a number that it may wait for has changed.
#[derive(Default)]
pub(super) struct Changes(RefCell<Option<Waker>>);

impl Changes {
    pub(super) fn tell(&self) {
        if let Some(waker) = self.0.borrow_mut().take() {
            waker.wake();
        }
    }

    pub(super) async fn told(&self) {
        let mut waits = false;
        std::future::poll_fn(|cx| {
            if std::mem::replace(&mut waits, true) {
                return Poll::Ready(());
            }
            self.0.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}
