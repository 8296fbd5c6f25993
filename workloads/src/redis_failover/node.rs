//! The seam to Redis: all that a manager sees of one server.

use serde::{Deserialize, Serialize};

/// What a Redis server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "role")]
pub enum RedisRole {
    Master,
    /// It follows this server of its group, if it is one of them.
    Replica {
        of: Option<u16>,
    },
}

/// A server's description of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedisInfo {
    pub role: RedisRole,
    /// How much of the master's stream it has, in bytes: the highest has lost the least.
    pub offset: u64,
}

/// Why a request to a Redis server failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedisError {
    /// No connection: the request had no effect.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The connection was lost, or no answer came in time: the request may have taken effect, and may still do so.
    #[error("unknown outcome: {0}")]
    Unknown(String),
    /// The server answered no: the request had no effect.
    #[error("refused: {0}")]
    Refused(String),
}

/// One Redis server, over a connection of this manager. Requests have no limit of their own: the manager sets it.
#[expect(async_fn_in_trait, reason = "a host is single-threaded: its futures need no Send")]
pub trait RedisNode {
    async fn info(&self) -> Result<RedisInfo, RedisError>;
    /// Waits on the server for this long, in milliseconds, for something that never comes. A server that is lost
    /// meanwhile ends it at once.
    async fn block(&self, for_ms: u64) -> Result<(), RedisError>;
    /// Makes it a replica of another server of its group.
    async fn follow(&self, master: u16) -> Result<(), RedisError>;
    /// Makes it a master.
    async fn promote(&self) -> Result<(), RedisError>;
    /// Ends the connections of managers with a lower number than `token`, and names this one by it. What such a manager
    /// sent and what the server did not carry out before never takes effect.
    async fn close_older(&self, token: i64) -> Result<(), RedisError>;
}
