//! Requests of clients and answers of servers: ZooKeeper's operations without their encoding.

use std::collections::BTreeMap;
use std::fmt;

use crate::coordination::CreateMode;

/// Transaction id: the epoch in the upper 32 bits, a counter in the lower.
pub type Zxid = i64;

/// Session id.
pub type SessionId = i64;

/// Microseconds from the start of the model's time.
pub type Micros = u64;

/// A delete, set or check with this version accepts any.
pub const ANY_VERSION: i32 = -1;

/// How a znode is created, with all the modes of ZooKeeper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateKind {
    pub life: ZnodeLifetime,
    /// A number from the parent's counter is appended to the name.
    pub sequential: bool,
}

/// When a znode ends that no client deletes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZnodeLifetime {
    #[default]
    Persistent,
    /// At the end of the session that created it.
    Ephemeral,
    /// Removed by the ensemble, once it had children and the last one is gone.
    Container,
}

impl From<CreateMode> for CreateKind {
    fn from(mode: CreateMode) -> Self {
        let (life, sequential) = match mode {
            CreateMode::Persistent => (ZnodeLifetime::Persistent, false),
            CreateMode::Ephemeral => (ZnodeLifetime::Ephemeral, false),
            CreateMode::EphemeralSequential => (ZnodeLifetime::Ephemeral, true),
            CreateMode::Container => (ZnodeLifetime::Container, false),
        };
        Self { life, sequential }
    }
}

/// One entry of an access control list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acl {
    /// Bits: read 1, write 2, create 4, delete 8, admin 16.
    pub perms: i32,
    pub scheme: String,
    pub id: String,
}

impl Acl {
    pub const READ: i32 = 1;
    pub const WRITE: i32 = 2;
    pub const CREATE: i32 = 4;
    pub const DELETE: i32 = 8;
    pub const ADMIN: i32 = 16;
    pub const ALL: i32 = 31;

    /// All permissions for everyone.
    #[must_use]
    pub fn open() -> Vec<Self> {
        vec![Self { perms: Self::ALL, scheme: "world".into(), id: "anyone".into() }]
    }
}

/// Metadata of a znode, as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    pub czxid: Zxid,
    pub mzxid: Zxid,
    /// Milliseconds since 1970, by the clock of the ensemble's leader.
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    /// Number of creates and deletes of children.
    pub cversion: i32,
    pub aversion: i32,
    /// The owning session; 0 for all that is not ephemeral, including containers.
    pub ephemeral_owner: i64,
    pub data_length: i32,
    pub num_children: i32,
    pub pzxid: Zxid,
}

/// A request within a session. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `with_stat`: the answer contains the new znode's stat (create2 and its kin).
    Create {
        path: String,
        data: Vec<u8>,
        acl: Vec<Acl>,
        kind: CreateKind,
        with_stat: bool,
    },
    Delete {
        path: String,
        version: i32,
    },
    Exists {
        path: String,
        watch: bool,
    },
    GetData {
        path: String,
        watch: bool,
    },
    SetData {
        path: String,
        data: Vec<u8>,
        version: i32,
    },
    GetAcl {
        path: String,
    },
    SetAcl {
        path: String,
        acl: Vec<Acl>,
        version: i32,
    },
    /// `with_stat`: getChildren2.
    GetChildren {
        path: String,
        watch: bool,
        with_stat: bool,
    },
    /// Ephemerals of this session below a prefix.
    GetEphemerals {
        prefix: String,
    },
    /// The number of znodes below a path, at any depth.
    CountAllChildren {
        path: String,
    },
    Sync {
        path: String,
    },
    /// All or nothing.
    Multi(Vec<TransactionStep>),
    /// Reads in one go; each succeeds or fails by itself.
    MultiRead(Vec<Read>),
    AddWatch {
        path: String,
        recursive: bool,
    },
    /// `only_check`: report whether there is such a watch, without removing it.
    RemoveWatches {
        path: String,
        of: WatcherType,
        only_check: bool,
    },
    /// The watches of a session on its new connection; events that they missed since `since` fire at once.
    SetWatches(Box<Watches>),
    /// A verified identity: `digest` and `user:hash`.
    AddAuth {
        scheme: String,
        id: String,
    },
    CloseSession,
}

/// One step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStep {
    Create { path: String, data: Vec<u8>, acl: Vec<Acl>, kind: CreateKind, with_stat: bool },
    Delete { path: String, version: i32 },
    SetData { path: String, data: Vec<u8>, version: i32 },
    Check { path: String, version: i32 },
}

/// One of several reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    Data { path: String },
    Children { path: String },
}

/// The kinds of watches of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatcherType {
    Children,
    Data,
    Any,
}

/// All watches of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watches {
    /// The last zxid that the client has seen.
    pub since: Zxid,
    pub data: Vec<String>,
    /// On znodes that did not exist.
    pub exist: Vec<String>,
    pub child: Vec<String>,
    pub persistent: Vec<String>,
    pub persistent_recursive: Vec<String>,
}

/// A successful answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// Success without data.
    Done,
    Created {
        path: String,
        stat: Option<Stat>,
    },
    Stat(Stat),
    Data {
        data: Vec<u8>,
        stat: Stat,
    },
    Acl {
        acl: Vec<Acl>,
        stat: Stat,
    },
    Children {
        names: Vec<String>,
        stat: Option<Stat>,
    },
    Paths(Vec<String>),
    Count(i32),
    /// The path that was given to `Sync`.
    Path(String),
    /// One for each step of a successful transaction.
    Multi(Vec<Response>),
    /// One for each step of a failed transaction: `Ok` (as code 0) before the failed step, its own code, then
    /// `RuntimeInconsistency` for later steps. The transaction as a whole had no effect.
    MultiFailed(Vec<Code>),
    /// One for each read.
    MultiRead(Vec<Result<Response, Code>>),
}

/// ZooKeeper's error codes, as numbers on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Code {
    Ok = 0,
    SystemError = -1,
    RuntimeInconsistency = -2,
    MarshallingError = -5,
    Unimplemented = -6,
    BadArguments = -8,
    NoNode = -101,
    NoAuth = -102,
    BadVersion = -103,
    NoChildrenForEphemerals = -108,
    NodeExists = -110,
    NotEmpty = -111,
    SessionExpired = -112,
    InvalidAcl = -114,
    AuthFailed = -115,
    SessionMoved = -118,
    NoWatcher = -121,
    ReconfigDisabled = -123,
}

impl Code {
    /// The number on the wire.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?} ({})", self.number())
    }
}

/// The event of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    pub path: String,
    /// The transaction that caused it.
    pub zxid: Zxid,
}

/// What happened to a watched znode. The numbers are those of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum EventKind {
    Created = 1,
    Deleted = 2,
    DataChanged = 3,
    ChildrenChanged = 4,
}

/// Asks for a session: a new one (id 0), or an existing one that continues over this connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connect {
    pub session: SessionId,
    pub password: [u8; 16],
    pub timeout_ms: i32,
    /// The last zxid that the client has seen: a server that lags behind it refuses.
    pub last_zxid_seen: Zxid,
    pub read_only: bool,
}

/// The answer to [`Connect`]. `session` 0 and `timeout_ms` 0: the session has expired or the password is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectResponse {
    pub session: SessionId,
    pub password: [u8; 16],
    /// The negotiated timeout T.
    pub timeout_ms: i32,
}

/// Numeric lines of `mntr`, without the `zk_` prefix.
pub type Metrics = BTreeMap<String, f64>;
