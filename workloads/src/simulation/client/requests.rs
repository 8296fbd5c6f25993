//! What a client asks, and where the answers go.

use std::rc::Rc;

use super::super::traps::Fate;
use super::super::world::{ClientId, Due, NOWHERE, Up, World};
use super::{AnswerSlot, answer, op_error};
use crate::coordination::{OpError, SessionEnd, SessionState};
use crate::model::{Code, Conn, Micros, Request, Response, Zxid};

impl World {
    /// Sends a request, or keeps it until there is a connection.
    pub(in crate::simulation) fn send(self: &Rc<Self>, id: ClientId, request: Request, slot: AnswerSlot) {
        let (state, conn, ready) = self.with(id, |client| (client.state, client.conn, client.ready));
        if let SessionState::Ended(end) = state {
            return answer(&slot, Err(OpError::Ended(end)));
        }
        let Some(conn) = conn.filter(|_| ready) else {
            return self.with(id, |client| client.waiting.push((request, slot)));
        };
        let xid = self.with(id, |client| {
            client.xid += 1;
            client.pending.push_back((client.xid, slot));
            client.xid
        });
        let fate = self.fate(id, conn, xid, &request);
        if self.with(id, |client| client.conn) != Some(conn) {
            return;
        }
        match fate {
            Fate::Sent => self.send_up(id, conn, Up::Request(xid, Box::new(request)), 0),
            Fate::Late(us) => self.send_up(id, conn, Up::Request(xid, Box::new(request)), us),
            Fate::Lost => self.reset(conn),
        }
    }

    /// Sends a request that nobody waits for; without a connection it is as good as done.
    pub(in crate::simulation) fn send_if_ready(self: &Rc<Self>, id: ClientId, request: Request) {
        if self.with(id, |client| client.ready && !client.let_go) {
            self.send(id, request, AnswerSlot::default());
        }
    }

    pub(in crate::simulation) fn replied(
        self: &Rc<Self>,
        id: ClientId,
        xid: i32,
        zxid: Zxid,
        result: Result<Response, Code>,
    ) {
        let slot = self.with(id, |client| {
            client.last_zxid = client.last_zxid.max(zxid);
            let place = client.pending.iter().position(|(pending, _)| *pending == xid);
            place.and_then(|place| client.pending.remove(place))
        });
        match result {
            Err(Code::SessionExpired) => return self.ended(id, SessionEnd::Expired),
            Err(Code::AuthFailed) => return self.ended(id, SessionEnd::AuthFailed),
            _ => {}
        }
        let Some((_, slot)) = slot else { return };
        answer(&slot, result.map_err(op_error));
        if self.with(id, |client| client.let_go && client.pending.is_empty()) {
            self.ended(id, SessionEnd::Closed);
        }
    }

    pub(in crate::simulation) fn send_up(&self, id: ClientId, conn: Conn, up: Up, later_us: Micros) {
        let host = self.lines.borrow()[conn as usize].host;
        let now = self.now();
        let arrives = now + self.latency(host) + later_us;
        let held = host != NOWHERE && self.hosts.borrow()[usize::from(host)].link.holds_up();
        self.with(id, |client| {
            client.last_send = now;
            if !held {
                client.last_up = now;
            }
        });
        let mut lines = self.lines.borrow_mut();
        let line = &mut lines[conn as usize];
        line.up_at = line.up_at.max(arrives);
        let at = line.up_at;
        drop(lines);
        self.plan(at, Due::Up(conn, up));
    }

    /// Whether the session has been established and its first ping answered.
    pub(in crate::simulation) fn is_ready(&self, id: ClientId) -> bool {
        self.with(id, |client| client.ready)
    }
}
