//! The other seam: all that a candidate sees of its host. It gives the time, takes reports for the record, starts and
//! stops the leader's work, fences others, and hands over orders. The harness implements it over the real thing, a
//! simulation over virtual time.

use crate::coordination::{SessionEnd, WatchEvent};

/// Nanoseconds of a monotonic clock that all hosts of one machine share.
pub type Nanos = u64;

/// Fencing token of a term. Ordered by `czxid` first: later znodes have larger ones, in one ensemble's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Token {
    /// czxid of the candidate's (or the lock's) znode.
    pub czxid: i64,
    /// The session that owns it: the incarnation.
    pub session: i64,
}

/// Why a belief ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevokeReason {
    /// It was asked to resign, or to stop.
    Resigned,
    /// The step-down policy spoke while the connection was lost.
    SteppedDown,
    /// The session ended.
    SessionEnded,
    /// Its znode is gone, or belongs to another session.
    Deposed,
    /// The election itself was deleted.
    ElectionDeleted,
}

/// What a candidate tells its host. `Grant` and `Revoke` must have reached the kernel when the report returns.
#[derive(Clone, Debug, PartialEq)]
pub enum Report<'a> {
    /// It stands: queue recipes with a znode of their own and its czxid, lock recipes without.
    Joined { node: Option<&'a str>, czxid: Option<i64> },
    /// It is about to believe that it leads. `at` was stamped before.
    Grant { at: Nanos, term: u32, token: Token, node: &'a str },
    /// It believes since `at`, stamped after.
    Granted { at: Nanos, term: u32 },
    /// It stopped believing between `from` and `to`.
    Revoke { from: Nanos, to: Nanos, term: u32, reason: RevokeReason },
    /// A watch fired. `node` is the name (not the path) of the watched znode.
    Notified { at: Nanos, node: &'a str, event: WatchEvent },
    /// All that the notification, or joining, caused is done: its watch is armed and it waits, or it leads.
    Settled,
    /// Something worth knowing that is not an event of the protocol (an unknown create, a zombie found and deleted …).
    Note { text: &'a str },
}

/// What a candidate can be told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Give the lead (or the place in the queue) back. The host decides whether and when it stands again.
    Resign,
    /// End cleanly.
    Stop,
}

/// How a candidate's incarnation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Departure {
    /// By order. `left` tells when the znode's deletion was sent and when it was answered, if there was one to delete.
    Resigned {
        left: Option<(Nanos, Nanos)>,
    },
    Stopped,
    /// Its session ended under it.
    SessionEnded(SessionEnd),
    /// The election was deleted: everybody is told and ends.
    ElectionDeleted,
    /// It cannot go on (an error the recipe has no answer to).
    Failed(String),
}

/// Who led before, as a lock recipe finds it in the breadcrumb.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Predecessor {
    pub host: u16,
    pub candidate: u32,
    pub token: Token,
}

/// One candidate's place on its host.
#[expect(async_fn_in_trait, reason = "a host is single-threaded: its futures need no Send")]
pub trait Booth {
    fn now(&self) -> Nanos;
    /// Nanoseconds of a clock that people and NTP set: it may jump either way. Only a broken recipe goes by it; a host that
    /// leaves its clock alone has none to show but the other.
    fn wall_now(&self) -> Nanos {
        self.now()
    }
    /// Waits until the clock shows `at` or more.
    async fn sleep_until(&self, at: Nanos);
    /// Number of this candidate in its cell, and of its host.
    fn candidate(&self) -> u32;
    fn host(&self) -> u16;
    /// A fresh number for a guid, from the run's seed and this process.
    fn draw(&self) -> u64;
    fn report(&self, report: Report<'_>);
    /// From now on (until `None`) the leader's work goes on in this candidate's name with this token.
    fn believe(&self, token: Option<Token>);
    /// Makes sure that `old` cannot act any more, by the cell's fencing method. Err: it could not be made sure.
    async fn fence(&self, old: &Predecessor, new: Token) -> Result<(), String>;
    /// Waits for the next order. Cancel-safe; an order that nobody waits for is kept.
    async fn order(&self) -> Order;
}
