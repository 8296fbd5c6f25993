//! The other seam: all that a candidate sees of its host. The host gives the time, keeps the record, runs the leader's
//! work, fences others, and delivers orders. The harness implements it with processes, a simulation in virtual time.

pub use hustings_record::{Departure, Event, Nanos, RevokeReason, Token};

/// An order to a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Release the lead (or the place in the queue). The host decides whether and when the candidate enrols again.
    Resign,
    /// End cleanly.
    Stop,
}

/// The previous leader, as a lock recipe finds it in the breadcrumb.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Predecessor {
    pub host: u16,
    pub candidate: u32,
    pub token: Token,
}

/// One candidate's slot on its host.
#[expect(async_fn_in_trait, reason = "a host is single-threaded: its futures need no Send")]
pub trait Host {
    fn now(&self) -> Nanos;
    /// Nanoseconds of a clock that people and NTP set: it may jump in both directions. Only a broken recipe uses it. A
    /// host that does not step its clock returns `now()`.
    fn wall_now(&self) -> Nanos {
        self.now()
    }
    /// Waits until the clock shows `at` or more.
    async fn sleep_until(&self, at: Nanos);
    /// Number of this candidate in its cell.
    fn candidate(&self) -> u32;
    /// Number of this host in its cell.
    fn number(&self) -> u16;
    /// A new number for a guid, from the run's seed and this process.
    fn draw(&self) -> u64;
    /// Writes into the host's segment. An event that is written through has reached the kernel when this returns.
    fn record(&self, event: Event);
    /// From now on (until `None`) the leader's work runs in this candidate's name with this token.
    fn believe(&self, token: Option<Token>);
    /// Waits until no write of this candidate is in flight. A write sent in a term may reach the resource until it is
    /// answered, even after the belief has ended.
    async fn work_done(&self);
    /// Makes sure that `old` cannot act any more, by the cell's fencing method. `Err`: this is not certain.
    async fn fence(&self, old: &Predecessor, new: Token) -> Result<(), String>;
    /// Called when the candidate has learned from ZooKeeper that it leads, before it believes so. This is the sync
    /// point for faults on a winner.
    async fn won(&self) {}
    /// Waits for the next order. Cancel-safe; an order that arrives without a waiter is kept.
    async fn order(&self) -> Order;
}
