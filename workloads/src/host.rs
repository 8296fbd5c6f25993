//! The other seam: all that a candidate sees of its host. It gives the time, keeps the record, starts and stops the leader's
//! work, fences others, and hands over orders. The harness implements it over the real thing, a simulation over virtual time.

pub use hustings_record::{Departure, Event, Nanos, RevokeReason, Token};

/// What a candidate can be told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Give the lead (or the place in the queue) back. The host decides whether and when it stands again.
    Resign,
    /// End cleanly.
    Stop,
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
pub trait Host {
    fn now(&self) -> Nanos;
    /// Nanoseconds of a clock that people and NTP set: it may jump either way. Only a broken recipe goes by it; a host that
    /// leaves its clock alone has none to show but the other.
    fn wall_now(&self) -> Nanos {
        self.now()
    }
    /// Waits until the clock shows `at` or more.
    async fn sleep_until(&self, at: Nanos);
    /// Number of this candidate in its cell.
    fn candidate(&self) -> u32;
    /// Number of this host in its cell.
    fn number(&self) -> u16;
    /// A fresh number for a guid, from the run's seed and this process.
    fn draw(&self) -> u64;
    /// Writes into the host's segment. What is written through has reached the kernel when this returns.
    fn record(&self, event: Event);
    /// From now on (until `None`) the leader's work goes on in this candidate's name with this token.
    fn believe(&self, token: Option<Token>);
    /// Waits until no write of this candidate's work is under way: what it sent in a term may reach the resource until it is
    /// answered, whatever becomes of the belief meanwhile.
    async fn work_done(&self);
    /// Makes sure that `old` cannot act any more, by the cell's fencing method. Err: it could not be made sure.
    async fn fence(&self, old: &Predecessor, new: Token) -> Result<(), String>;
    /// The candidate has just seen that it leads by ZooKeeper's word, and does not believe it yet. What lies in wait for that
    /// hits here.
    async fn won(&self) {}
    /// Waits for the next order. Cancel-safe; an order that nobody waits for is kept.
    async fn order(&self) -> Order;
}
