//! Input and output of a model ensemble.

use hustings_record::ServerState;

use super::op::{Code, ConnectResponse, Event, Response, SessionId, Zxid};

/// Index of a server in the ensemble, from 0. Its id, as in `myid`, is one more.
pub type Server = usize;

/// A connection between a client and a server, numbered by the driver; numbers are never reused.
pub type Conn = u64;

/// A request that only the ensemble's leader can decide, on its way there: a write, a new session, a session's move to
/// another server, a sync.
pub type Ticket = u64;

/// Actions for the driver of an ensemble, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The answer to a connect request.
    Connected { server: Server, conn: Conn, answer: ConnectResponse },
    /// The answer to the request with this `xid`. Answers come in the order of the requests of a connection.
    Reply { server: Server, conn: Conn, xid: i32, zxid: Zxid, result: Result<Response, Code> },
    /// A watch has fired.
    Event { server: Server, conn: Conn, event: Event },
    /// The server closes the connection, after all output before this.
    Close { server: Server, conn: Conn },
    /// `server` has a request for the leader: call [`order`](super::Ensemble::order) when it has arrived there.
    /// `writes`: it waits for the quorum's logs, as a transaction or behind transactions in flight.
    Forward { server: Server, ticket: Ticket, writes: bool },
    /// The leader has committed and applied a transaction. Call [`apply`](super::Ensemble::apply) for every other
    /// server when it has arrived there.
    Committed { zxid: Zxid },
    /// The change of a transaction, as the leader applied it; only with [`Options::tell_changes`].
    Changed { zxid: Zxid, change: ZnodeChange },
    /// A server has changed its state. The state is never `Silent` here.
    State { server: Server, state: ServerState },
}

/// A znode that was created or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZnodeChange {
    /// `owner`: the owning session, 0 for none.
    Created {
        path: String,
        owner: SessionId,
    },
    Deleted {
        path: String,
    },
}

/// Parameters of an ensemble. Times in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub servers: usize,
    pub tick_ms: u64,
    /// The least and the largest session timeout; ZooKeeper's defaults are 2 and 20 ticks.
    pub timeout_min_ms: u64,
    pub timeout_max_ms: u64,
    /// A follower and its leader that have no contact for this many ticks part.
    pub sync_limit: u64,
    /// From the moment that a quorum of looking servers can communicate to the moment that they serve.
    pub election_ms: u64,
    /// Interval between checks of containers.
    pub container_check_ms: u64,
    /// Milliseconds since 1970 at the start of the model's time, for ctime and mtime.
    pub epoch_ms: i64,
    pub bugs: Bugs,
    /// Report every created or deleted znode to the driver.
    pub tell_changes: bool,
    /// Seed of the session passwords.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            servers: 1,
            tick_ms: 2_000,
            timeout_min_ms: 4_000,
            timeout_max_ms: 40_000,
            sync_limit: 5,
            election_ms: 400,
            container_check_ms: 60_000,
            epoch_ms: 0,
            bugs: Bugs::default(),
            tell_changes: false,
            seed: 0,
        }
    }
}

/// Known bugs of servers that can be switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bugs {
    /// The end of a session leaves its ephemerals, which are never removed (ZOOKEEPER-1208, 2355, 3144).
    pub keep_ephemerals: bool,
    /// Missed events of a watch are not delivered after a reconnect, and the watch is not set again (ZOOKEEPER-1412,
    /// 1667, 3145).
    pub forget_missed_events: bool,
}
