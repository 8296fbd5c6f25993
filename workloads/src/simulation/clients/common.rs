//! Shared basis of all actions of a client.

use std::task::Waker;

use hustings_record::{Direction, Event};
use rand::seq::SliceRandom as _;

use crate::coordination::{OpError, SessionState};
use crate::model::{Conn, Micros, Response};
use crate::simulation::event_sink::Writer;
use crate::simulation::world::{
    AnswerSlot, COORDINATOR, Client, ClientId, ClientTimer, FromClient, ScheduledEvent, SimWorld,
};

impl SimWorld {
    pub(super) fn with<T>(&self, id: ClientId, act: impl FnOnce(&mut Client) -> T) -> T {
        act(&mut self.clients.borrow_mut()[id as usize])
    }

    /// The servers that a client knows, in a new random order.
    pub(super) fn new_route(&self, knows: Option<&[u8]>) -> Vec<u8> {
        let mut route = knows.map_or_else(|| (0_u8..).take(self.servers.count()).collect(), <[u8]>::to_vec);
        route.shuffle(&mut *self.rng.borrow_mut());
        route
    }

    pub(super) fn change(&self, id: ClientId, to: SessionState) {
        let told = self.with(id, |client| {
            if client.state == to || matches!(client.state, SessionState::Ended(_)) {
                return None;
            }
            client.state = to;
            client.changes += 1;
            Some((client.host, client.session, client.told))
        });
        let Some((host, session, told)) = told else { return };
        // The first connection is recorded as the session; a client that never had a session has no state.
        if told && session != 0 && !(to == SessionState::Connected && self.with(id, |client| client.changes) == 1) {
            self.record(writer(host), Event::State { t: self.clock.nanos(), session, state: to });
        }
        self.wake_all(id);
    }

    pub(super) fn wake_all(&self, id: ClientId) {
        let wakers = self.with(id, |client| std::mem::take(&mut client.wakers));
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn send_up(&self, id: ClientId, conn: Conn, up: FromClient, later_us: Micros) {
        let now = self.clock.now();
        let at = self.arrival(conn, Direction::Up, now + later_us, || up.bytes());
        let held = self.network.of_link(self.network.host_of(conn), |link| link.holds_up(self.network.server_of(conn)));
        self.with(id, |client| {
            client.last_send = now;
            if !held {
                client.last_up = now;
            }
        });
        self.clock.plan(at, ScheduledEvent::Up(conn, up));
    }

    /// Plans the next check of the clocks, unless an earlier one is planned: there is one such plan per client.
    pub(super) fn plan_keep_alive(&self, id: ClientId) {
        let now = self.clock.now();
        let due = self.with(id, |client| {
            let tick = client.tick_us();
            let silence = client.last_recv + client.patience_us();
            let idle = client.last_send + 10_000_000.min(3 * tick);
            // By the time of the next ping the last one is usually answered.
            let in_vain = client.ping_out && idle <= now;
            let at = if in_vain || !client.ready { silence } else { silence.min(idle) };
            // The client checks the clock once per tick, counted from the connection.
            let at = client.begun + (at.saturating_sub(client.begun)).div_ceil(tick) * tick;
            if client.alarm.is_some_and(|alarm| alarm <= at) {
                return None;
            }
            client.alarm = Some(at);
            Some((at, client.era))
        });
        if let Some((at, era)) = due {
            self.clock.plan(at, ScheduledEvent::Client(id, era, ClientTimer::KeepAlive(at)));
        }
    }
}

pub(super) fn writer(host: u16) -> Writer {
    if host == COORDINATOR { Writer::Coordinator } else { Writer::Host(host) }
}

pub(super) fn answer(slot: &AnswerSlot, result: Result<Response, OpError>) {
    let mut slot = slot.borrow_mut();
    slot.result = Some(result);
    if let Some(waker) = slot.waker.take() {
        waker.wake();
    }
}
