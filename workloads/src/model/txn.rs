//! Transactions: what the leader has decided, in the form in which every server applies it.

use std::sync::Arc;

use super::interface::{Conn, Server};
use super::op::{Acl, Code, SessionId, Zxid};

/// One committed transaction.
#[derive(Debug)]
pub(super) struct Txn {
    pub(super) zxid: Zxid,
    /// Milliseconds since 1970, by the clock of the leader.
    pub(super) time_ms: i64,
    /// The connection that waits for it, if there is one.
    pub(super) origin: Option<Origin>,
    pub(super) change: Change,
}

/// Where the answer to a transaction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) server: Server,
    pub(super) conn: Conn,
}

#[derive(Debug)]
pub(super) enum Change {
    Create(Create),
    Delete {
        path: Arc<str>,
    },
    SetData {
        path: Arc<str>,
        data: Arc<[u8]>,
        version: i32,
    },
    SetAcl {
        path: Arc<str>,
        acl: Arc<[Acl]>,
        version: i32,
    },
    /// A step of a transaction that changes nothing.
    Check,
    Multi(Vec<Change>),
    /// A failed transaction, with the result of each of its steps.
    MultiFailed(Vec<Code>),
    CreateSession {
        session: SessionId,
        timeout_ms: i32,
    },
    CloseSession {
        session: SessionId,
        keep_ephemerals: bool,
    },
    /// A refused request.
    Error(Code),
}

#[derive(Debug)]
pub(super) struct Create {
    pub(super) path: Arc<str>,
    pub(super) data: Arc<[u8]>,
    pub(super) acl: Arc<[Acl]>,
    /// The owning session, or the mark of a container.
    pub(super) owner: i64,
    /// The parent's count of creates, including this one.
    pub(super) parent_creates: i32,
    pub(super) with_stat: bool,
}
