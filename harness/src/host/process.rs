//! A host's process as seen by its candidates: opens their sessions, and records the sessions' states.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::{Event, Nanos, SessionState};
use hustings_workloads::coordination::{Session as _, States as _};
use hustings_workloads::driver::Process;
use tokio::sync::{mpsc, oneshot};

use crate::client::session::ZkSession;
use crate::host::paths::Paths;
use crate::process::clock;
use crate::protocol::{FromHost, HostSetUp};
use crate::recording::journal::Journal;

/// State shared by all candidates of a host.
pub(super) struct HostShared {
    pub(super) host: u16,
    pub(super) set_up: HostSetUp,
    /// The paths of programs, if its candidates use them.
    pub(super) paths: Option<Paths>,
    pub(super) journal: Journal,
    pub(super) outgoing: mpsc::Sender<QueuedMessage>,
    pub(super) fences: RefCell<BTreeMap<u64, oneshot::Sender<Option<String>>>>,
    pub(super) fence_requests: Cell<u64>,
    /// Whether candidates that have won report that and wait; the candidates that currently wait.
    pub(super) sync_point: Cell<bool>,
    pub(super) at_sync_point: RefCell<BTreeMap<u32, oneshot::Sender<()>>>,
    pub(super) stopping: tokio::sync::watch::Receiver<bool>,
    pub(super) connected: Cell<u32>,
    pub(super) standing: Cell<u32>,
    /// By how many milliseconds its candidates' wall clock is ahead of this machine's.
    pub(super) wall_ahead_ms: Cell<i64>,
}

/// An entry of the queue to the coordinator.
pub(super) enum QueuedMessage {
    Message(FromHost),
    /// A message that is built and stamped when its turn comes. None: nothing is sent.
    Later(Box<dyn FnOnce() -> Option<FromHost>>),
}

impl QueuedMessage {
    /// The message to send now.
    pub(super) fn message(self) -> Option<FromHost> {
        match self {
            Self::Message(message) => Some(message),
            Self::Later(message) => message(),
        }
    }
}

impl HostShared {
    /// The connect string of its candidates.
    pub(super) fn cluster(&self) -> &str {
        self.paths.as_ref().map_or(&self.set_up.cluster, |paths| &paths.cluster)
    }

    /// The connect string of this process itself, with equally many hops.
    pub(super) fn own_cluster(&self) -> &str {
        self.paths.as_ref().map_or(&self.set_up.cluster, |paths| &paths.own_cluster)
    }

    /// Queues a message. A lost message would leave the coordinator permanently wrong (a belief that ended, a write
    /// without a reply), so it ends the host.
    pub(super) fn tell(&self, message: FromHost) {
        self.send(QueuedMessage::Message(message));
    }

    pub(super) fn send(&self, outgoing: QueuedMessage) {
        if self.outgoing.try_send(outgoing).is_err() && !*self.stopping.borrow() {
            self.journal.flush();
            self.journal.fail("a message to the coordinator was lost: its queue is full or it is gone");
        }
    }

    /// Waits for the order to stop.
    pub(super) async fn stopped(&self) {
        let mut stopping = self.stopping.clone();
        // An error means that the sender is dropped: the host is ending.
        let _ = stopping.wait_for(|&stop| stop).await;
    }
}

/// The shared state of this process's candidates, for the driver.
pub(super) struct HostProcess(pub(super) Rc<HostShared>);

impl Process for HostProcess {
    type Session = ZkSession;

    fn now(&self) -> Nanos {
        clock::now()
    }

    async fn sleep_until(&self, at: Nanos) {
        clock::sleep_until(at).await;
    }

    async fn stopped(&self) {
        self.0.stopped().await;
    }

    fn record(&self, event: Event) {
        self.0.journal.push(&event);
    }

    async fn connect(&self, _: Option<u32>) -> Result<ZkSession, String> {
        let (set_up, started) = (&self.0.set_up, clock::now());
        let timeout = Duration::from_millis(set_up.timeout_ms);
        let connecting = Box::pin(ZkSession::connect_as(&set_up.access, self.0.cluster(), timeout));
        let session = connecting.await.map_err(|error| error.to_string())?;
        self.0.established(&session, started);
        Ok(session)
    }

    fn share(&self, session: &ZkSession) -> ZkSession {
        session.share()
    }

    async fn close(&self, session: ZkSession, at_most: Duration) -> bool {
        session.close(at_most).await
    }
}

impl HostShared {
    fn established(self: &Rc<Self>, session: &ZkSession, started: u64) {
        let now = clock::now();
        self.journal.push(&Event::Session {
            t: now,
            session: session.id(),
            timeout_ms: session.timeout_ms(),
            asked_ms: self.set_up.timeout_ms,
            connect_ns: now - started,
        });
        tokio::task::spawn_local(follow(self.clone(), session.id(), session.states()));
    }
}

/// Records every state of a session until it ends.
async fn follow(shared: Rc<HostShared>, session: i64, mut states: crate::client::session::ZkStates) {
    let live = SessionCountGuard::new(&shared.connected);
    loop {
        let state = states.changed().await;
        shared.journal.push(&Event::State { t: clock::now(), session, state });
        if !matches!(state, SessionState::Connected | SessionState::Disconnected) {
            drop(live);
            return;
        }
    }
}

/// Counts a session while it lives.
struct SessionCountGuard<'a>(&'a Cell<u32>);

impl<'a> SessionCountGuard<'a> {
    fn new(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for SessionCountGuard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
