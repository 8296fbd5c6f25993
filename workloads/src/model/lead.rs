//! What a server has while it leads: the clocks of all sessions, and what waits for a quorum.

use std::collections::VecDeque;

use super::forwarded::Forwarded;
use super::interface::{Server, Ticket};
use super::op::{Micros, SessionId};
use super::sessions::Tracker;

#[derive(Debug)]
pub(super) struct Lead {
    pub(super) tracker: Tracker,
    /// What cannot be decided while too few followers hear the leader.
    pub(super) stalled: VecDeque<Stalled>,
    pub(super) containers_due: Micros,
}

#[derive(Debug)]
pub(super) enum Stalled {
    Ticket {
        server: Server,
        ticket: Ticket,
        forwarded: Forwarded,
    },
    /// The session has expired.
    Expire(SessionId),
    /// A container or a TTL znode is due.
    Reap(String),
}
