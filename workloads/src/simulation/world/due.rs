//! The events that can be due in a simulated world.

use std::task::Waker;

use super::message::{FromClient, ToClient};
use crate::model::{Conn, Micros, Server, Ticket, Zxid};

/// Index of a client in a world.
pub(crate) type ClientId = u32;

/// The host number that means the coordinator, which is on none of the hosts.
pub(crate) const COORDINATOR: u16 = u16::MAX;

/// A call that runs once.
pub(crate) type Call = Box<dyn FnOnce()>;

/// A planned event.
pub(crate) enum ScheduledEvent {
    /// A message reaches the far end of its link.
    Up(Conn, FromClient),
    /// A message reaches its host.
    Down(Conn, ToClient),
    /// The host's processor is free for it.
    Taken(Conn, ToClient),
    /// A connection breaks, and both its ends know at once.
    Reset(Conn),
    /// The client's host notices that the connection is over.
    Gone(Conn),
    ServerFree(Server),
    Job(Server, Job),
    /// The leader's log has written all waiting writes.
    Commit,
    HandOver,
    Advance,
    /// Void once the client's era has changed.
    Client(ClientId, u32, ClientTimer),
    Wake(u16, Waker),
    /// A call of a host's process: not while the process is stopped, and never once it is dead.
    Host(u16, Call),
    Call(Call),
}

/// The work of a server.
pub(crate) enum Job {
    Up(Conn, FromClient),
    /// As the leader: order a forwarded request; writes wait for the logs first.
    Order(Ticket, bool),
    /// As a follower: apply this many transactions, up to this one.
    Apply(Zxid, u64),
}

/// The timers of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientTimer {
    Dial,
    /// The connection is established.
    Reached(Conn),
    /// No server answered the dialling.
    Unreached,
    /// With the time for which it was planned.
    KeepAlive(Micros),
}
