//! The ensemble and its clock, and the delivery of its outputs to the clients' connections.

use hustings_record::{Holdings, ServerState};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use hustings_workloads::model::{
    Code, Conn, Connect, Ensemble, Metrics, Micros, Options, Output, Request, Response, Server, Zxid, settle,
};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::super::connect::write_connected;
use super::super::reply::{ReplyFormat, write_event, write_identities, write_no_token, write_reply};
use super::super::request::WireRequest;
use super::super::{auth, op_code};
use super::line::{DueAnswer, ServedConnection, ServedConnectionState};
use super::log::Logs;
use super::member::{ServedMember, ServerProcessState};

/// Sleep time when nothing is due.
const IDLE: Duration = Duration::from_secs(3_600);

/// The state of all servers. Nothing in it is borrowed across an await.
#[derive(Debug)]
pub(super) struct ServedEnsemble {
    pub(super) options: Options,
    ensemble: RefCell<Ensemble>,
    pub(super) members: Vec<ServedMember>,
    pub(super) logs: Logs,
    started: Instant,
    next_conn: Cell<Conn>,
    /// Signals that something may be due earlier than the clock assumes.
    due: Notify,
}

impl ServedEnsemble {
    pub(super) fn new(options: Options, addresses: &[SocketAddr]) -> Rc<Self> {
        Rc::new(Self {
            ensemble: RefCell::new(Ensemble::new(options.clone())),
            options,
            logs: Logs::new(addresses.len()),
            members: addresses.iter().map(|address| ServedMember::new(*address)).collect(),
            started: Instant::now(),
            next_conn: Cell::new(1),
            due: Notify::new(),
        })
    }

    /// Calls the model at the current time, and executes its outputs.
    pub(super) fn drive<T>(&self, act: impl FnOnce(&mut Ensemble, Micros) -> T) -> T {
        let now = self.now();
        let mut ensemble = self.ensemble.borrow_mut();
        let before = ensemble.due();
        let result = act(&mut ensemble, now);
        let mut outputs = Vec::new();
        settle(&mut ensemble, now, |output| outputs.push(output));
        if ensemble.due() < before || before.is_none() {
            self.due.notify_one();
        }
        drop(ensemble);
        outputs.into_iter().for_each(|output| self.carry_out(output, now));
        result
    }

    /// Servers that were partitioned or paused apply the transactions committed in the meantime.
    pub(super) fn catch_up(&self) {
        self.drive(|ensemble, now| {
            let last = ensemble.leader().map_or(0, |leader| ensemble.last_zxid(leader));
            (0..ensemble.servers()).for_each(|server| ensemble.apply(now, server, last));
        });
    }

    pub(super) fn state(&self, server: Server) -> ServerState {
        self.ensemble.borrow().state(server)
    }

    pub(super) fn last_zxid(&self, server: Server) -> Zxid {
        self.ensemble.borrow().last_zxid(server)
    }

    pub(super) fn holdings(&self, server: Server) -> Holdings {
        self.ensemble.borrow().holdings(server)
    }

    pub(super) fn metrics(&self, server: Server) -> Metrics {
        let mut metrics = self.ensemble.borrow().metrics(server);
        self.members[server].count(&mut metrics);
        metrics
    }

    /// Registers a connection and returns its number.
    pub(super) fn admit(&self, server: Server, line: &Rc<ServedConnection>) -> Conn {
        let conn = self.next_conn.replace(self.next_conn.get() + 1);
        self.members[server].lines.borrow_mut().insert(conn, line.clone());
        conn
    }

    /// A connection has ended.
    pub(super) fn forget(&self, server: Server, conn: Conn) {
        self.members[server].lines.borrow_mut().remove(&conn);
        if self.members[server].gate() != ServerProcessState::Down {
            self.drive(|ensemble, now| ensemble.disconnected(now, server, conn));
        }
    }

    pub(super) fn connect(&self, server: Server, conn: Conn, ask: Connect) {
        self.drive(|ensemble, now| ensemble.connect(now, server, conn, ask));
    }

