//! Messages between servers.

use crate::model::{Micros, Server, Ticket, Zxid};
use crate::simulation::world::{Job, ScheduledEvent, SimWorld};

impl SimWorld {
    /// Sends the leader's commits to the other servers.
    pub(super) fn tell_followers(&self, leader: Server, zxid: Zxid, count: u64) {
        for server in 0..self.servers.count() {
            if server != leader {
                let lag = self.servers.sides.borrow()[server].lag_us;
                let at = self.clock.now() + self.timing.between_servers_us + lag;
                self.send_between(leader, server, at, ScheduledEvent::Job(server, Job::Apply(zxid, count)));
            }
        }
    }

    /// Sends a message from one server to another; it is held while they cannot communicate.
    fn send_between(&self, from: Server, to: Server, at: Micros, due: ScheduledEvent) {
        if self.servers.are_parted(from, to) {
            self.servers.between.borrow_mut().push((from, to, due));
        } else {
            self.clock.plan(at, due);
        }
    }

    /// Which servers can communicate has changed.
    pub(super) fn quorum_may_be_back(&self) {
        let waiting = std::mem::take(&mut *self.servers.between.borrow_mut());
        for (from, to, due) in waiting {
            self.send_between(from, to, self.clock.now() + self.timing.between_servers_us, due);
        }
        if !self.servers.ordered.borrow().is_empty() && !self.servers.committing.replace(true) {
            self.clock.plan(self.clock.now() + self.timing.commit_us, ScheduledEvent::Commit);
        }
    }

    pub(super) fn forward(&self, server: Server, ticket: Ticket, writes: bool, at: Micros) {
        let Some(leader) = self.servers.ensemble.borrow().leader() else { return };
        let due = ScheduledEvent::Job(leader, Job::Order(ticket, writes));
        if leader == server {
            self.clock.plan(at, due);
        } else {
            self.send_between(server, leader, at + self.timing.between_servers_us, due);
        }
    }
}
