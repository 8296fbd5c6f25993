//! Requests that servers forward to their leader.

use super::acl::VerifiedIdentities;
use super::interface::Conn;
use super::op::{Request, SessionId};

/// A request that only the leader can decide.
#[derive(Debug)]
pub(super) struct ForwardedRequest {
    pub(super) conn: Conn,
    pub(super) session: SessionId,
    pub(super) asked: ForwardedKind,
}

#[derive(Debug)]
pub(super) enum ForwardedKind {
    /// A new session.
    Open {
        timeout_ms: i32,
    },
    /// The session moves to this server.
    Move {
        timeout_ms: i32,
    },
    Request {
        request: Request,
        proven: VerifiedIdentities,
    },
}
