//! The ends of sessions and clients.

use super::common::answer;
use crate::coordination::{OpError, SessionEnd, SessionState};
use crate::model::Conn;
use crate::simulation::world::{ClientId, FromClient, SimWorld, Watches};

impl SimWorld {
    /// The process has ended: it is not notified of anything, and the kernel closes its connection.
    pub(crate) fn die(&self, id: ClientId) {
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

    pub(crate) fn ended(&self, id: ClientId, end: SessionEnd) {
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

    /// Closes this end of the connection, if it is open.
    pub(super) fn hang_up(&self, id: ClientId, conn: Option<Conn>) {
        let Some(conn) = conn else { return };
        let open = std::mem::replace(&mut self.network.connection_mut(conn).client_open, false);
        if open {
            self.send_up(id, conn, FromClient::Closed, 0);
        }
    }
}
