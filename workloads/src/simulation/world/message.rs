//! What passes over a connection.

use crate::model::{Code, Connect, Connected, Event, Request, Response, Zxid};

/// What a client sends.
pub(crate) enum Up {
    Connect(Box<Connect>),
    Ping,
    Request(i32, Box<Request>),
    /// Its side of the connection is closed.
    Closed,
}

/// What a client gets.
pub(crate) enum Down {
    Connected(Box<Connected>),
    Pong,
    Reply(i32, Zxid, Box<Result<Response, Code>>),
    Event(Box<Event>),
    /// The connection is closed or was reset.
    Closed,
}
