//! Faults on connections and servers.

use hustings_record::{Direction, ServerState};

use crate::model::{Conn, Server};
use crate::simulation::world::{ScheduledEvent, ServerSide, SimWorld, ToClient};

impl SimWorld {
    /// Resets all connections of a host; both ends notice at once.
    pub(crate) fn reset_host(&self, host: u16) -> usize {
        let clients = self.network.hosts.borrow()[usize::from(host)].clients.clone();
        let open: Vec<Conn> =
            clients.into_iter().filter_map(|client| self.clients.borrow()[client as usize].conn).collect();
        open.iter().for_each(|conn| self.reset(*conn));
        open.len()
    }

    /// Resets a connection; both ends notice at once, even over a held link.
    pub(crate) fn reset(&self, conn: Conn) {
        let (server, loses) = {
            let mut connection = self.network.connection_mut(conn);
            if !std::mem::replace(&mut connection.client_open, false) {
                return;
            }
            (connection.server, std::mem::replace(&mut connection.server_open, false))
        };
        if loses {
            self.servers.ensemble.borrow_mut().disconnected(self.clock.now(), server, conn);
            self.carry_out();
        }
        self.clock.plan(self.clock.now(), ScheduledEvent::Gone(conn));
    }

    pub(crate) fn start_server(&self, server: Server) {
        self.servers.sides.borrow_mut()[server] = ServerSide { running: true, ..ServerSide::default() };
        self.servers.ensemble.borrow_mut().start(self.clock.now(), server);
        self.carry_out();
        self.quorum_may_be_back();
    }

    /// Its connections are reset; its data stays.
    pub(crate) fn kill_server(&self, server: Server) {
        self.servers.sides.borrow_mut()[server] = ServerSide::default();
        self.servers.ensemble.borrow_mut().kill(self.clock.now(), server);
        let gone: Vec<(Conn, u16)> = {
            let mut connections = self.network.connections.borrow_mut();
            let of_it = connections
                .iter_mut()
                .enumerate()
                .filter(|(_, connection)| connection.server == server && connection.server_open);
            of_it
                .map(|(conn, connection)| {
                    connection.server_open = false;
                    (conn as Conn, connection.host)
                })
                .collect()
        };
        for (conn, host) in gone {
            let at = self.clock.now() + self.latency(host, Direction::Down);
            self.clock.plan(at, ScheduledEvent::Down(conn, ToClient::Closed));
        }
        self.carry_out();
    }

    pub(crate) fn pause_server(&self, server: Server) {
        self.servers.sides.borrow_mut()[server].paused = true;
        self.votes_as(server, ServerState::Silent);
        self.servers.ensemble.borrow_mut().pause(self.clock.now(), server);
        self.carry_out();
    }

    pub(crate) fn resume_server(&self, server: Server) {
        {
            let mut servers = self.servers.sides.borrow_mut();
            let side = &mut servers[server];
            side.paused = false;
            side.free_at = side.free_at.max(self.clock.now());
            self.call(server, side);
        }
        self.votes_as(server, ServerState::NotServing);
        self.servers.ensemble.borrow_mut().resume(self.clock.now(), server);
        self.carry_out();
        // Only now: the role that it had when it was stopped is over if the others have gone on without it.
        self.quorum_may_be_back();
    }

    /// A looking server is stopped or continues: it does not vote while it is stopped.
    fn votes_as(&self, server: Server, state: ServerState) {
        let ensemble = self.servers.ensemble.borrow();
        if ensemble.state(server) == ServerState::NotServing {
            let zxid = ensemble.last_zxid(server);
            self.servers.watch.borrow_mut().has_become(self.clock.now(), server, state, zxid);
        }
    }

    /// Separates servers from all others, or joins them again.
    pub(crate) fn part_servers(&self, away: &[Server], parted: bool) {
        let count = self.servers.count();
        for &a in away {
            for b in (0..count).filter(|b| !away.contains(b)) {
                if !self.servers.cut(a, b, parted) {
                    continue;
                }
                let mut ensemble = self.servers.ensemble.borrow_mut();
                if parted {
                    ensemble.part(self.clock.now(), a, b);
                } else {
                    ensemble.join(self.clock.now(), a, b);
                }
                drop(ensemble);
                self.servers.watch.borrow_mut().part(self.clock.now(), a, b, parted);
            }
        }
        self.carry_out();
        self.quorum_may_be_back();
    }
}
