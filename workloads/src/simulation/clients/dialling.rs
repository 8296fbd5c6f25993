//! How a client gets a connection: server after server, with growing pauses, until one answers or the session is over.

use std::rc::Rc;

use hustings_record::Direction;
use hustings_record::numbers::to_u32;

use super::common::answer;
use crate::coordination::{OpError, SessionEnd, SessionState};
use crate::model::{Conn, Connect, Micros, Request, Server};
use crate::simulation::world::{
    AnswerSlot, COORDINATOR, Client, ClientId, ClientOwner, ClientTimer, FromClient, ScheduledEvent, SimConnection,
    SimWorld,
};

/// Waits between rounds over all servers: this much per server, at first at most a second, and doubled every round.
const ROUND_US: Micros = 100_000;
const ROUND_MAX_US: Micros = 1_000_000;
/// Waits within later rounds, and their variation.
const NEXT_US: Micros = 50_000;
/// A client that closes another's session tries again within this.
const AGAIN_US: Micros = 5_000;

impl SimWorld {
    /// A new client, which begins to dial. It must be `let_go` in the end.
    pub(crate) fn open(&self, owner: ClientOwner, timeout_ms: u64) -> ClientId {
        self.open_knowing(owner, timeout_ms, None)
    }

    /// A new client that knows only these servers.
    pub(crate) fn open_at(&self, owner: ClientOwner, timeout_ms: u64, servers: &[Server]) -> ClientId {
        let knows = servers.iter().map(|server| u8::try_from(*server).unwrap_or(u8::MAX)).collect();
        self.open_knowing(owner, timeout_ms, Some(knows))
    }

    fn open_knowing(&self, owner: ClientOwner, timeout_ms: u64, knows: Option<Rc<[u8]>>) -> ClientId {
        let route = self.new_route(knows.as_deref());
        let client = Client::new(owner, timeout_ms, knows, route, self.clock.now());
        let id = {
            let mut clients = self.clients.borrow_mut();
            clients.push(client);
            to_u32(clients.len() - 1)
        };
        if owner.host != COORDINATOR {
            self.network.hosts.borrow_mut()[usize::from(owner.host)].clients.push(id);
        }
        self.begin_dialling(id);
        id
    }

    fn begin_dialling(&self, id: ClientId) {
        self.with(id, |client| {
            client.attempt = 0;
            let session = if client.session == 0 { client.timeout_us() } else { client.timeout_us() * 7 / 5 };
            if !client.closes_at_once {
                client.give_up_at = client.last_recv + session;
            }
        });
        self.dial_next(id);
    }

    /// A client without a connection dials at once instead of waiting for its next attempt.
    pub(crate) fn dial_anew(&self, id: ClientId) {
        let idle = self.with(id, |client| {
            client.conn.is_none() && client.session != 0 && !matches!(client.state, SessionState::Ended(_))
        });
        if idle {
            self.with(id, Client::next_era);
            self.begin_dialling(id);
        }
    }

    /// Plans the next attempt, or gives up.
    fn dial_next(&self, id: ClientId) {
        let now = self.clock.now();
        let (attempt, give_up_at, era) = self.with(id, |client| (client.attempt, client.give_up_at, client.era));
        let servers = to_u32(self.with(id, |client| client.route.len()));
        let (round, place) = (attempt / servers, Micros::from(attempt % servers));
        let wait = match (round, place) {
            _ if self.with(id, |client| client.closes_at_once) => self.draw(AGAIN_US),
            (0, _) => 0,
            (_, 0) => {
                let base = ROUND_MAX_US.min(ROUND_US * Micros::from(servers));
                base.saturating_mul(1 << (round - 1).min(20)) + self.draw(ROUND_US)
            }
            _ => NEXT_US * place + self.draw(NEXT_US),
        };
        let at = now + wait.min(give_up_at.saturating_sub(now));
        self.clock.plan(at, ScheduledEvent::Client(id, era, ClientTimer::Dial));
    }

