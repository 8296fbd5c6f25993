//! How a client keeps its session alive, and what it makes of what it hears.

use std::rc::Rc;

use super::super::witness::Saw;
use super::super::world::{ClientId, Down, Due, Up, World};
use super::{AnswerSlot, ClientTimer, by};
use crate::coordination::{SessionEnd, SessionState};
use crate::model::{Conn, Connected, Micros, Request};

impl World {
    pub(in crate::simulation) fn client_timer(self: &Rc<Self>, id: ClientId, era: u32, timer: ClientTimer) {
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

    /// Plans when to look at the clocks again, unless that is planned for an earlier time: there is one such plan a client.
    pub(in crate::simulation) fn plan_keep_alive(&self, id: ClientId) {
        let now = self.now();
        let due = self.with(id, |client| {
            let tick = client.tick_us();
            let silence = client.last_recv + client.patience_us();
            let idle = client.last_send + 10_000_000.min(3 * tick);
            // By the time of the next ping the last one is mostly answered.
            let in_vain = client.ping_out && idle <= now;
            let at = if in_vain || !client.ready { silence } else { silence.min(idle) };
            // It looks at the clock once a tick, counted from the connection.
            let at = client.begun + (at.saturating_sub(client.begun)).div_ceil(tick) * tick;
            if client.alarm.is_some_and(|alarm| alarm <= at) {
                return None;
            }
            client.alarm = Some(at);
            Some((at, client.era))
        });
        if let Some((at, era)) = due {
            self.plan(at, Due::Client(id, era, ClientTimer::KeepAlive(at)));
        }
    }

    pub(in crate::simulation) fn keep_alive(self: &Rc<Self>, id: ClientId, planned: Micros) {
        let now = self.now();
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

    pub(in crate::simulation) fn ping(&self, id: ClientId, conn: Conn) {
        let now = self.now();
        if self.ping_at_once(conn) {
            return self.with(id, |client| (client.last_send, client.last_recv, client.last_up) = (now, now, now));
        }
        self.with(id, |client| client.ping_out = true);
        self.send_up(id, conn, Up::Ping, 0);
    }

    /// A message that its host has taken reaches its client.
    pub(in crate::simulation) fn taken(self: &Rc<Self>, conn: Conn, down: Down) {
        let (id, open) = {
            let lines = self.lines.borrow();
            let line = &lines[conn as usize];
            (line.client, line.client_open)
        };
        if !open || self.with(id, |client| client.conn) != Some(conn) {
            return;
        }
        let now = self.now();
        self.with(id, |client| client.last_recv = now);
        match down {
            Down::Connected(answer) => self.connected(id, conn, *answer),
            Down::Pong => self.pong(id),
            Down::Reply(xid, zxid, result) => self.replied(id, xid, zxid, *result),
            Down::Event(event) => {
                let told = self.with(id, |client| {
                    client.last_zxid = client.last_zxid.max(event.zxid);
                    client.watches.fire(&event)
                });
                told.into_iter().for_each(|watch| watch.tell(event.kind));
            }
            Down::Closed => self.connection_gone(conn),
        }
    }

    pub(in crate::simulation) fn connected(self: &Rc<Self>, id: ClientId, conn: Conn, answer: Connected) {
        if answer.session == 0 {
            return self.ended(id, SessionEnd::Expired);
        }
        let now = self.now();
        let new = self.with(id, |client| {
            let new = client.session == 0;
            client.session = answer.session;
            client.password = answer.password;
            client.timeout_ms = answer.timeout_ms as u32;
            client.ping_out = true;
            let asked = u64::from(client.asked_ms);
            let took_us = now - client.begun;
            client.begun = now;
            (new && client.told).then_some((client.host, u64::from(client.timeout_ms), asked, took_us))
        });
        if let Some((host, timeout_ms, asked_ms, took_us)) = new {
            self.saw(by(host), Saw::Session { session: answer.session, timeout_ms, asked_ms, took_us });
        }
        self.change(id, SessionState::Connected);
        self.send_up(id, conn, Up::Ping, 0);
        self.plan_keep_alive(id);
    }

    pub(in crate::simulation) fn pong(self: &Rc<Self>, id: ClientId) {
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
        // A late answer: the next ping is due earlier than the end of its patience, for which it was waiting.
        self.plan_keep_alive(id);
    }
}
