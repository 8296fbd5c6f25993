//! How connections, sessions and clients come to their ends.

use std::rc::Rc;

use super::super::watches::Watches;
use super::super::world::{ClientId, Up, World};
use super::{AnswerSlot, Owner, answer};
use crate::coordination::{OpError, SessionEnd, SessionState};
use crate::model::{Conn, Request};

impl World {
    /// Ends a session by a second connection, which takes it over and closes it. `done` is told whether that was answered.
    pub(in crate::simulation) fn end_session(
        self: &Rc<Self>,
        session: i64,
        client: Option<ClientId>,
        done: impl FnOnce(&Rc<Self>, bool) + 'static,
    ) {
        let Some(victim) = client.filter(|_| session != 0) else { return done(self, false) };
        let (password, timeout_ms) = self.with(victim, |client| (client.password, client.timeout_ms));
        let id = self.open(Owner::NOBODY, u64::from(timeout_ms));
        self.with(id, |client| {
            (client.session, client.password, client.closes_at_once) = (session, password, true);
            client.give_up_at = client.begun + client.timeout_us();
        });
        let world = self.clone();
        self.spawn(async move {
            let end = std::future::poll_fn(|cx| {
                let mut clients = world.clients.borrow_mut();
                let client = &mut clients[id as usize];
                if let SessionState::Ended(end) = client.state {
                    return std::task::Poll::Ready(end);
                }
                client.wakers.push(cx.waker().clone());
                std::task::Poll::Pending
            });
            let end = end.await;
            // Expired: the victim had broken the connection that closed it.
            done(&world, matches!(end, SessionEnd::Closed | SessionEnd::Expired));
        });
    }

    /// A client that goes on with another one's session, over a connection of its own: to this server first.
    #[cfg(test)]
    pub(in crate::simulation) fn take_over(
        self: &Rc<Self>,
        victim: ClientId,
        server: crate::model::Server,
    ) -> ClientId {
        let (session, password, timeout_ms) =
            self.with(victim, |client| (client.session, client.password, client.timeout_ms));
        let id = self.open(Owner::NOBODY, u64::from(timeout_ms));
        self.with(id, |client| {
            (client.session, client.password, client.timeout_ms) = (session, password, timeout_ms);
            client.route = vec![server as u8];
        });
        id
    }

    /// The last user of the session has let go: it is closed as soon as a server hears it.
    pub(in crate::simulation) fn let_go(self: &Rc<Self>, id: ClientId) {
        let (ended, ready) = self.with(id, |client| {
            client.let_go = true;
            (matches!(client.state, SessionState::Ended(_)), client.ready)
        });
        if !ended && ready {
            self.send(id, Request::CloseSession, AnswerSlot::default());
        }
    }

    /// The process is dead: nobody hears anything any more, and the kernel closes its connection.
    pub(in crate::simulation) fn die(self: &Rc<Self>, id: ClientId) {
        let conn = self.with(id, |client| {
            client.next_era();
            client.state = SessionState::Ended(SessionEnd::Closed);
            client.pending.clear();
            client.waiting.clear();
            client.wakers.clear();
            client.watches = Watches::default();
            client.conn.take()
        });
        self.hang_up(id, conn);
    }

    /// Closes this end of the connection, if there is one that is open.
    fn hang_up(&self, id: ClientId, conn: Option<Conn>) {
        let Some(conn) = conn else { return };
        let open = std::mem::replace(&mut self.lines.borrow_mut()[conn as usize].client_open, false);
        if open {
            self.send_up(id, conn, Up::Closed, 0);
        }
    }

    pub(in crate::simulation) fn ended(self: &Rc<Self>, id: ClientId, end: SessionEnd) {
        let (pending, waiting, watches, conn) = self.with(id, |client| {
            client.next_era();
            let asked = (std::mem::take(&mut client.pending), std::mem::take(&mut client.waiting));
            (asked.0, asked.1, std::mem::take(&mut client.watches), client.conn.take())
        });
        self.hang_up(id, conn);
        self.change(id, SessionState::Ended(end));
        let error = || Err(OpError::Ended(end));
        pending.into_iter().for_each(|(_, slot)| answer(&slot, error()));
        waiting.into_iter().for_each(|(_, slot)| answer(&slot, error()));
        watches.end(end);
    }

    /// Gives the connection up and dials anew.
    pub(in crate::simulation) fn lost(self: &Rc<Self>, id: ClientId) {
        let conn = self.with(id, |client| {
            client.next_era();
            client.ready = false;
            client.conn.take()
        });
        self.hang_up(id, conn);
        let pending = self.with(id, |client| std::mem::take(&mut client.pending));
        let served = self.with(id, |client| client.state == SessionState::Connected);
        if !served {
            // The server had not granted the session: one more try of the same round, if there is time.
            return self.unreached(id);
        }
        self.change(id, SessionState::Disconnected);
        pending.into_iter().for_each(|(_, slot)| answer(&slot, Err(OpError::Unknown)));
        self.begin_dialling(id);
    }

    /// The connection is over, and this end knows.
    pub(in crate::simulation) fn connection_gone(self: &Rc<Self>, conn: Conn) {
        let id = {
            let mut lines = self.lines.borrow_mut();
            let line = &mut lines[conn as usize];
            line.client_open = false;
            line.client
        };
        if self.with(id, |client| client.conn) == Some(conn) {
            self.lost(id);
        }
    }
}
