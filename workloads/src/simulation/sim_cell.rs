//! A simulated cell under way: its world, and its hosts and candidates as they stand there.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures::channel::oneshot;
use hustings_record::{Nanos, Token};

use super::process::SimProcess;
use super::seat::SimSeat;
use super::session::SimSession;
use super::world::World;
use crate::driver::{Sessions, State};
use crate::recipes::Election;
use crate::schedule::{Action, Step};

pub(super) struct SimCell {
    pub(super) world: Rc<World>,
    pub(super) state: State,
    /// What hits instead of what the cell plans, if anything does.
    pub(super) schedule: Option<Vec<Step>>,
    pub(super) elections: Vec<Election>,
    /// By candidate; those of a dead host are its last ones.
    pub(super) seats: RefCell<Vec<Rc<SimSeat>>>,
    pub(super) hosts: Vec<SimHost>,
    /// Candidates that stand.
    pub(super) standing: Cell<u64>,
    /// Candidates whose process is there.
    pub(super) living: Cell<u64>,
    /// Those of the numbers above, and of who leads.
    pub(super) changes: Rc<Changes>,
    /// When the coordinator wants to be woken at the latest.
    pub(super) alarm: Cell<Nanos>,
    /// What a schedule does when a candidate begins its n-th term.
    pub(super) on_leading: RefCell<BTreeMap<(u32, u32), Vec<Action>>>,
    /// What lies in wait for a candidate that wins.
    pub(super) sync_point: RefCell<Option<SyncPoint>>,
    /// Hosts whose writes are not taken, and those that have come.
    pub(super) hung: RefCell<BTreeMap<u16, Vec<Withheld>>>,
    /// The coordinator's own, which no fault hits.
    pub(super) admin: RefCell<Option<SimSession>>,
}

/// Lies in wait on some hosts for a candidate that wins.
pub(super) struct SyncPoint {
    pub(super) hosts: Vec<u16>,
    /// Until it has sprung.
    pub(super) sprung: Option<oneshot::Sender<u16>>,
    /// Who is held.
    pub(super) held: Option<oneshot::Sender<()>>,
}

/// A write that has come and is not taken.
pub(super) struct Withheld {
    pub(super) seat: Rc<SimSeat>,
    pub(super) token: Token,
    pub(super) sent: Nanos,
}

/// A host as far as its processes go.
pub(super) struct SimHost {
    pub(super) generation: Cell<u32>,
    /// Those of its process.
    pub(super) sessions: RefCell<Rc<Sessions<SimProcess>>>,
}

impl SimCell {
    pub(super) fn seat(&self, cand: u32) -> Option<Rc<SimSeat>> {
        self.seats.borrow().get(cand as usize).cloned()
    }

    /// A candidate stands, or stands no more.
    pub(super) fn stands(&self, seat: &SimSeat, stands: bool) {
        if seat.stands.replace(stands) != stands {
            self.standing.set(if stands { self.standing.get() + 1 } else { self.standing.get() - 1 });
            self.changes.tell();
        }
    }
}

/// Tells the coordinator that a number that it may wait for has changed.
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
