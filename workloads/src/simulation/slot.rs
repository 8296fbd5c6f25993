//! The state of a candidate's slot on its simulated host.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use futures::channel::oneshot;
use futures::future::AbortHandle;

use super::world::ClientId;
use crate::driver::CandidateOrderOutcome;
use crate::host::Token;
use crate::model::Micros;

pub(super) struct SimSlot {
    pub(super) cand: u32,
    pub(super) group: u32,
    pub(super) host: u16,
    /// Ends its candidate's life, once that has begun.
    pub(super) abort: OnceCell<AbortHandle>,
    /// Whether its process was killed.
    pub(super) dead: Cell<bool>,
    pub(super) client: Cell<Option<ClientId>>,
    pub(super) session: Cell<i64>,
    /// The token it believes in, and a number that changes with every change of belief.
    pub(super) belief: Cell<(Option<Token>, u64)>,
    /// Whether a write or its answer is in flight.
    pub(super) writing: Cell<bool>,
    pub(super) done_waker: RefCell<Option<Waker>>,
    /// Additional delay of its writes to the resource.
    pub(super) writes_late_us: Cell<Micros>,
    pub(super) stands: Cell<bool>,
    /// Name of the znode of its enrolment or its lead, where a schedule may need it.
    pub(super) node: RefCell<Option<String>>,
    /// How many terms it has begun.
    pub(super) terms: Cell<u32>,
    /// The waiter for the result of its resignation.
    pub(super) resigning: Cell<Option<oneshot::Sender<CandidateOrderOutcome>>>,
    /// Number of orders to resign that it has not received so far.
    pub(super) orders: Cell<u32>,
    pub(super) order_waker: RefCell<Option<Waker>>,
    /// Whether it is ordered to stop.
    pub(super) stopping: Cell<bool>,
    /// Whether its candidate's life is over.
    pub(super) over: Cell<bool>,
    /// How far its wall clock is ahead of the monotonic one, in nanoseconds.
    pub(super) wall_ahead: Cell<i64>,
}

impl SimSlot {
    pub(super) fn new(cand: u32, group: u32, host: u16) -> Rc<Self> {
        Rc::new(Self {
            cand,
            group,
            host,
            abort: OnceCell::new(),
            dead: Cell::new(false),
            client: Cell::new(None),
            session: Cell::new(0),
            belief: Cell::new((None, 0)),
            writing: Cell::new(false),
            done_waker: RefCell::default(),
            writes_late_us: Cell::new(0),
            stands: Cell::new(false),
            node: RefCell::default(),
            terms: Cell::new(0),
            resigning: Cell::new(None),
            orders: Cell::new(0),
            order_waker: RefCell::default(),
            stopping: Cell::new(false),
            over: Cell::new(false),
            wall_ahead: Cell::new(0),
        })
    }

    /// Orders it to resign; it receives that when its recipe polls for orders.
    pub(super) fn tell_to_resign(&self) {
        self.orders.set(self.orders.get() + 1);
        if let Some(waker) = self.order_waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// The answer to its write has arrived.
    pub(super) fn answered(&self) {
        self.writing.set(false);
        if let Some(waker) = self.done_waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Orders it to stop; it receives that when its recipe polls for orders.
    pub(super) fn stop(&self) {
        self.stopping.set(true);
        if let Some(waker) = self.order_waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Its process has ended, and every belief with it.
    pub(super) fn reap(&self) {
        self.dead.set(true);
        self.resigning.take();
        self.belief.set((None, self.belief.get().1 + 1));
    }
}
