//! Clients that take over the session of another one.

use std::rc::Rc;
use std::task::Poll;

use crate::coordination::{SessionEnd, SessionState};
use crate::simulation::world::{ClientId, ClientOwner, SimWorld};

impl SimWorld {
    /// Ends a session by a second connection, which takes it over and closes it. `done` gets whether that was answered.
    pub(crate) fn end_session(
        self: &Rc<Self>,
        session: i64,
        client: Option<ClientId>,
        done: impl FnOnce(bool) + 'static,
    ) {
        let Some(victim) = client.filter(|_| session != 0) else { return done(false) };
        let (password, timeout_ms) = self.with(victim, |client| (client.password, client.timeout_ms));
        let id = self.open(ClientOwner::NOBODY, u64::from(timeout_ms));
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
                    return Poll::Ready(end);
                }
                client.wakers.push(cx.waker().clone());
                Poll::Pending
            });
            let end = end.await;
            // Expired: an earlier connection of this client had closed the session, and was lost before its answer. If
            // the first connection gets this answer, it has closed nothing. A client that gave up has no answer at all.
            let (answered, closes) = world.with(id, |client| (!client.gave_up, client.xid));
            done(answered && (end == SessionEnd::Closed || end == SessionEnd::Expired && closes > 1));
        });
    }

    /// A client that continues another one's session over its own connection: to this server first.
    #[cfg(test)]
    pub(crate) fn take_over(&self, victim: ClientId, server: crate::model::Server) -> ClientId {
        let (session, password, timeout_ms) =
            self.with(victim, |client| (client.session, client.password, client.timeout_ms));
        let id = self.open(ClientOwner::NOBODY, u64::from(timeout_ms));
        self.with(id, |client| {
            (client.session, client.password, client.timeout_ms) = (session, password, timeout_ms);
            client.route = vec![server as u8];
        });
        id
    }
}
