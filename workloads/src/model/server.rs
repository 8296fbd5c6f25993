//! One server: its tree, its watches, and its connections, each with a queue of unanswered requests.

use hustings_record::ServerState;
use std::collections::{BTreeMap, VecDeque};

use super::acl::VerifiedIdentities;
use super::apply::{TransactionReply, Trigger, apply};
use super::credentials;
use super::forwarded::ForwardedRequest;
use super::interface::{Bugs, Conn, Options, Output, Server, Ticket, ZnodeChange};
use super::lead::LeaderState;
use super::log::Log;
use super::op::{Code, ConnectResponse, Event, EventKind, Micros, Request, Response, SessionId, Zxid};
use super::table::Table;
use super::tree::Tree;
use super::txn::{Change, Txn};
use super::watches::WatchTable;

/// Requests that a connection may send before it is open.
const EARLY_MAX: usize = 1_024;

/// Output for the driver, in this order.
pub(super) type Outputs = VecDeque<Output>;

#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: Server,
    pub(super) bugs: Bugs,
    seed: u64,
    pub(super) state: ServerState,
    pub(super) is_paused: bool,
    pub(super) tree: Tree,
    /// Number of the transaction that is applied next.
    pub(super) applied: u64,
    /// Number of the first transaction that this server has not logged.
    pub(super) logged: u64,
    pub(super) last_zxid: Zxid,
    /// The last epoch that it was part of.
    pub(super) epoch: i64,
    /// Its transactions are not those of the log, so it needs the leader's tree.
    pub(super) is_diverged: bool,
    pub(super) watches: WatchTable,
    pub(super) conns: Table<Conn, Connection>,
    pub(super) by_session: Table<SessionId, Conn>,
    /// Requests on their way to the leader.
    pub(super) tickets: BTreeMap<Ticket, ForwardedRequest>,
    /// Tickets that could not reach the leader in time.
    pub(super) held: Vec<Ticket>,
    /// Answers of the leader, kept until everything before them is applied here.
    pub(super) awaited: BTreeMap<(Zxid, Ticket), LeaderAnswer>,
    /// Sessions with contact since the last hand-over.
    pub(super) touched: Vec<(Conn, SessionId, i32)>,
    pub(super) lead: Option<Box<LeaderState>>,
    pub(super) follow: Option<FollowerState>,
    /// The leader that it is about to join, and since when.
    pub(super) joining: Option<(Server, Micros)>,
    pub(super) session_last: SessionId,
    pub(super) stale_sessions_expired: u64,
    triggers: Vec<Trigger>,
    /// Whether, as the leader, it reports created and deleted znodes to the driver.
    tells_changes: bool,
    /// Connections that were opened with requests waiting.
    opened: Vec<Conn>,
}

/// A follower's tie to its leader.
#[derive(Clone, Copy, Debug)]
pub(super) struct FollowerState {
    pub(super) leader: Server,
    /// Since when the two have no contact.
    pub(super) silent_since: Option<Micros>,
    /// Whether the leader has dropped this follower, which does not know it yet.
    pub(super) is_dropped: bool,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) session: SessionId,
    pub(super) timeout_ms: i32,
    /// The connect request was answered.
    pub(super) is_open: bool,
    /// Whether it is in the list of touched connections.
    pub(super) is_touched: bool,
    pub(super) proven: VerifiedIdentities,
    /// Tickets that the leader has not ordered yet.
    pub(super) unordered: VecDeque<Ticket>,
    waiting: VecDeque<UnansweredRequest>,
    /// Requests that arrived before the connect request was answered.
    early: VecDeque<(i32, Request)>,
}

/// An unanswered request.
#[derive(Debug)]
enum UnansweredRequest {
    /// The leader decides.
    Ordered { xid: i32 },
    /// It waits for the requests before it.
    Read { xid: i32, request: Box<Request> },
}

/// An answer of the leader that is not a transaction.
#[derive(Debug)]
pub(super) enum LeaderAnswer {
    Moved { conn: Conn, is_valid: bool },
    Synced { conn: Conn, answer: TransactionReply },
}

impl Connection {
    /// Frees the memory of empty queues: most of a million connections wait for nothing.
    fn spare(&mut self) {
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
        if self.unordered.is_empty() {
            self.unordered = VecDeque::new();
        }
    }
}

impl Member {
    pub(super) fn new(id: Server, options: &Options) -> Self {
        Self {
            id,
            bugs: options.bugs,
            seed: options.seed,
            state: ServerState::Down,
            is_paused: false,
            tree: Tree::new(),
            applied: 0,
            logged: 0,
            last_zxid: 0,
            epoch: 0,
            is_diverged: false,
            watches: WatchTable::default(),
            conns: Table::default(),
            by_session: Table::default(),
            tickets: BTreeMap::new(),
            held: Vec::new(),
            awaited: BTreeMap::new(),
            touched: Vec::new(),
            lead: None,
            follow: None,
            joining: None,
            session_last: 0,
            stale_sessions_expired: 0,
            triggers: Vec::new(),
            tells_changes: options.tell_changes,
            opened: Vec::new(),
        }
    }