    pub(super) fn dial(&self, id: ClientId) {
        let now = self.clock.now();
        let (host, server, era, until) = self.with(id, |client| {
            let server = client.route[((client.first + client.attempt) as usize) % client.route.len()];
            client.attempt += 1;
            (
                client.host,
                Server::from(server),
                client.era,
                (now + client.patience_us()).min(client.give_up_at.max(now)),
            )
        });
        if self.network.of_link(host, |link| link.is_held(server)) {
            return self.clock.plan(until, ScheduledEvent::Client(id, era, ClientTimer::Unreached));
        }
        let added_us = self.added_us(host, Direction::Up) + self.added_us(host, Direction::Down);
        let there = now + 2 * self.hop_us() + added_us;
        if !self.servers.sides.borrow()[server].running {
            return self.clock.plan(there, ScheduledEvent::Client(id, era, ClientTimer::Unreached));
        }
        let conn = {
            let mut connections = self.network.connections.borrow_mut();
            connections.push(SimConnection {
                client: id,
                host,
                server,
                client_open: true,
                server_open: true,
                up_at: there,
                down_at: there,
            });
            (connections.len() - 1) as Conn
        };
        self.clock.plan(there, ScheduledEvent::Client(id, era, ClientTimer::Reached(conn)));
    }

    pub(super) fn unreached(&self, id: ClientId) {
        let now = self.clock.now();
        let over = self.with(id, |client| {
            client.gave_up = client.give_up_at <= now;
            client.gave_up
        });
        if over { self.ended(id, SessionEnd::Expired) } else { self.dial_next(id) }
    }

    /// The connection exists: asks for the session and sets the watches, all at once.
    pub(super) fn reached(&self, id: ClientId, conn: Conn) {
        let now = self.clock.now();
        let (ask, watches) = self.with(id, |client| {
            client.conn = Some(conn);
            client.ready = false;
            client.ping_out = false;
            (client.last_send, client.last_recv) = (now, now);
            let ask = Connect {
                session: client.session,
                password: client.password,
                timeout_ms: i32::try_from(client.timeout_us().div_euclid(1_000)).unwrap_or(i32::MAX),
                last_zxid_seen: client.last_zxid,
                read_only: false,
            };
            (ask, client.watches.to_set(client.last_zxid))
        });
        self.send_up(id, conn, FromClient::Connect(Box::new(ask)), 0);
        if let Some(watches) = watches {
            self.send_up(id, conn, FromClient::Request(-8, Box::new(Request::SetWatches(Box::new(watches)))), 0);
        }
        if self.with(id, |client| client.closes_at_once) {
            let xid = self.with(id, |client| {
                (client.let_go, client.xid) = (true, client.xid + 1);
                client.pending.push_back((client.xid, AnswerSlot::default()));
                client.xid
            });
            self.send_up(id, conn, FromClient::Request(xid, Box::new(Request::CloseSession)), 0);
        }
        self.plan_keep_alive(id);
    }

    /// Drops the connection and dials again.
    pub(crate) fn lost(&self, id: ClientId) {
        let conn = self.with(id, |client| {
            client.next_era();
            client.ready = false;
            client.conn.take()
        });
        self.hang_up(id, conn);
        let pending = self.with(id, |client| std::mem::take(&mut client.pending));
        let served = self.with(id, |client| client.state == SessionState::Connected);
        if !served {
            // The server had not granted the session: one more attempt of the same round, if there is time.
            return self.unreached(id);
        }
        self.change(id, SessionState::Disconnected);
        pending.into_iter().for_each(|(_, slot)| answer(&slot, Err(OpError::Unknown)));
        self.begin_dialling(id);
    }

    /// The connection is over, and this end knows.
    pub(crate) fn connection_gone(&self, conn: Conn) {
        let id = {
            let mut connection = self.network.connection_mut(conn);
            connection.client_open = false;
            connection.client
        };
        if self.with(id, |client| client.conn) == Some(conn) {
            self.lost(id);
        }
    }
}
