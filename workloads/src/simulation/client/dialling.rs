//! How a client comes to a connection: server after server, with pauses that grow, until one answers or the session is over.

use std::rc::Rc;

use super::super::world::{ClientId, Due, Line, NOWHERE, Up, World};
use super::{AGAIN_US, AnswerSlot, ClientTimer, NEXT_US, ROUND_MAX_US, ROUND_US};
use crate::coordination::SessionEnd;
use crate::model::{Conn, Connect, Micros, Request, Server};

impl World {
    pub(in crate::simulation) fn begin_dialling(&self, id: ClientId) {
        self.with(id, |client| {
            client.attempt = 0;
            let session = if client.session == 0 { client.timeout_us() } else { client.timeout_us() * 7 / 5 };
            if !client.closes_at_once {
                client.give_up_at = client.last_recv + session;
            }
        });
        self.dial_next(id);
    }

    /// Plans the next try, or gives up.
    pub(in crate::simulation) fn dial_next(&self, id: ClientId) {
        let now = self.now();
        let (attempt, give_up_at, era) = self.with(id, |client| (client.attempt, client.give_up_at, client.era));
        let servers = self.with(id, |client| client.route.len()) as u32;
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
        self.plan(at, Due::Client(id, era, ClientTimer::Dial));
    }

    pub(in crate::simulation) fn dial(&self, id: ClientId) {
        let now = self.now();
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
        let held = host != NOWHERE && self.hosts.borrow()[usize::from(host)].link.is_held();
        if held {
            return self.plan(until, Due::Client(id, era, ClientTimer::Unreached));
        }
        let there = now + 2 * self.latency(host);
        if !self.servers.borrow()[server].running {
            return self.plan(there, Due::Client(id, era, ClientTimer::Unreached));
        }
        let conn = {
            let mut lines = self.lines.borrow_mut();
            lines.push(Line {
                client: id,
                host,
                server,
                client_open: true,
                server_open: true,
                up_at: there,
                down_at: there,
            });
            (lines.len() - 1) as Conn
        };
        self.plan(there, Due::Client(id, era, ClientTimer::Reached(conn)));
    }

    pub(in crate::simulation) fn unreached(self: &Rc<Self>, id: ClientId) {
        let over = self.with(id, |client| client.give_up_at) <= self.now();
        if over { self.ended(id, SessionEnd::Expired) } else { self.dial_next(id) }
    }

    /// The connection is there: asks for the session and sets the watches, all in one go.
    pub(in crate::simulation) fn reached(self: &Rc<Self>, id: ClientId, conn: Conn) {
        let now = self.now();
        let (ask, watches) = self.with(id, |client| {
            client.conn = Some(conn);
            client.ready = false;
            client.ping_out = false;
            (client.last_send, client.last_recv) = (now, now);
            let ask = Connect {
                session: client.session,
                password: client.password,
                timeout_ms: client.timeout_us().div_euclid(1_000) as i32,
                last_zxid_seen: client.last_zxid,
                read_only: false,
            };
            (ask, client.watches.to_set(client.last_zxid))
        });
        self.send_up(id, conn, Up::Connect(Box::new(ask)), 0);
        if let Some(watches) = watches {
            self.send_up(id, conn, Up::Request(-8, Box::new(Request::SetWatches(Box::new(watches)))), 0);
        }
        if self.with(id, |client| client.closes_at_once) {
            let xid = self.with(id, |client| {
                (client.let_go, client.xid) = (true, client.xid + 1);
                client.pending.push_back((client.xid, AnswerSlot::default()));
                client.xid
            });
            self.send_up(id, conn, Up::Request(xid, Box::new(Request::CloseSession)), 0);
        }
        self.plan_keep_alive(id);
    }
}
