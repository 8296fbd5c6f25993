//! The next event in a world, and its target.

use super::world::{COORDINATOR, ScheduledEvent, SimWorld, ToClient};
use crate::model::Conn;

impl SimWorld {
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
    fn unless_stopped(&self, due: ScheduledEvent) -> Option<ScheduledEvent> {
        let host = match &due {
            ScheduledEvent::Taken(conn, _) | ScheduledEvent::Gone(conn) => self.network.host_of(*conn),
            ScheduledEvent::Client(client, ..) => self.clients.borrow()[*client as usize].host,
            ScheduledEvent::Wake(host, _) | ScheduledEvent::Host(host, _) => *host,
            ScheduledEvent::Up(..)
            | ScheduledEvent::Down(..)
            | ScheduledEvent::Reset(_)
            | ScheduledEvent::ServerFree(_)
            | ScheduledEvent::Job(..)
            | ScheduledEvent::Commit
            | ScheduledEvent::HandOver
            | ScheduledEvent::Advance
            | ScheduledEvent::Call(_) => COORDINATOR,
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

    fn happen(&self, due: ScheduledEvent) {
        match due {
            ScheduledEvent::Up(conn, up) => self.reaches_server(conn, up),
            ScheduledEvent::Down(conn, down) => self.reaches_host(conn, down),
            ScheduledEvent::Taken(conn, down) => self.taken(conn, down),
            ScheduledEvent::Reset(conn) => self.reset(conn),
            ScheduledEvent::Gone(conn) => self.connection_gone(conn),
            ScheduledEvent::ServerFree(server) => self.server_free(server),
            ScheduledEvent::Job(server, job) => self.arrives(server, job),
            ScheduledEvent::Commit => self.commit(),
            ScheduledEvent::HandOver => self.hand_over(),
            ScheduledEvent::Advance => self.advance(),
            ScheduledEvent::Client(client, era, timer) => self.client_timer(client, era, timer),
            ScheduledEvent::Wake(_, waker) => waker.wake(),
            ScheduledEvent::Host(_, call) | ScheduledEvent::Call(call) => call(),
        }
    }

    /// A message reaches its host: it is taken once the host's processor has handled those before it.
    fn reaches_host(&self, conn: Conn, down: ToClient) {
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
                side.inbox.push_back(ScheduledEvent::Taken(conn, down));
                return;
            }
            let listing_us = match &down {
                ToClient::Reply(_, _, answer) => self.timing.listing_us(answer),
                _ => 0,
            };
            let idle = side.free_at <= self.clock.now();
            side.free_at = self.worked(side.free_at, self.timing.client_us + listing_us);
            // The exact time of taking a ping's answer does not matter, and most messages of a large world are those.
            if idle && matches!(down, ToClient::Pong) && side.alive {
                drop(hosts);
                return self.taken(conn, down);
            }
            side.free_at
        };
        self.clock.plan(at, ScheduledEvent::Taken(conn, down));
    }
}