    /// Whether it accepts requests of clients.
    pub(super) fn is_serving(&self) -> bool {
        matches!(self.state, ServerState::Following | ServerState::Leading | ServerState::Standalone)
    }

    pub(super) fn is_running(&self) -> bool {
        self.state != ServerState::Down
    }

    /// Applies the log before this number, as far as this server has logged it.
    pub(super) fn apply_before(&mut self, end: u64, log: &Log, out: &mut Outputs) {
        while self.applied < end.min(self.logged) {
            let Some(txn) = log.get(self.applied) else { return };
            self.apply_next(txn, out);
        }
    }

    /// Applies the log up to this zxid, as far as this server has logged it.
    pub(super) fn apply_up_to(&mut self, zxid: Zxid, log: &Log, out: &mut Outputs) {
        while self.applied < self.logged {
            let Some(txn) = log.get(self.applied).filter(|txn| txn.zxid <= zxid) else { break };
            self.apply_next(txn, out);
        }
        self.take_awaited(zxid.min(self.last_zxid), out);
    }

    fn apply_next(&mut self, txn: &Txn, out: &mut Outputs) {
        // Requests answered before this transaction must not see it.
        self.take_awaited(txn.zxid - 1, out);
        let origin = txn.origin.filter(|origin| origin.server == self.id).map(|origin| origin.conn);
        let origin = origin.filter(|conn| self.conns.contains_key(conn));
        let mut triggers = std::mem::take(&mut self.triggers);
        let answer = apply(&mut self.tree, txn, origin.is_some(), &mut triggers);
        self.applied += 1;
        self.last_zxid = txn.zxid;
        for trigger in triggers.drain(..) {
            if self.tells_changes && self.lead.is_some() {
                self.tell(txn.zxid, &trigger, out);
            }
            for conn in self.watches.fire(&trigger) {
                let event = Event { kind: trigger.kind, path: trigger.path.to_string(), zxid: txn.zxid };
                out.push_back(Output::Event { server: self.id, conn, event });
            }
        }
        self.triggers = triggers;
        if let Some(conn) = origin {
            match txn.change {
                Change::CreateSession { .. } => self.finish_connect(conn, true, out),
                _ => self.answer_ordered(conn, answer, out),
            }
        }
        if let Change::CloseSession { session, .. } = txn.change {
            if let Some(&conn) = self.by_session.get(&session) {
                self.close(conn, out);
            }
            if let Some(conn) = origin.filter(|conn| self.conns.contains_key(conn)) {
                self.close(conn, out);
            }
        }
    }

    fn tell(&self, zxid: Zxid, trigger: &Trigger, out: &mut Outputs) {
        let path = trigger.path.to_string();
        let change = match trigger.kind {
            EventKind::Created => {
                let owner = self.tree.get(&path).map_or(0, |node| node.stat().ephemeral_owner);
                ZnodeChange::Created { path, owner }
            }
            EventKind::Deleted => ZnodeChange::Deleted { path },
            EventKind::DataChanged | EventKind::ChildrenChanged => return,
        };
        out.push_back(Output::Changed { zxid, change });
    }

    /// Delivers the leader's answers that are due up to this zxid.
    fn take_awaited(&mut self, zxid: Zxid, out: &mut Outputs) {
        while let Some(entry) = self.awaited.first_entry().filter(|entry| entry.key().0 <= zxid) {
            match entry.remove() {
                LeaderAnswer::Moved { conn, is_valid } => self.finish_connect(conn, is_valid, out),
                LeaderAnswer::Synced { conn, answer } => self.answer_ordered(conn, answer, out),
            }
        }
    }

    /// Answers the oldest request of a connection, and those behind it that waited only for that.
    fn answer_ordered(&mut self, conn: Conn, answer: TransactionReply, out: &mut Outputs) {
        let Some(connection) = self.conns.get_mut(&conn) else { return };
        if answer == Err(Code::SessionMoved) {
            self.close(conn, out);
            return;
        }
        let Some(UnansweredRequest::Ordered { xid }) = connection.waiting.pop_front() else {
            unreachable!("a connection's requests are ordered as they came");
        };
        connection.spare();
        self.reply(conn, xid, answer, out);
        self.serve_waiting(conn, out);
    }

    fn serve_waiting(&mut self, conn: Conn, out: &mut Outputs) {
        while let Some(connection) = self.conns.get_mut(&conn) {
            let Some(UnansweredRequest::Read { .. }) = connection.waiting.front() else { return };
            let Some(UnansweredRequest::Read { xid, request }) = connection.waiting.pop_front() else { return };
            connection.spare();
            self.serve(conn, xid, *request, out);
        }
    }

