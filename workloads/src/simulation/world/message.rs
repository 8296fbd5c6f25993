//! The messages of a connection.

use crate::model::{Code, Connect, ConnectResponse, Event, Request, Response, Zxid};

/// A message from a client.
pub(crate) enum FromClient {
    Connect(Box<Connect>),
    Ping,
    Request(i32, Box<Request>),
    /// The client's side of the connection is closed.
    Closed,
}

/// A message to a client.
pub(crate) enum ToClient {
    Connected(Box<ConnectResponse>),
    Pong,
    Reply(i32, Zxid, Box<Result<Response, Code>>),
    Event(Box<Event>),
    /// The connection is closed or was reset.
    Closed,
}
