//! What can be due at some time in a simulated world.

use std::task::Waker;

use super::message::{Down, Up};
use crate::model::{Conn, Micros, Server, Ticket, Zxid};

/// Place of a client among the clients of a world.
pub(crate) type ClientId = u32;

/// Stands for a host where the coordinator is meant, which is on none of them.
pub(crate) const COORDINATOR: u16 = u16::MAX;

/// Something that is done once.
pub(crate) type Call = Box<dyn FnOnce()>;

/// What is due at some time.
pub(crate) enum Due {
    /// A message reaches the far end of its link.
    Up(Conn, Up),
    /// A message reaches its host.
    Down(Conn, Down),
    /// The host's processor is free for it.
    Taken(Conn, Down),
    /// A connection breaks, and both its ends know at once.
    Reset(Conn),
    /// The client's host sees that the connection is over.
    Gone(Conn),
    ServerFree(Server),
    Job(Server, Job),
    /// The leader's log has taken the writes up to here.
    Commit,
    HandOver,
    Advance,
    /// Void once the client's era is another one.
    Client(ClientId, u32, ClientTimer),
    Wake(u16, Waker),
    /// A process of a host does something: not while it is stopped, and never once it is dead.
    Host(u16, Call),
    Call(Call),
}

/// What a server has to do.
pub(crate) enum Job {
    Up(Conn, Up),
    /// As the leader: order what a server has passed on; writes wait for the logs first.
    Order(Ticket, bool),
    /// As a follower: apply so many transactions, up to this one.
    Apply(Zxid, u64),
}

/// What a client waits for by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientTimer {
    Dial,
    /// The connection is there.
    Reached(Conn),
    /// Nobody answered the dialling.
    Unreached,
    /// With the time for which it was planned.
    KeepAlive(Micros),
}