    /// Takes a read: now, or when the requests before it are answered.
    pub(super) fn queue_read(&mut self, conn: Conn, xid: i32, request: Request, out: &mut Outputs) {
        let Some(connection) = self.conns.get_mut(&conn) else { return };
        if connection.waiting.is_empty() {
            self.serve(conn, xid, request, out);
        } else {
            connection.waiting.push_back(UnansweredRequest::Read { xid, request: Box::new(request) });
        }
    }

    /// Notes that a request waits for the leader.
    pub(super) fn queue_ordered(&mut self, conn: Conn, xid: i32, ticket: Ticket) {
        if let Some(connection) = self.conns.get_mut(&conn) {
            connection.waiting.push_back(UnansweredRequest::Ordered { xid });
            connection.unordered.push_back(ticket);
        }
    }

    fn serve(&mut self, conn: Conn, xid: i32, request: Request, out: &mut Outputs) {
        let session = self.conns[&conn].session;
        // Only the leader knows where a session is.
        let known = self.lead.as_mut().map_or(Ok(()), |lead| lead.tracker.check(session, self.id));
        match known {
            Err(Code::SessionMoved) => self.close(conn, out),
            Err(code) => self.reply(conn, xid, Err(code), out),
            Ok(()) => {
                let answer = self.read(conn, request, out);
                self.reply(conn, xid, answer, out);
            }
        }
    }

    fn reply(&self, conn: Conn, xid: i32, result: Result<Response, Code>, out: &mut Outputs) {
        out.push_back(Output::Reply { server: self.id, conn, xid, zxid: self.last_zxid, result });
    }

    /// A connection that asks for a session, without an answer yet.
    pub(super) fn open(&mut self, conn: Conn, session: SessionId, timeout_ms: i32) {
        let connection = Connection {
            session,
            timeout_ms,
            is_open: false,
            is_touched: false,
            proven: VerifiedIdentities::new(),
            unordered: VecDeque::new(),
            waiting: VecDeque::new(),
            early: VecDeque::new(),
        };
        self.conns.insert(conn, connection);
        self.by_session.insert(session, conn);
    }

    pub(super) fn finish_connect(&mut self, conn: Conn, is_valid: bool, out: &mut Outputs) {
        let Some(connection) = self.conns.get_mut(&conn) else { return };
        let &mut Connection { session, timeout_ms, .. } = connection;
        connection.is_open = is_valid;
        if is_valid && !connection.early.is_empty() {
            self.opened.push(conn);
        }
        let answer = if is_valid {
            ConnectResponse { session, password: credentials::password(self.seed, session), timeout_ms }
        } else {
            ConnectResponse::default()
        };
        out.push_back(Output::Connected { server: self.id, conn, answer });
        if !is_valid {
            self.close(conn, out);
        }
    }

    /// Keeps a request for later if its connection is not open yet. Returns it otherwise, and where too many wait.
    pub(super) fn keep_early(&mut self, conn: Conn, xid: i32, request: Request) -> Option<Request> {
        let Some(connection) = self.conns.get_mut(&conn).filter(|c| !c.is_open && c.early.len() < EARLY_MAX) else {
            return Some(request);
        };
        connection.early.push_back((xid, request));
        None
    }

    /// The early requests of connections that are open now, in order.
    pub(super) fn take_early(&mut self) -> Vec<(Conn, i32, Request)> {
        let mut early = Vec::new();
        for conn in std::mem::take(&mut self.opened) {
            if let Some(connection) = self.conns.get_mut(&conn) {
                let requests = std::mem::take(&mut connection.early);
                early.extend(requests.into_iter().map(|(xid, request)| (conn, xid, request)));
            }
        }
        early
    }

    pub(super) fn close(&mut self, conn: Conn, out: &mut Outputs) {
        if self.drop_conn(conn) {
            out.push_back(Output::Close { server: self.id, conn });
        }
    }

    /// Forgets a connection and its watches; false when there was none.
    pub(super) fn drop_conn(&mut self, conn: Conn) -> bool {
        let Some(connection) = self.conns.remove(&conn) else { return false };
        if self.by_session.get(&connection.session) == Some(&conn) {
            self.by_session.remove(&connection.session);
        }
        self.watches.drop_conn(conn);
        true
    }

    pub(super) fn knows(&self, session: SessionId, password: [u8; 16]) -> bool {
        credentials::password(self.seed, session) == password
    }

    /// The id of a new session: the server's id, the time, and a count.
    pub(super) fn next_session(&mut self, now: Micros, epoch_ms: i64) -> SessionId {
        let from_time = credentials::first_session(self.id, now, epoch_ms);
        self.session_last = from_time.max(self.session_last + 1);
        self.session_last
    }

    /// Forgets all state that lasts only while it serves.
    pub(super) fn drop_all(&mut self) {
        self.conns = Table::default();
        self.by_session = Table::default();
        self.watches.clear();
        self.tickets.clear();
        self.held.clear();
        self.awaited.clear();
        self.touched.clear();
        self.lead = None;
        self.follow = None;
        self.joining = None;
    }
}
