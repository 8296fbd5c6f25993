//! Carries out the outputs of the ensemble's model.

use hustings_record::{Direction, ServerState};

use crate::model::{Conn, Micros, Output, Response, Server, Zxid};
use crate::simulation::event_sink::Writer;
use crate::simulation::world::{AnswerDelivery, LostReply, ScheduledEvent, SimWorld, ToClient};

impl SimWorld {
    /// Carries out the model's outputs, and plans its next call.
    pub(super) fn carry_out(&self) {
        // The ensemble's own commits (the ends of sessions) go to the followers as well.
        let (zxid, count) = self.put_all_out();
        let leader = self.servers.ensemble.borrow().leader();
        if let (Some(zxid), Some(leader)) = (zxid, leader) {
            self.tell_followers(leader, zxid, count);
        }
    }

    /// Returns the last transaction committed during this call, and how many there were.
    pub(super) fn put_all_out(&self) -> (Option<Zxid>, u64) {
        let mut committed = (None, 0);
        loop {
            let output = self.servers.ensemble.borrow_mut().pop();
            let Some(output) = output else { break };
            self.put_out(output, &mut committed);
        }
        let due = self.servers.ensemble.borrow().due();
        if let Some(at) = due.filter(|at| *at < self.servers.advance_at.get()) {
            self.servers.advance_at.set(at);
            self.clock.plan(at, ScheduledEvent::Advance);
        }
        committed
    }

    fn put_out(&self, output: Output, committed: &mut (Option<Zxid>, u64)) {
        let free_at = |server: Server| self.servers.sides.borrow()[server].free_at.max(self.clock.now());
        match output {
            Output::Connected { server, conn, answer } => {
                self.send_down(free_at(server), conn, ToClient::Connected(Box::new(answer)));
            }
            Output::Reply { server, conn, xid, zxid, result } => {
                let at = self.worked(free_at(server), self.timing.listing_us(&result));
                self.servers.sides.borrow_mut()[server].free_at = at;
                let mut fate = self.sync_points.borrow_mut().answered(conn, xid);
                if let Ok(Response::Created { path, .. }) = &result
                    && self.network.of_link(self.network.host_of(conn), |link| {
                        link.loses(server, || LostReply { at: self.clock.now(), xid, path: path.clone(), zxid })
                    })
                {
                    fate = Some(AnswerDelivery::Lost);
                }
                let late_us = match fate {
                    None => 0,
                    Some(AnswerDelivery::Late(us)) => us,
                    // The model is in the middle of its outputs: the connection breaks right after them.
                    Some(AnswerDelivery::Lost) => {
                        return self.clock.plan(self.clock.now(), ScheduledEvent::Reset(conn));
                    }
                };
                self.send_down(at + late_us, conn, ToClient::Reply(xid, zxid, Box::new(result)));
            }
            Output::Event { server, conn, event } => {
                let at = self.worked(free_at(server), self.timing.notify_us);
                self.servers.sides.borrow_mut()[server].free_at = at;
                self.send_down(at, conn, ToClient::Event(Box::new(event)));
            }
            Output::Close { server, conn } => {
                self.network.connection_mut(conn).server_open = false;
                self.send_down(free_at(server), conn, ToClient::Closed);
            }
            Output::Forward { server, ticket, writes } => self.forward(server, ticket, writes, free_at(server)),
            Output::Committed { zxid } => *committed = (Some(zxid), committed.1 + 1),
            Output::Changed { zxid, change } => {
                let owner = self.owners.borrow_mut().take(self.clock.nanos(), zxid, &change);
                owner.into_iter().for_each(|event| self.record(Writer::Observer, event));
            }
            Output::State { server, state } => self.state_changed(server, state),
        }
    }

    fn state_changed(&self, server: Server, state: ServerState) {
        let zxid = self.servers.ensemble.borrow().last_zxid(server);
        self.servers.watch.borrow_mut().has_become(self.clock.now(), server, state, zxid);
        if matches!(state, ServerState::Leading | ServerState::Standalone) {
            self.quorum_may_be_back();
        }
    }

    pub(super) fn send_down(&self, at: Micros, conn: Conn, down: ToClient) {
        let at = self.arrival(conn, Direction::Down, at, || down.bytes());
        self.clock.plan(at, ScheduledEvent::Down(conn, down));
    }
}
