//! How a client handles received messages, and how it keeps its session alive.

use super::common::writer;
use crate::coordination::{SessionEnd, SessionState};
use crate::model::{Conn, ConnectResponse, Micros, Request};
use crate::simulation::world::{AnswerSlot, ClientId, ClientTimer, FromClient, SimWorld, ToClient};
use hustings_record::Event;

impl SimWorld {
    pub(crate) fn client_timer(&self, id: ClientId, era: u32, timer: ClientTimer) {
        if self.with(id, |client| client.era != era || matches!(client.state, SessionState::Ended(_))) {
            return;
        }
        match timer {
            ClientTimer::Dial => self.dial(id),
            ClientTimer::Reached(conn) => self.reached(id, conn),
            ClientTimer::Unreached => self.unreached(id),
            ClientTimer::KeepAlive(at) => self.keep_alive(id, at),
        }
    }

    fn keep_alive(&self, id: ClientId, planned: Micros) {
        let now = self.clock.now();
        if self.with(id, |client| client.alarm.take_if(|alarm| *alarm == planned)).is_none() {
            return;
        }
        let Some(conn) = self.with(id, |client| client.conn) else { return };
        let (silent, idle) = self.with(id, |client| {
            let idle =
                client.ready && !client.ping_out && now >= client.last_send + 10_000_000.min(3 * client.tick_us());
            (now >= client.last_recv + client.patience_us(), idle)
        });
        if silent {
            return self.lost(id);
        }
        if idle {
            self.ping(id, conn);
        }
        self.plan_keep_alive(id);
    }

    fn ping(&self, id: ClientId, conn: Conn) {
        let now = self.clock.now();
        if self.ping_at_once(conn) {
            return self.with(id, |client| (client.last_send, client.last_recv, client.last_up) = (now, now, now));
        }
        self.with(id, |client| client.ping_out = true);
        self.send_up(id, conn, FromClient::Ping, 0);
    }

    /// A message that the client's host has taken reaches the client.
    pub(crate) fn taken(&self, conn: Conn, down: ToClient) {
        let (id, open) = {
            let connection = self.network.connection(conn);
            (connection.client, connection.client_open)
        };
        if !open || self.with(id, |client| client.conn) != Some(conn) {
            return;
        }
        let now = self.clock.now();
        self.with(id, |client| client.last_recv = now);
        match down {
            ToClient::Connected(answer) => self.connected(id, conn, *answer),
            ToClient::Pong => self.pong(id),
            ToClient::Reply(xid, zxid, result) => self.replied(id, xid, zxid, *result),
            ToClient::Event(event) => {
                let told = self.with(id, |client| {
                    client.last_zxid = client.last_zxid.max(event.zxid);
                    client.watches.fire(&event)
                });
                told.into_iter().for_each(|watch| watch.tell(event.kind));
            }
            ToClient::Closed => self.connection_gone(conn),
        }
    }

    fn connected(&self, id: ClientId, conn: Conn, answer: ConnectResponse) {
        if answer.session == 0 {
            return self.ended(id, SessionEnd::Expired);
        }
        let now = self.clock.now();
        let new = self.with(id, |client| {
            let new = client.session == 0;
            client.session = answer.session;
            client.password = answer.password;
            client.timeout_ms = u32::try_from(answer.timeout_ms).unwrap_or(0);
            client.ping_out = true;
            let asked = u64::from(client.asked_ms);
            let took_us = now - client.begun;
            client.begun = now;
            (new && client.told).then_some((client.host, u64::from(client.timeout_ms), asked, took_us))
        });
        if let Some((host, timeout_ms, asked_ms, took_us)) = new {
            let (t, session, connect_ns) = (self.clock.nanos(), answer.session, took_us * 1_000);
            self.record(writer(host), Event::Session { t, session, timeout_ms, asked_ms, connect_ns });
        }
        self.change(id, SessionState::Connected);
        self.send_up(id, conn, FromClient::Ping, 0);
        self.plan_keep_alive(id);
    }

    fn pong(&self, id: ClientId) {
        let (first, waiting, knows) = self.with(id, |client| {
            client.ping_out = false;
            let first = !std::mem::replace(&mut client.ready, true);
            (first, std::mem::take(&mut client.waiting), client.knows.clone())
        });
        if first {
            let route = self.new_route(knows.as_deref());
            self.with(id, |client| (client.route, client.first) = (route, 0));
            waiting.into_iter().for_each(|(request, slot)| self.send(id, request, slot));
            if self.with(id, |client| client.let_go && !client.closes_at_once) {
                self.send(id, Request::CloseSession, AnswerSlot::default());
            }
            self.wake_all(id);
        }
        // A late answer: the next ping is due before the end of the client's patience, for which it was waiting.
        self.plan_keep_alive(id);
    }
}
