//! The seam: all that a recipe sees of ZooKeeper. Recipes are written once, generic over [`Session`], and cannot tell a
//! real ensemble from a model. A host is single-threaded, so nothing here is `Send`.

pub use hustings_record::{SessionEnd, SessionState, WatchEvent};

/// How a znode is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// Stays until it is deleted.
    Persistent,
    /// Deleted by the ensemble when the session that created it ends.
    Ephemeral,
    /// Ephemeral, with a number from the parent's counter appended to the name.
    EphemeralSequential,
    /// Persistent, but the ensemble may remove it once its last child is gone.
    Container,
}

/// What a failed operation says about its effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// The ensemble answered no: the operation had no effect.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// The connection was lost before the answer: the operation may have taken effect, and may still do so.
    #[error("unknown outcome: the connection was lost")]
    Unknown,
    /// The session is over. Its ephemerals are gone or about to go; operations in flight may have taken effect before.
    #[error("the session has ended: {0:?}")]
    Ended(SessionEnd),
}

/// Why the ensemble refused an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("no such znode")]
    NoNode,
    #[error("the znode exists")]
    NodeExists,
    #[error("another version")]
    BadVersion,
    #[error("the znode has children")]
    NotEmpty,
    #[error("{0}")]
    Other(String),
}

/// Metadata of a znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// zxid of the transaction that created it: unique in the ensemble's life, and the ordering part of a fencing token.
    pub czxid: i64,
    /// Version of its data.
    pub version: i32,
    /// Session that owns it; 0 when it is not ephemeral.
    pub ephemeral_owner: i64,
}

/// A created znode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedZnode {
    /// Its full path, with the sequence number if it has one.
    pub path: String,
    pub czxid: i64,
}

/// One step of an all-or-nothing transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Check { path: String, version: i32 },
    Create { path: String, data: Vec<u8>, mode: CreateMode },
    Set { path: String, data: Vec<u8>, version: Option<i32> },
    Delete { path: String, version: Option<i32> },
}

/// A one-shot watch that is armed. Dropping it disarms it.
#[expect(async_fn_in_trait, reason = "a host is single-threaded: its futures need no Send")]
pub trait Watch {
    /// Waits until it fires or the session ends. A lost connection does not end it.
    /// Cancel-safe: a future that is dropped before it is ready loses nothing.
    async fn fired(&mut self) -> WatchEvent;
}

/// A subscription to the states of one session.
#[expect(async_fn_in_trait, reason = "a host is single-threaded: its futures need no Send")]
pub trait States {
    /// The state now; what was not waited for is skipped.
    fn now(&mut self) -> SessionState;
    /// Waits for a state after the last one seen here. Never ends after an ended state was seen. Cancel-safe.
    async fn changed(&mut self) -> SessionState;
}

/// One ZooKeeper session. A request is in flight once its future was polled. The future waits for the answer; dropping
/// it after that takes nothing back. Operations of one session take effect in the order in which they were sent.
#[expect(async_fn_in_trait, reason = "a host is single-threaded: its futures need no Send")]
pub trait Session {
    type Watch: Watch;
    type States: States;

    /// The session id, as `ephemeralOwner` shows it.
    fn id(&self) -> i64;
    /// The negotiated session timeout T, in milliseconds.
    fn timeout_ms(&self) -> u64;
    fn states(&self) -> Self::States;
    /// How many requests this handle of the session has sent so far.
    fn requests(&self) -> u64;

    async fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<CreatedZnode, OpError>;
    /// `version` `None` deletes any version.
    async fn delete(&self, path: &str, version: Option<i32>) -> Result<(), OpError>;
    /// Names (not paths) of the children, in no order.
    async fn children(&self, path: &str) -> Result<Vec<String>, OpError>;
    /// The watch fires on the first child created or deleted, and on the znode's own deletion.
    async fn children_and_watch(&self, path: &str) -> Result<(Vec<String>, Self::Watch), OpError>;
    async fn exists(&self, path: &str) -> Result<Option<Stat>, OpError>;
    /// Arms a watch even where there is no znode.
    async fn exists_and_watch(&self, path: &str) -> Result<(Option<Stat>, Self::Watch), OpError>;
    async fn get(&self, path: &str) -> Result<(Vec<u8>, Stat), OpError>;
    /// Arms no watch where there is no znode (`NoNode`).
    async fn get_and_watch(&self, path: &str) -> Result<(Vec<u8>, Stat, Self::Watch), OpError>;
    async fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat, OpError>;
    /// All or nothing.
    async fn multi(&self, ops: Vec<Op>) -> Result<(), OpError>;
    /// Waits until the server this session is connected to has caught up with the ensemble's leader.
    async fn sync(&self, path: &str) -> Result<(), OpError>;
}
