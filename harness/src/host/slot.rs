//! A candidate's slot on its host: the [`Host`] of its recipe.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use hustings_workloads::driver::{self, work};
use hustings_workloads::host::{Departure, Event, Host, Order, Predecessor, Token};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::client::session::ZkSession;
use crate::foreign::intake::{PendingWrite, ResourceAnswer};
use crate::host::process::{HostProcess, HostShared, QueuedMessage};
use crate::process::clock;
use crate::protocol::{FromHost, WriteAnswer};

/// Maximum wait for the coordinator's reply to a fencing request.
const FENCE_AT_MOST: Duration = Duration::from_secs(10);

/// Maximum time that the coordinator may hold a candidate that has won.
const HELD_AT_MOST: Duration = Duration::from_secs(10);

/// One candidate's slot.
pub(super) struct HostSlot {
    pub(super) shared: Rc<HostShared>,
    pub(super) cand: u32,
    /// Allows ending its session, without keeping it alive.
    pub(super) session: RefCell<Option<zookeeper_client::SessionInfo>>,
    /// The token it believes in, and a number that changes with every change of belief.
    pub(super) belief: Cell<(Option<Token>, u64)>,
    /// The token of a write that is queued, or waits for its reply.
    write_under_way: Cell<Option<Token>>,
    /// Pending reply to a write over the path of programs.
    asked: RefCell<Option<oneshot::Sender<ResourceAnswer>>>,
    done_waker: RefCell<Option<Waker>>,
    pub(super) stands: Cell<bool>,
    /// The fault whose resignation is under way.
    pub(super) resigning: Cell<Option<u32>>,
    orders: Mutex<mpsc::Receiver<Order>>,
    rng: RefCell<ChaCha8Rng>,
    this: std::rc::Weak<Self>,
}

impl HostSlot {
    pub(super) fn new(shared: Rc<HostShared>, cand: u32, orders: mpsc::Receiver<Order>, rng: ChaCha8Rng) -> Rc<Self> {
        Rc::new_cyclic(|this| Self {
            shared,
            cand,
            session: RefCell::default(),
            belief: Cell::new((None, 0)),
            write_under_way: Cell::new(None),
            asked: RefCell::default(),
            done_waker: RefCell::default(),
            stands: Cell::new(false),
            resigning: Cell::new(None),
            orders: Mutex::new(orders),
            rng: RefCell::new(rng),
            this: this.clone(),
        })
    }

    /// The message for a write to send now. None: the belief behind it has ended, and it is never sent.
    pub(super) fn send_write(&self, token: Token, change: u64) -> Option<FromHost> {
        if !driver::Slot::believes(self, change) {
            self.answered();
            return None;
        }
        let sent = clock::now();
        Some(FromHost::Write { cand: self.cand, token, node: None, sent, is_stamped: true, came: sent })
    }

    /// As [`Self::send_write`], over the path of programs, until the reply.
    async fn write_as_programs_do(&self, token: Token, change: u64) {
        if let Some(paths) = self.shared.paths.as_ref().filter(|_| driver::Slot::believes(self, change)) {
            paths.write(self.cand, token, clock::now()).await;
        }
        self.answered();
    }

    /// Passes on its write that arrived over the path of programs.
    pub(super) fn wrote(&self, write: PendingWrite) {
        // Without one, no task waits for the reply any more.
        let Some(token) = self.write_under_way.get() else { return };
        self.asked.replace(Some(write.answer));
        let sent = write.said.t.unwrap_or(write.t);
        let came = write.t;
        self.shared.tell(FromHost::Write { cand: self.cand, token, node: None, sent, is_stamped: true, came });
    }

    /// Handles the resource's reply to its write.
    pub(super) fn written(&self, answer: WriteAnswer) {
        match self.asked.take() {
            // Reply over the path of the write. The writer may have ended.
            Some(asked) => _ = asked.send(answer.into()),
            None => self.answered(),
        }
    }

    /// Notes that no write is under way any more.
    pub(super) fn answered(&self) {
        self.write_under_way.set(None);
        if let Some(waker) = self.done_waker.borrow_mut().take() {
            waker.wake();
        }
    }

