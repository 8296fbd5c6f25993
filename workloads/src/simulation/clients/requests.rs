//! A client's requests, and the delivery of their answers.

use std::collections::VecDeque;

use super::common::answer;
use crate::coordination::{OpError, Refusal, SessionEnd, SessionState};
use crate::model::{Code, Conn, Request, Response, Zxid};
use crate::simulation::world::{AnswerSlot, ClientId, FromClient, RequestDelivery, SimWorld, SyncPointEffect};

impl SimWorld {
    /// Sends a request, or keeps it until there is a connection.
    pub(crate) fn send(&self, id: ClientId, request: Request, slot: AnswerSlot) {
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
            RequestDelivery::Sent => self.send_up(id, conn, FromClient::Request(xid, Box::new(request)), 0),
            RequestDelivery::Late(us) => self.send_up(id, conn, FromClient::Request(xid, Box::new(request)), us),
            RequestDelivery::Lost => self.reset(conn),
        }
    }

    /// Triggers the sync points for this request. Their actions on others run before it leaves.
    fn fate(&self, id: ClientId, conn: Conn, xid: i32, request: &Request) -> RequestDelivery {
        if self.sync_points.borrow().is_clear() {
            return RequestDelivery::Sent;
        }
        let Some(cand) = self.with(id, |client| client.cand) else { return RequestDelivery::Sent };
        let triggered = self.sync_points.borrow_mut().triggered_by(self.clock.now(), cand, request);
        let mut fate = RequestDelivery::Sent;
        for effect in triggered {
            match effect {
                SyncPointEffect::Request(of_it) => fate = of_it,
                SyncPointEffect::Answer(of_it) => self.sync_points.borrow_mut().await_answer(conn, xid, of_it),
                SyncPointEffect::Call(call) => call(),
            }
        }
        fate
    }

    /// Sends a request without a waiter; without a connection it counts as done.
    pub(crate) fn send_if_ready(&self, id: ClientId, request: Request) {
        if self.with(id, |client| client.ready && !client.let_go) {
            self.send(id, request, AnswerSlot::default());
        }
    }

    /// The last user has dropped the session: it is closed as soon as a server receives the request.
    pub(crate) fn let_go(&self, id: ClientId) {
        let (ended, ready) = self.with(id, |client| {
            client.let_go = true;
            (matches!(client.state, SessionState::Ended(_)), client.ready)
        });
        if !ended && ready {
            self.send(id, Request::CloseSession, AnswerSlot::default());
        }
    }

    pub(super) fn replied(&self, id: ClientId, xid: i32, zxid: Zxid, result: Result<Response, Code>) {
        self.with(id, |client| client.last_zxid = client.last_zxid.max(zxid));
        // All waiting requests are answered with the end, including the one that detected it.
        match result {
            Err(Code::SessionExpired) => return self.ended(id, SessionEnd::Expired),
            Err(Code::AuthFailed) => return self.ended(id, SessionEnd::AuthFailed),
            _ => {}
        }
        let slot = self.with(id, |client| {
            let place = client.pending.iter().position(|(pending, _)| *pending == xid);
            let slot = place.and_then(|place| client.pending.remove(place));
            // Most clients send nothing for a long time: frees the memory of an empty queue.
            if client.pending.is_empty() {
                client.pending = VecDeque::new();
            }
            slot
        });
        let Some((_, slot)) = slot else { return };
        let result = result.map_err(op_error);
        // An event may follow the answer immediately, before the requester has read the answer.
        let watch = slot.borrow_mut().watch.take();
        if let Some(watch) = watch {
            self.with(id, |client| client.watches.arm(watch, &result));
        }
        answer(&slot, result);
        if self.with(id, |client| client.let_go && client.pending.is_empty()) {
            self.ended(id, SessionEnd::Closed);
        }
    }

    /// Whether the session has been established and its first ping answered.
    pub(crate) fn is_ready(&self, id: ClientId) -> bool {
        self.with(id, |client| client.ready)
    }
}

fn op_error(code: Code) -> OpError {
    match code {
        Code::SessionExpired | Code::SessionMoved => OpError::Ended(SessionEnd::Expired),
        Code::AuthFailed => OpError::Ended(SessionEnd::AuthFailed),
        other => OpError::Refused(refusal(other)),
    }
}

pub(crate) fn refusal(code: Code) -> Refusal {
    match code {
        Code::NoNode => Refusal::NoNode,
        Code::NodeExists => Refusal::NodeExists,
        Code::BadVersion => Refusal::BadVersion,
        Code::NotEmpty => Refusal::NotEmpty,
        other => Refusal::Other(other.to_string()),
    }
}
