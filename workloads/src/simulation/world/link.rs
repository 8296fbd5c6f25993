//! The link of a host: its delays, and the messages that it holds.

use hustings_record::Direction;

use super::message::{FromClient, ToClient};
use crate::faults::LinkSlowdown;
use crate::model::{Conn, Micros, Server, Zxid};

/// Held messages, each with its connection.
type HeldMessages<T> = Vec<(Conn, T)>;

/// Servers, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ServerSet(u64);

impl ServerSet {
    pub(crate) const ALL: Self = Self(u64::MAX);

    /// The servers with these ids; all if there are none.
    pub(crate) fn of(ids: &[u32]) -> Self {
        if ids.is_empty() { Self::ALL } else { Self(ids.iter().fold(0, |set, id| set | 1 << (id - 1))) }
    }

    fn has(self, server: Server) -> bool {
        self.0 >> server & 1 == 1
    }
}

/// An answer to a create that never arrived.
#[derive(Clone, Debug)]
pub(crate) struct LostReply {
    pub(crate) at: Micros,
    pub(crate) xid: i32,
    pub(crate) path: String,
    pub(crate) zxid: Zxid,
}

/// The path of a host's messages, both directions.
#[derive(Default)]
pub(crate) struct Link {
    up_held: ServerSet,
    down_held: ServerSet,
    held_up: HeldMessages<FromClient>,
    held_down: HeldMessages<ToClient>,
    /// A partition of a schedule is in force on it, or is about to be.
    cut: bool,
    /// Links, by their server, that lose the answer to the next executed create.
    losing: ServerSet,
    /// Answers that were lost.
    pub(crate) lost: Vec<LostReply>,
    /// Its additional delays.
    pub(crate) slow: LinkSlowdown,
}

impl Link {
    pub(crate) fn holds_up(&self, server: Server) -> bool {
        self.up_held.has(server)
    }

    pub(crate) fn holds_down(&self, server: Server) -> bool {
        self.down_held.has(server)
    }

    /// No connection can be made to a server while either direction is held.
    pub(crate) fn is_held(&self, server: Server) -> bool {
        self.holds_up(server) || self.holds_down(server)
    }

    pub(crate) fn hold_up(&mut self, conn: Conn, up: FromClient) {
        self.held_up.push((conn, up));
    }

    pub(crate) fn hold_down(&mut self, conn: Conn, down: ToClient) {
        self.held_down.push((conn, down));
    }

    /// Nothing passes this way between the host and these servers from now on; messages are held.
    pub(super) fn hold(&mut self, way: Direction, servers: ServerSet) {
        if way.is_up() {
            self.up_held.0 |= servers.0;
        }
        if way.is_down() {
            self.down_held.0 |= servers.0;
        }
    }

    /// Each of these links loses the answer to the next executed create.
    pub(crate) fn lose_replies(&mut self, servers: ServerSet) {
        self.losing = servers;
        self.lost.clear();
    }

    /// Whether this answer to a create is lost; one per link.
    pub(crate) fn loses(&mut self, server: Server, reply: impl FnOnce() -> LostReply) -> bool {
        let loses = self.losing.has(server);
        if loses {
            self.losing.0 &= !(1 << server);
            self.lost.push(reply());
        }
        loses
    }

    /// No answer is lost from now on.
    pub(crate) fn keep_replies(&mut self) {
        self.losing = ServerSet::default();
    }

    /// A schedule cuts it off, until its release. False: a schedule has cut it off already.
    pub(crate) fn cut_anew(&mut self) -> bool {
        !std::mem::replace(&mut self.cut, true)
    }

    /// Everything passes again. Returns the held messages, each direction in order.
    pub(crate) fn release(&mut self) -> (HeldMessages<FromClient>, HeldMessages<ToClient>) {
        self.cut = false;
        (self.up_held, self.down_held) = (ServerSet::default(), ServerSet::default());
        (std::mem::take(&mut self.held_up), std::mem::take(&mut self.held_down))
    }
}