    pub(super) fn stands(&self, stands: bool) {
        if self.stands.replace(stands) != stands {
            let count = &self.shared.standing;
            count.set(if stands { count.get() + 1 } else { count.get() - 1 });
        }
    }
}

impl Host for HostSlot {
    fn now(&self) -> u64 {
        clock::now()
    }

    fn wall_now(&self) -> u64 {
        clock::now().saturating_add_signed(self.shared.wall_ahead_ms.get() * 1_000_000)
    }

    async fn sleep_until(&self, at: u64) {
        clock::sleep_until(at).await;
    }

    fn candidate(&self) -> u32 {
        self.cand
    }

    fn number(&self) -> u16 {
        self.shared.host
    }

    fn draw(&self) -> u64 {
        self.rng.borrow_mut().next_u64()
    }

    fn record(&self, event: Event) {
        if matches!(event, Event::Joined { .. }) {
            self.stands(true);
        }
        self.shared.journal.push(&event);
    }

    fn believe(&self, token: Option<Token>) {
        let (_, change) = self.belief.get();
        self.belief.set((token, change + 1));
        self.shared.tell(FromHost::Belief { cand: self.cand, token });
        if let (Some(token), Some(this)) = (token, self.this.upgrade()) {
            tokio::task::spawn_local(async move { work(&*this, token, change + 1).await });
        }
    }

    async fn work_done(&self) {
        std::future::poll_fn(|cx| {
            if self.write_under_way.get().is_none() {
                return Poll::Ready(());
            }
            self.done_waker.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    async fn fence(&self, old: &Predecessor, new: Token) -> Result<(), String> {
        let request = self.shared.fence_requests.get() + 1;
        self.shared.fence_requests.set(request);
        let (answer, answered) = oneshot::channel();
        self.shared.fences.borrow_mut().insert(request, answer);
        let (cand, old, sent) = (self.cand, old.clone(), clock::now());
        self.shared.tell(FromHost::Fence { request, sent, cand, old, new });
        let answer = tokio::time::timeout(FENCE_AT_MOST, answered).await;
        self.shared.fences.borrow_mut().remove(&request);
        match answer {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(error))) => Err(error),
            Ok(Err(_)) | Err(_) => Err("the fencing was not answered in time".into()),
        }
    }

    async fn won(&self) {
        if !self.shared.sync_point.get() {
            return;
        }
        let (hold, go_on) = oneshot::channel();
        self.shared.at_sync_point.borrow_mut().insert(self.cand, hold);
        self.shared.tell(FromHost::Won { cand: self.cand });
        // It continues in both cases; dropping the sender releases it.
        let _ = tokio::time::timeout(HELD_AT_MOST, go_on).await;
        self.shared.at_sync_point.borrow_mut().remove(&self.cand);
    }

    async fn order(&self) -> Order {
        match self.orders.lock().await.recv().await {
            Some(order) => order,
            None => std::future::pending().await,
        }
    }
}

impl driver::Slot for HostSlot {
    type Process = HostProcess;

    fn begins(&self, session: &ZkSession) {
        self.session.replace(Some(session.info()));
    }

    fn left(&self, departure: &Departure) {
        self.stands(false);
        if let Some(fault) = self.resigning.take() {
            let outcome = departure.resignation();
            self.shared.tell(FromHost::Done { fault, cand: self.cand, outcome });
        }
    }

    fn rejoin_after(&self) -> Duration {
        Duration::from_millis(self.shared.set_up.rejoin_after_ms)
    }

    fn believes(&self, change: u64) -> bool {
        self.belief.get().1 == change
    }

    fn write(&self, token: Token) {
        let Some(slot) = self.this.upgrade() else { return };
        if self.write_under_way.get().is_some() {
            return;
        }
        self.write_under_way.set(Some(token));
        let change = self.belief.get().1;
        if self.shared.paths.is_some() {
            tokio::task::spawn_local(async move { slot.write_as_programs_do(token, change).await });
        } else {
            self.shared.send(QueuedMessage::Later(Box::new(move || slot.send_write(token, change))));
        }
    }

    fn work_interval(&self) -> Duration {
        Duration::from_millis(self.shared.set_up.work_interval_ms.max(1))
    }
}
