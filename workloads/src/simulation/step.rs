//! The next event in a world, and its target.

use super::world::{COORDINATOR, Down, Due, World};
use crate::model::Conn;

impl World {
    /// Executes the next event. False: nothing is planned.
    pub(super) fn step(&self) -> bool {
        let Some(due) = self.clock.next() else { return false };
        if let Some(due) = self.unless_stopped(due) {
            self.happen(due);
        }
        true
    }

    /// Returns an event that needs no host process, or whose process runs. Keeps it while the process is stopped, and
    /// drops it when the process is dead.
    fn unless_stopped(&self, due: Due) -> Option<Due> {
        let host = match &due {
            Due::Taken(conn, _) | Due::Gone(conn) => self.network.host_of(*conn),
            Due::Client(client, ..) => self.clients.borrow()[*client as usize].host,
            Due::Wake(host, _) | Due::Host(host, _) => *host,
            Due::Up(..)
            | Due::Down(..)
            | Due::Reset(_)
            | Due::ServerFree(_)
            | Due::Job(..)
            | Due::Commit
            | Due::HandOver
            | Due::Advance
            | Due::Call(_) => COORDINATOR,
        };
        if host == COORDINATOR {
            return Some(due);
        }
        let side = &mut self.network.hosts.borrow_mut()[usize::from(host)];
        if side.paused {
            side.inbox.push_back(due);
            return None;
        }
        side.alive.then_some(due)
    }

    fn happen(&self, due: Due) {
        match due {
            Due::Up(conn, up) => self.reaches_server(conn, up),
            Due::Down(conn, down) => self.reaches_host(conn, down),
            Due::Taken(conn, down) => self.taken(conn, down),
            Due::Reset(conn) => self.reset(conn),
            Due::Gone(conn) => self.connection_gone(conn),
            Due::ServerFree(server) => self.server_free(server),
            Due::Job(server, job) => self.arrives(server, job),
            Due::Commit => self.commit(),
            Due::HandOver => self.hand_over(),
            Due::Advance => self.advance(),
            Due::Client(client, era, timer) => self.client_timer(client, era, timer),
            Due::Wake(_, waker) => waker.wake(),
            Due::Host(_, call) | Due::Call(call) => call(),
        }
    }

    /// A message reaches its host: it is taken once the host's processor has handled those before it.
    fn reaches_host(&self, conn: Conn, down: Down) {
        let (host, server) = (self.network.host_of(conn), self.network.server_of(conn));
        if host == COORDINATOR {
            return self.taken(conn, down);
        }
        let at = {
            let mut hosts = self.network.hosts.borrow_mut();
            let side = &mut hosts[usize::from(host)];
            if side.link.holds_down(server) {
                side.link.hold_down(conn, down);
                return;
            }
            // Messages that arrive during a stop are queued in order: an event never overtakes an answer.
            if side.paused {
                side.inbox.push_back(Due::Taken(conn, down));
                return;
            }
            let listing_us = match &down {
                Down::Reply(_, _, answer) => self.timing.listing_us(answer),
                _ => 0,
            };
            let idle = side.free_at <= self.clock.now();
            side.free_at = self.worked(side.free_at, self.timing.client_us + listing_us);
            // The exact time of taking a ping's answer does not matter, and most messages of a large world are those.
            if idle && matches!(down, Down::Pong) && side.alive {
                drop(hosts);
                return self.taken(conn, down);
            }
            side.free_at
        };
        self.clock.plan(at, Due::Taken(conn, down));
    }
}
