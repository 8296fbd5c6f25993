//! A client of ZooKeeper, as zookeeper-client is one: it dials, keeps its session alive, gives a silent connection up after
//! 2/5 of T, and the session after 7/5.

mod alive;
mod dialling;
mod ends;
mod requests;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;

use rand::seq::SliceRandom as _;

use super::session::refusal;
use super::watches::Watches;
use super::witness::{By, Saw};
use super::world::{ClientId, NOWHERE, World};
use crate::coordination::{OpError, SessionEnd, SessionState};
use crate::model::{Code, Conn, Micros, Request, Response, Server, Zxid};

/// Waits between rounds over all servers: so much for each server, doubled every round, and a second at first at most.
const ROUND_US: Micros = 100_000;
const ROUND_MAX_US: Micros = 1_000_000;
/// Waits within later rounds, and what they vary by.
const NEXT_US: Micros = 50_000;
/// Who closes another's session tries again within this.
const AGAIN_US: Micros = 5_000;

/// What a client waits for by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientTimer {
    Dial,
    /// The connection is there.
    Reached(Conn),
    /// Nobody answered the dialling.
    Unreached,
    /// With the time for which it was planned.
    KeepAlive(Micros),
}

/// Where the answer to one request is put.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) result: Option<Result<Response, OpError>>,
    pub(super) waker: Option<Waker>,
}

/// Whose client it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) host: u16,
    pub(super) cand: Option<u32>,
    /// What becomes of its session is told.
    pub(super) told: bool,
}

impl Owner {
    /// The coordinator.
    pub(super) const NOBODY: Self = Self { host: NOWHERE, cand: None, told: false };
}

pub(super) type AnswerSlot = Rc<RefCell<Answer>>;

pub(super) struct Client {
    pub(super) host: u16,
    /// The candidate that it belongs to, if it is one's alone.
    pub(super) cand: Option<u32>,
    asked_ms: u32,
    pub(super) timeout_ms: u32,
    pub(super) session: i64,
    password: [u8; 16],
    pub(super) state: SessionState,
    /// Counts the changes of state.
    pub(super) changes: u32,
    /// Changes with every connection: what was planned for another one is void.
    era: u32,
    conn: Option<Conn>,
    /// Requests may be sent: the session stands on this connection and its first ping was answered.
    ready: bool,
    pub(super) let_go: bool,
    /// It takes a session over only to close it, in one go.
    closes_at_once: bool,
    /// What becomes of its session is told.
    told: bool,
    ping_out: bool,
    /// When it looks at its clocks next.
    alarm: Option<Micros>,
    begun: Micros,
    last_send: Micros,
    last_recv: Micros,
    /// When bytes last went up the link.
    pub(super) last_up: Micros,
    give_up_at: Micros,
    attempt: u32,
    first: u32,
    /// The servers that it knows; None: all of them.
    knows: Option<Rc<[u8]>>,
    /// Those that it knows, in the order in which it tries them.
    route: Vec<u8>,
    pub(super) last_zxid: Zxid,
    xid: i32,
    pending: VecDeque<(i32, AnswerSlot)>,
    waiting: Vec<(Request, AnswerSlot)>,
    pub(super) watches: Watches,
    pub(super) wakers: Vec<Waker>,
}

impl Client {
    pub(super) fn conn(&self) -> Option<Conn> {
        self.conn
    }

    /// What was planned for this connection is void.
    fn next_era(&mut self) {
        self.era += 1;
        self.alarm = None;
    }

    fn timeout_us(&self) -> Micros {
        Micros::from(if self.timeout_ms > 0 { self.timeout_ms } else { self.asked_ms }) * 1_000
    }

    /// A twentieth of T, in which it thinks.
    fn tick_us(&self) -> Micros {
        (self.timeout_us() / 20).max(1_000)
    }

    /// The time after which a silent connection is given up.
    fn patience_us(&self) -> Micros {
        8 * self.tick_us()
    }
}

impl World {
    /// A new client, which begins to dial. `let_go` it in the end.
    pub(super) fn open(self: &Rc<Self>, owner: Owner, timeout_ms: u64) -> ClientId {
        self.open_knowing(owner, timeout_ms, None)
    }

    /// A new client that knows of these servers alone.
    pub(super) fn open_at(self: &Rc<Self>, owner: Owner, timeout_ms: u64, servers: &[Server]) -> ClientId {
        self.open_knowing(owner, timeout_ms, Some(servers.iter().map(|server| *server as u8).collect()))
    }

    fn open_knowing(self: &Rc<Self>, owner: Owner, timeout_ms: u64, knows: Option<Rc<[u8]>>) -> ClientId {
        let Owner { host, cand, told } = owner;
        let route = self.new_route(knows.as_deref());
        let now = self.now();
        let client = Client {
            host,
            cand,
            asked_ms: timeout_ms as u32,
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
        };
        let id = {
            let mut clients = self.clients.borrow_mut();
            clients.push(client);
            (clients.len() - 1) as ClientId
        };
        if host != NOWHERE {
            self.hosts.borrow_mut()[usize::from(host)].clients.push(id);
        }
        self.begin_dialling(id);
        id
    }

    /// The servers that a client knows, in a new order.
    fn new_route(&self, knows: Option<&[u8]>) -> Vec<u8> {
        let mut route = knows.map_or_else(|| (0..self.servers.borrow().len() as u8).collect(), <[u8]>::to_vec);
        route.shuffle(&mut *self.rng.borrow_mut());
        route
    }

    fn with<T>(&self, id: ClientId, act: impl FnOnce(&mut Client) -> T) -> T {
        act(&mut self.clients.borrow_mut()[id as usize])
    }

    fn change(&self, id: ClientId, to: SessionState) {
        let told = self.with(id, |client| {
            if client.state == to || matches!(client.state, SessionState::Ended(_)) {
                return None;
            }
            client.state = to;
            client.changes += 1;
            Some((client.host, client.session, client.told))
        });
        let Some((host, session, told)) = told else { return };
        // The first connection is told as the session; those who never had one have no state.
        if told && session != 0 && !(to == SessionState::Connected && self.with(id, |client| client.changes) == 1) {
            self.saw(by(host), Saw::State { session, state: to });
        }
        self.wake_all(id);
    }

    fn wake_all(&self, id: ClientId) {
        let wakers = self.with(id, |client| std::mem::take(&mut client.wakers));
        wakers.into_iter().for_each(Waker::wake);
    }
}

fn by(host: u16) -> By {
    if host == NOWHERE { By::Coordinator } else { By::Host(host) }
}

fn answer(slot: &AnswerSlot, result: Result<Response, OpError>) {
    let mut slot = slot.borrow_mut();
    slot.result = Some(result);
    if let Some(waker) = slot.waker.take() {
        waker.wake();
    }
}

fn op_error(code: Code) -> OpError {
    match code {
        Code::SessionExpired | Code::SessionMoved => OpError::Ended(SessionEnd::Expired),
        Code::AuthFailed => OpError::Ended(SessionEnd::AuthFailed),
        other => OpError::Refused(refusal(other)),
    }
}
