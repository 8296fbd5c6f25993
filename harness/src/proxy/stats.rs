//! Statistics of links: the format of `/stats`, which clients of the proxy parse.

use serde::{Deserialize, Serialize};

/// One direction. Times are nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionStats {
    /// Bytes forwarded to the receiving side.
    pub bytes: u64,
    /// When the last of them were forwarded.
    pub last: Option<u64>,
    /// Bytes that have arrived at the proxy and wait in its queues and sockets.
    pub held: u64,
    /// Bytes that were dropped.
    pub dropped: u64,
}

/// One connection, open or recently closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionStats {
    /// Ids increase in the order of acceptance and are unique in a process.
    pub id: u64,
    pub opened: u64,
    pub closed: Option<u64>,
    /// Client to server.
    pub up: DirectionStats,
    /// Server to client.
    pub down: DirectionStats,
    /// The first bytes (at most 64) that the server sent, in hex.
    pub head: String,
}

/// One proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxyStats {
    /// Time of the statistics.
    pub now: u64,
    pub up: DirectionStats,
    pub down: DirectionStats,
    pub open: u64,
    pub accepted: u64,
    pub closed: u64,
    /// Connections whose server could not be reached.
    pub failed: u64,
    /// Connections whose client left during a hold.
    pub abandoned: u64,
    /// Lowest id among the open connections.
    pub oldest_open: Option<u64>,
    /// No connection accepted so far has this id or a higher one.
    pub next_id: u64,
    /// Closed ones first, in the order in which they closed, then open ones, in order of id. Empty when asked for
    /// `?brief=true`.
    pub connections: Vec<ConnectionStats>,
    /// Closed connections that are not listed.
    pub forgotten: u64,
    /// Answers held back by the toxic that last held one back.
    #[serde(default)]
    pub lost: Vec<LostReply>,
}

/// The answer to an executed create. It was held back, and its connection closed instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostReply {
    /// When it arrived from the server.
    pub at: u64,
    /// Id of its connection.
    pub connection: u64,
    /// Id of the request.
    pub xid: i32,
    /// The path in the request: for a sequential znode, without its number.
    pub path: String,
    /// Zxid of the answer: the transaction that created the znode, and so its czxid.
    pub zxid: i64,
}

/// The answer to a `disconnect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisconnectReply {
    /// Number of connections that were ordered to reset.
    pub reset: u64,
    /// All of them have lower ids than this.
    pub below: u64,
}

/// Encodes bytes for the `head` of a connection.
#[must_use]
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).filter_map(|nibble| char::from_digit(nibble.into(), 16)).collect()
}

/// Decodes a `head`. None if it is not hex.
#[must_use]
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    digits.chunks(2).map(|pair| u8::try_from(pair.first()? * 16 + pair.get(1)?).ok()).collect()
}
