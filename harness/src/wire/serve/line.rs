//! What is known of one client's connection beside its socket: what is to be sent, what has not been answered, and whether
//! it is to end.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;

use hustings_workloads::model::{SessionId, Zxid};
use tokio::sync::Notify;

use super::super::reply::Shape;

/// A client that reads so slowly that more than this waits for it is given up.
const UNSENT_BYTES_MAX: usize = 8 << 20;
/// Of a connection that has more unanswered requests nothing is read for the moment.
const UNANSWERED_MAX: usize = 1_000;

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineFate {
    Open,
    /// It is closed once everything was sent.
    Close,
    Reset,
}

/// What the next answer on a connection is.
#[derive(Debug)]
pub(super) enum DueAnswer {
    /// The ensemble's, in this shape.
    Answer(Shape),
    Ping,
    /// One that needs no ensemble; the connection may end with it.
    Ready {
        frame: Vec<u8>,
        fate: LineFate,
    },
}

/// One connection, shared by its own task and whatever answers it.
#[derive(Debug)]
pub(super) struct ServedConnection {
    pub(super) peer: SocketAddr,
    pub(super) session: Cell<SessionId>,
    /// T of its session, once that is granted.
    pub(super) timeout_ms: Cell<i32>,
    /// The client asked for a session, and sends and expects the byte for read-only sessions.
    pub(super) asked: Cell<Option<bool>>,
    pub(super) received: Cell<u64>,
    pub(super) sent: Cell<u64>,
    pub(super) fate: Cell<LineFate>,
    pub(super) unsent: RefCell<Vec<u8>>,
    pub(super) wake: Notify,
    /// By scheme and user: where it comes from, and what it has proven.
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
            fate: Cell::new(LineFate::Open),
            unsent: RefCell::default(),
            wake: Notify::new(),
            identities: RefCell::new(vec![("ip".to_owned(), peer.ip().to_string())]),
            due: RefCell::default(),
        }
    }

    /// Whether it may be read now: nothing is, between the request for a session and its answer.
    pub(super) fn may_ask(&self) -> bool {
        let granted = self.asked.get().is_none() || self.timeout_ms.get() > 0;
        self.fate.get() == LineFate::Open && granted && self.due.borrow().len() < UNANSWERED_MAX
    }

    /// The user of a digest is what stands before its colon.
    pub(super) fn has_proven(&self, scheme: &str, id: &str) {
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

    /// Puts a frame behind what is to be sent.
    pub(super) fn send(&self, frame: &[u8]) {
        if self.fate.get() != LineFate::Open {
            return;
        }
        let mut unsent = self.unsent.borrow_mut();
        if unsent.len() > UNSENT_BYTES_MAX {
            self.end(LineFate::Reset);
            return;
        }
        self.sent.set(self.sent.get() + 1);
        unsent.extend_from_slice(frame);
        self.wake.notify_one();
    }

    pub(super) fn end(&self, fate: LineFate) {
        if self.fate.get() != LineFate::Reset {
            self.fate.set(fate);
        }
        self.wake.notify_one();
    }

    /// Something is to be answered, after what is due already.
    pub(super) fn owe(&self, due: DueAnswer, last_zxid: impl Fn() -> Zxid, ping: impl Fn(Zxid) -> Vec<u8>) {
        self.due.borrow_mut().push_back(due);
        self.pay(last_zxid, ping);
    }

    /// The shape of the ensemble's next answer.
    pub(super) fn next_answer(&self) -> Shape {
        match self.due.borrow_mut().pop_front() {
            Some(DueAnswer::Answer(shape)) => shape,
            _ => Shape::Plain,
        }
    }

    /// Sends what is due and needs no ensemble.
    pub(super) fn pay(&self, last_zxid: impl Fn() -> Zxid, ping: impl Fn(Zxid) -> Vec<u8>) {
        let mut due = self.due.borrow_mut();
        while let Some(ready) = due.pop_front_if(|due| !matches!(due, DueAnswer::Answer(_))) {
            match ready {
                DueAnswer::Ping => self.send(&ping(last_zxid())),
                DueAnswer::Ready { frame, fate } => {
                    self.send(&frame);
                    if fate != LineFate::Open {
                        self.end(fate);
                    }
                }
                DueAnswer::Answer(_) => {}
            }
        }
    }
}
