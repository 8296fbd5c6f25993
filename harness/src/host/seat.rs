//! A candidate's seat on its host: the [`Booth`] that its recipe sees.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hustings_workloads::booth::{Booth, Order, Predecessor, Report, Token};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::clock;
use crate::host::{said, work};
use crate::journal::Journal;
use crate::protocol::{FromHost, HostSetUp};
use crate::session::ZkSession;

/// The coordinator may take this long over a fencing before the candidate gives up.
const FENCE_AT_MOST: Duration = Duration::from_secs(10);

/// What all candidates of a host share.
pub(super) struct Shared {
    pub(super) host: u16,
    pub(super) set_up: HostSetUp,
    pub(super) journal: Journal,
    pub(super) outgoing: mpsc::Sender<FromHost>,
    pub(super) fences: RefCell<BTreeMap<u64, oneshot::Sender<Option<String>>>>,
    pub(super) fence_requests: Cell<u64>,
    pub(super) stopping: tokio::sync::watch::Receiver<bool>,
    pub(super) connected: Cell<u32>,
    pub(super) standing: Cell<u32>,
}

impl Shared {
    /// Queues a message. One that is lost would leave the coordinator with a wrong picture for good (a belief that ended, a
    /// write without an answer), so it ends the host.
    pub(super) fn tell(&self, message: FromHost) {
        if self.outgoing.try_send(message).is_err() && !*self.stopping.borrow() {
            self.journal.flush();
            self.journal.fail("a message to the coordinator was lost: its queue is full or it is gone");
        }
    }

    /// Waits for the order to stop.
    pub(super) async fn stopped(&self) {
        let mut stopping = self.stopping.clone();
        // An error means that the sender is gone: the host is ending.
        let _ = stopping.wait_for(|&stop| stop).await;
    }
}

/// One candidate's seat.
pub(super) struct Seat {
    pub(super) shared: Rc<Shared>,
    pub(super) cand: u32,
    pub(super) session: RefCell<Option<ZkSessionRef>>,
    /// The token it believes in, and a number that changes with every change of belief.
    pub(super) belief: Cell<(Option<Token>, u64)>,
    pub(super) write_under_way: Cell<bool>,
    pub(super) stands: Cell<bool>,
    /// The fault whose resignation or expiry is under way.
    pub(super) resigning: Cell<Option<u32>>,
    requests_before: Cell<u64>,
    orders: Mutex<mpsc::Receiver<Order>>,
    rng: RefCell<ChaCha8Rng>,
    this: std::rc::Weak<Self>,
}

/// What a seat knows of its session without keeping it alive.
pub(super) struct ZkSessionRef {
    pub(super) id: i64,
    pub(super) info: zookeeper_client::SessionInfo,
    pub(super) requests: Rc<Cell<u64>>,
}

impl ZkSessionRef {
    pub(super) fn of(session: &ZkSession) -> Self {
        use hustings_workloads::coordination::Session as _;
        Self { id: session.id(), info: session.info(), requests: session.counter() }
    }
}

impl Seat {
    pub(super) fn new(shared: Rc<Shared>, cand: u32, orders: mpsc::Receiver<Order>, rng: ChaCha8Rng) -> Rc<Self> {
        Rc::new_cyclic(|this| Self {
            shared,
            cand,
            session: RefCell::default(),
            belief: Cell::new((None, 0)),
            write_under_way: Cell::new(false),
            stands: Cell::new(false),
            resigning: Cell::new(None),
            requests_before: Cell::new(0),
            orders: Mutex::new(orders),
            rng: RefCell::new(rng),
            this: this.clone(),
        })
    }

    pub(super) fn session_id(&self) -> i64 {
        self.session.borrow().as_ref().map_or(0, |session| session.id)
    }

    pub(super) fn stands(&self, stands: bool) {
        if self.stands.replace(stands) != stands {
            let count = &self.shared.standing;
            count.set(if stands { count.get() + 1 } else { count.get() - 1 });
        }
    }

    fn requests(&self) -> u64 {
        self.session.borrow().as_ref().map_or(0, |session| session.requests.get())
    }
}

impl Booth for Seat {
    fn now(&self) -> u64 {
        clock::now()
    }

    async fn sleep_until(&self, at: u64) {
        clock::sleep_until(at).await;
    }

    fn candidate(&self) -> u32 {
        self.cand
    }

    fn host(&self) -> u16 {
        self.shared.host
    }

    fn draw(&self) -> u64 {
        self.rng.borrow_mut().next_u64()
    }

    fn report(&self, report: Report<'_>) {
        let joined = matches!(report, Report::Joined { .. });
        if joined {
            self.stands(true);
        }
        if joined || matches!(report, Report::Notified { .. }) {
            self.requests_before.set(self.requests());
        }
        let requests = self.requests().saturating_sub(self.requests_before.get()) as u32;
        let event = said::report(clock::now(), self.cand, self.session_id(), requests, &report);
        // Nobody acts on a belief before it is on record.
        match report {
            Report::Grant { .. } | Report::Revoke { .. } => self.shared.journal.push_through(&event),
            _ => self.shared.journal.push(&event),
        }
    }

    fn believe(&self, token: Option<Token>) {
        let (_, change) = self.belief.get();
        self.belief.set((token, change + 1));
        self.shared.tell(FromHost::Belief { cand: self.cand, token });
        if let (Some(token), Some(this)) = (token, self.this.upgrade()) {
            tokio::task::spawn_local(work::lead(this, token, change + 1));
        }
    }

    async fn fence(&self, old: &Predecessor, new: Token) -> Result<(), String> {
        let request = self.shared.fence_requests.get() + 1;
        self.shared.fence_requests.set(request);
        let (answer, answered) = oneshot::channel();
        self.shared.fences.borrow_mut().insert(request, answer);
        self.shared.tell(FromHost::Fence { request, cand: self.cand, old: old.clone(), new });
        let answer = tokio::time::timeout(FENCE_AT_MOST, answered).await;
        self.shared.fences.borrow_mut().remove(&request);
        match answer {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(error))) => Err(error),
            Ok(Err(_)) | Err(_) => Err("the fencing was not answered in time".into()),
        }
    }

    async fn order(&self) -> Order {
        match self.orders.lock().await.recv().await {
            Some(order) => order,
            None => std::future::pending().await,
        }
    }
}
