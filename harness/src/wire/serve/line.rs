//! The state of one client's connection without its socket: pending data, unanswered requests, and whether it must end.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;

use hustings_workloads::model::{SessionId, Zxid};
use tokio::sync::Notify;

use super::super::reply::ReplyFormat;

/// A client is disconnected if it reads so slowly that more than this is pending.
const UNSENT_BYTES_MAX: usize = 8 << 20;
/// With more unanswered requests than this, nothing is read from the connection for the moment.
const UNANSWERED_MAX: usize = 1_000;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServedConnectionState {
    Open,
    /// It closes once all data is sent.
    Close,
    Reset,
}

/// The next answer on a connection.
#[derive(Debug)]
pub(super) enum DueAnswer {
    /// The ensemble's answer, in this format.
    Answer(ReplyFormat),
    Ping,
    /// An answer without the ensemble. It may end the connection.
    Ready {
        frame: Vec<u8>,
        fate: ServedConnectionState,
    },
}

/// One connection, shared by its own task and the code that answers it.
#[derive(Debug)]
pub(super) struct ServedConnection {
    pub(super) peer: SocketAddr,
    pub(super) session: Cell<SessionId>,
    /// T of its session, once granted.
    pub(super) timeout_ms: Cell<i32>,
    /// Some: the client has requested a session. The value: whether it sends and expects the read-only byte.
    pub(super) asked: Cell<Option<bool>>,
    pub(super) received: Cell<u64>,
    pub(super) sent: Cell<u64>,
    pub(super) fate: Cell<ServedConnectionState>,
    pub(super) unsent: RefCell<Vec<u8>>,
    pub(super) wake: Notify,
    /// Scheme and user of its address and of each identity that it has proven.
    pub(super) identities: RefCell<Vec<(String, String)>>,
    due: RefCell<VecDeque<DueAnswer>>,
}

impl ServedConnection {
    pub(super) fn new(peer: SocketAddr) -> Self {
        Self {
            peer,
            session: Cell::default(),
            timeout_ms: Cell::default(),
            asked: Cell::default(),
            received: Cell::default(),
            sent: Cell::default(),
            fate: Cell::new(ServedConnectionState::Open),
            unsent: RefCell::default(),
            wake: Notify::new(),
            identities: RefCell::new(vec![("ip".to_owned(), peer.ip().to_string())]),
            due: RefCell::default(),
        }
    }

    /// Whether it may be read now. Nothing is read between the session request and its answer.
    pub(super) fn may_ask(&self) -> bool {
        let granted = self.asked.get().is_none() || self.timeout_ms.get() > 0;
        self.fate.get() == ServedConnectionState::Open && granted && self.due.borrow().len() < UNANSWERED_MAX
    }

    /// The user of a digest is the part before the colon.
    pub(super) fn add_verified_identity(&self, scheme: &str, id: &str) {
        let user = if scheme == "digest" { id.split(':').next().unwrap_or_default() } else { id };
        let identity = (scheme.to_owned(), user.to_owned());
        let mut identities = self.identities.borrow_mut();
        if !identities.contains(&identity) {
            identities.push(identity);
        }
    }

    pub(super) fn reset_counts(&self) {
        self.received.set(0);
        self.sent.set(0);
    }

    pub(super) fn unanswered(&self) -> usize {
        self.due.borrow().len()
    }

    /// Appends a frame to the pending data.
    pub(super) fn send(&self, frame: &[u8]) {
        if self.fate.get() != ServedConnectionState::Open {
            return;
        }
        let mut unsent = self.unsent.borrow_mut();
        if unsent.len() > UNSENT_BYTES_MAX {
            self.end(ServedConnectionState::Reset);
            return;
        }
        self.sent.set(self.sent.get() + 1);
        unsent.extend_from_slice(frame);
        self.wake.notify_one();
    }

    pub(super) fn end(&self, fate: ServedConnectionState) {
        if self.fate.get() != ServedConnectionState::Reset {
            self.fate.set(fate);
        }
        self.wake.notify_one();
    }

    /// Queues an answer behind those already due.
    pub(super) fn queue_answer(&self, due: DueAnswer, last_zxid: impl Fn() -> Zxid, ping: impl Fn(Zxid) -> Vec<u8>) {
        self.due.borrow_mut().push_back(due);
        self.send_due_answers(last_zxid, ping);
    }

    /// The format of the ensemble's next answer.
    pub(super) fn next_answer(&self) -> ReplyFormat {
        match self.due.borrow_mut().pop_front() {
            Some(DueAnswer::Answer(shape)) => shape,
            _ => ReplyFormat::Plain,
        }
    }

    /// Sends the answers that are due and do not need the ensemble.
    pub(super) fn send_due_answers(&self, last_zxid: impl Fn() -> Zxid, ping: impl Fn(Zxid) -> Vec<u8>) {
        let mut due = self.due.borrow_mut();
        while let Some(ready) = due.pop_front_if(|due| !matches!(due, DueAnswer::Answer(_))) {
            match ready {
                DueAnswer::Ping => self.send(&ping(last_zxid())),
                DueAnswer::Ready { frame, fate } => {
                    self.send(&frame);
                    if fate != ServedConnectionState::Open {
                        self.end(fate);
                    }
                }
                DueAnswer::Answer(_) => {}
            }
        }
    }
}