    /// Processes a request of a connection that has a session.
    pub(super) fn request(&self, server: Server, conn: Conn, line: &ServedConnection, xid: i32, ask: WireRequest) {
        let refusal = |code, zxid, fate| {
            let frame = write_reply(xid, zxid, &Err(code), &ReplyFormat::Plain);
            DueAnswer::Ready { frame, fate }
        };
        let due = match ask {
            WireRequest::Request(request, shape) => {
                // Must be queued before the model is called, because it may answer at once.
                self.queue_answer(server, line, DueAnswer::Answer(shape));
                self.drive(|ensemble, now| ensemble.request(now, server, conn, xid, request));
                return;
            }
            WireRequest::Ping => {
                self.drive(|ensemble, now| ensemble.ping(now, server, conn));
                DueAnswer::Ping
            }
            WireRequest::Auth { scheme, proof } => match auth::identity(&scheme, &proof, line.peer) {
                Some(request) => {
                    if let Request::AddAuth { scheme, id } = &request {
                        line.add_verified_identity(scheme, id);
                    }
                    return self.request(server, conn, line, xid, WireRequest::Request(request, ReplyFormat::Timeless));
                }
                None => refusal(Code::AuthFailed, 0, ServedConnectionState::Close),
            },
            WireRequest::Refused(code) => refusal(code, self.last_zxid(server), ServedConnectionState::Open),
            WireRequest::Malformed(_) => {
                refusal(Code::MarshallingError, self.last_zxid(server), ServedConnectionState::Open)
            }
            WireRequest::Unknown => refusal(Code::Unimplemented, -1, ServedConnectionState::Close),
            WireRequest::WhoAmI => {
                let frame = write_identities(xid, self.last_zxid(server), &line.identities.borrow());
                DueAnswer::Ready { frame, fate: ServedConnectionState::Open }
            }
            WireRequest::Sasl => DueAnswer::Ready {
                frame: write_no_token(xid, self.last_zxid(server)),
                fate: ServedConnectionState::Open,
            },
            WireRequest::Unanswered => return,
            WireRequest::Nonsense => DueAnswer::Ready { frame: Vec::new(), fate: ServedConnectionState::Close },
        };
        self.queue_answer(server, line, due);
    }

    /// Advances the model whenever something is due, and makes followers report session activity to the leader.
    pub(super) async fn keep_time(self: Rc<Self>) {
        let half_tick = Duration::from_micros(self.options.tick_ms * 500);
        let mut touches = tokio::time::interval(half_tick);
        touches.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let due = self.ensemble.borrow().due();
            let at = due.map_or_else(|| Instant::now() + IDLE, |due| self.started + Duration::from_micros(due));
            tokio::select! {
                () = sleep_until(at) => {
                    self.drive(|ensemble, now| ensemble.advance(now));
                    self.catch_up();
                }
                _ = touches.tick() => self.drive(|ensemble, now| {
                    (0..ensemble.servers()).for_each(|server| ensemble.hand_over_touches(now, server));
                }),
                () = self.due.notified() => {}
            }
        }
    }

    fn now(&self) -> Micros {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(Micros::MAX)
    }

    fn queue_answer(&self, server: Server, line: &ServedConnection, due: DueAnswer) {
        line.queue_answer(due, || self.last_zxid(server), ping);
    }

    fn carry_out(&self, output: Output, now: Micros) {
        match output {
            Output::Connected { server, conn, answer } => self.with_line(server, conn, |line| {
                line.session.set(answer.session);
                line.timeout_ms.set(answer.timeout_ms);
                line.send(&write_connected(&answer, line.asked.get().unwrap_or(true)));
            }),
            Output::Reply { server, conn, xid, zxid, result } => self.with_line(server, conn, |line| {
                let shape = line.next_answer();
                line.send(&write_reply(xid, zxid, &result, &shape));
                self.members[server].sent.set(self.members[server].sent.get() + 1);
                line.send_due_answers(|| self.last_zxid(server), ping);
            }),
            Output::Event { server, conn, event } => {
                self.with_line(server, conn, |line| line.send(&write_event(&event)));
            }
            Output::Close { server, conn } => {
                self.with_line(server, conn, |line| line.end(ServedConnectionState::Close))
            }
            Output::State { server, state } => {
                let took_ms = self.members[server].has_become(state, now);
                self.logs.has_become(now, server, state, (self.last_zxid(server), took_ms));
            }
            // Already settled before this point, or not requested.
            Output::Forward { .. } | Output::Committed { .. } | Output::Changed { .. } => {}
        }
    }

    fn with_line(&self, server: Server, conn: Conn, act: impl FnOnce(&ServedConnection)) {
        if let Some(line) = self.members[server].line(conn) {
            act(&line);
        }
    }
}

fn ping(zxid: Zxid) -> Vec<u8> {
    write_reply(op_code::XID_PING, zxid, &Ok(Response::Done), &ReplyFormat::Plain)
}
