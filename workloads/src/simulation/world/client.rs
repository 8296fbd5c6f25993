//! The state of a ZooKeeper client: its session, its connection, and its waiters.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;

use super::due::COORDINATOR;
use super::watches::{WatchRequest, Watches};
use crate::coordination::{OpError, SessionState};
use crate::model::{Conn, Micros, Request, Response, Zxid};

/// The place for the answer to one request.
#[derive(Default)]
pub(crate) struct PendingAnswer {
    pub(crate) result: Option<Result<Response, OpError>>,
    pub(crate) waker: Option<Waker>,
    /// The watch that it arms.
    pub(crate) watch: Option<WatchRequest>,
}

/// The owner of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientOwner {
    pub(crate) host: u16,
    pub(crate) cand: Option<u32>,
    /// Whether events of its session are recorded.
    pub(crate) told: bool,
}

impl ClientOwner {
    /// The coordinator.
    pub(crate) const NOBODY: Self = Self { host: COORDINATOR, cand: None, told: false };
}

pub(crate) type AnswerSlot = Rc<RefCell<PendingAnswer>>;

pub(crate) struct Client {
    pub(crate) host: u16,
    /// The candidate that it belongs to, unless it is shared.
    pub(crate) cand: Option<u32>,
    pub(crate) asked_ms: u32,
    pub(crate) timeout_ms: u32,
    pub(crate) session: i64,
    pub(crate) password: [u8; 16],
    pub(crate) state: SessionState,
    /// Counts the changes of state.
    pub(crate) changes: u32,
    /// Changes with every connection: events planned for an earlier one are void.
    pub(crate) era: u32,
    pub(crate) conn: Option<Conn>,
    /// Requests may be sent: the session is attached to this connection and its first ping was answered.
    pub(crate) ready: bool,
    pub(crate) let_go: bool,
    /// It takes over a session only to close it, all at once.
    pub(crate) closes_at_once: bool,
    /// It ended its session by itself: no server said that it is over.
    pub(crate) gave_up: bool,
    /// Whether events of its session are recorded.
    pub(crate) told: bool,
    pub(crate) ping_out: bool,
    /// The next time at which it checks its clocks.
    pub(crate) alarm: Option<Micros>,
    pub(crate) begun: Micros,
    pub(crate) last_send: Micros,
    pub(crate) last_recv: Micros,
    /// When bytes last went up the link.
    pub(crate) last_up: Micros,
    pub(crate) give_up_at: Micros,
    pub(crate) attempt: u32,
    pub(crate) first: u32,
    /// The servers that it knows; `None`: all of them.
    pub(crate) knows: Option<Rc<[u8]>>,
    /// The servers that it knows, in the order in which it tries them.
    pub(crate) route: Vec<u8>,
    pub(crate) last_zxid: Zxid,
    pub(crate) xid: i32,
    pub(crate) pending: VecDeque<(i32, AnswerSlot)>,
    pub(crate) waiting: Vec<(Request, AnswerSlot)>,
    pub(crate) watches: Watches,
    pub(crate) wakers: Vec<Waker>,
}

impl Client {
    /// A client that begins now, and tries the servers in the order of its route.
    pub(crate) fn new(
        owner: ClientOwner,
        timeout_ms: u64,
        knows: Option<Rc<[u8]>>,
        route: Vec<u8>,
        now: Micros,
    ) -> Self {
        let ClientOwner { host, cand, told } = owner;
        Self {
            host,
            cand,
            asked_ms: u32::try_from(timeout_ms).unwrap_or(u32::MAX),
            timeout_ms: 0,
            session: 0,
            password: [0; 16],
            state: SessionState::Disconnected,
            changes: 0,
            era: 0,
            conn: None,
            ready: false,
            let_go: false,
            closes_at_once: false,
            gave_up: false,
            told,
            ping_out: false,
            alarm: None,
            begun: now,
            last_send: now,
            last_recv: now,
            last_up: now,
            give_up_at: now,
            attempt: 0,
            first: 0,
            knows,
            route,
            last_zxid: 0,
            xid: 0,
            pending: VecDeque::new(),
            waiting: Vec::new(),
            watches: Watches::default(),
            wakers: Vec::new(),
        }
    }

    /// Makes everything that was planned for this connection void.
    pub(crate) fn next_era(&mut self) {
        self.era += 1;
        self.alarm = None;
    }

    pub(crate) fn timeout_us(&self) -> Micros {
        Micros::from(if self.timeout_ms > 0 { self.timeout_ms } else { self.asked_ms }) * 1_000
    }

    /// A twentieth of T: the resolution of its timers.
    pub(crate) fn tick_us(&self) -> Micros {
        (self.timeout_us() / 20).max(1_000)
    }

    /// The time after which a silent connection is dropped.
    pub(crate) fn patience_us(&self) -> Micros {
        8 * self.tick_us()
    }
}
