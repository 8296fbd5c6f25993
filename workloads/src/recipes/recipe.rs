//! What a recipe is made of. The pieces given here are those of predecessor-watch: a recipe says only what it does otherwise,
//! and so does a broken one.

use std::convert::Infallible;

use super::breadcrumb::{self, Written};
use super::candidate::{Answer, Candidate, Flow, Node, Wake};
use super::step_down::StepDown;
use super::{lead, leave, lock, names, queue};
use crate::booth::{Booth, Nanos, Predecessor, RevokeReason, Token};
use crate::coordination::{Created, Session, Stat};

/// When the deletion of the own znode was first sent and when it was answered; `None`: there was nothing to delete.
pub(super) type Left = Option<(Nanos, Nanos)>;

pub(super) trait Recipe: Sized {
    /// Stands until the incarnation ends by itself.
    async fn stand<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Infallible> {
        queue::stand::<Self, S, B>(candidate).await
    }

    // ---- the queue

    /// Asks for a znode in the queue.
    async fn create<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Answer<Created>> {
        queue::create(candidate).await
    }

    /// Finds out what became of a create whose answer was lost. Afterwards the own znode is known, or known to be absent, or
    /// the question has to be put again.
    async fn recover<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
        queue::recover::<Self, S, B>(candidate).await
    }

    /// The candidates' names among these, first in the queue first.
    fn in_order(names: Vec<String>) -> Vec<String> {
        names::queue_order(names)
    }

    /// The place of the own name in the queue; `None`: it is not there.
    fn place(queue: &[String], own: &str) -> Option<usize> {
        queue.iter().position(|name| name == own)
    }

    /// Which place a candidate at this place (above 0) watches.
    fn watched(place: usize) -> usize {
        place - 1
    }

    /// Arms the watch on another candidate's znode; false when the queue has to be listed again.
    async fn watch<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>, name: &str) -> Flow<bool> {
        queue::watch(candidate, name).await
    }

    /// Waits until there is reason to look at the queue again.
    async fn wait<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Wake> {
        candidate.wait().await
    }

    /// Whether being woken is ground enough to lead, without a look at the queue.
    fn presumes(_wake: Wake) -> bool {
        false
    }

    // ---- the lock

    /// Whether a lock that was read is this candidate's.
    fn holds<S: Session, B: Booth>(candidate: &Candidate<'_, S, B>, data: &[u8], stat: Stat) -> bool {
        lock::is_own(candidate, data, stat)
    }

    /// Leaves the own name in the breadcrumb, if it still has this version; `None`: if there is none.
    async fn write_breadcrumb<S: Session, B: Booth>(
        candidate: &mut Candidate<'_, S, B>,
        me: &Predecessor,
        version: Option<i32>,
    ) -> Flow<Written> {
        breadcrumb::write(candidate, me, version).await
    }

    // ---- the office

    /// Whether a znode with the own name, or the own czxid, is this session's.
    fn owns<S: Session>(session: &S, stat: Stat) -> bool {
        stat.ephemeral_owner == session.id()
    }

    fn token(node: &Node, session: i64) -> Token {
        Token { czxid: node.czxid, session }
    }

    /// The owner check, then the grant. False: it may not lead now.
    async fn take_office<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<bool> {
        lead::take_office::<Self, S, B>(candidate).await
    }

    /// Believes until something ends it.
    async fn hold_office<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
        lead::hold_office::<Self, S, B>(candidate).await
    }

    /// How long after it saw the loss of the connection a leader steps down, in nanoseconds; `None`: not before its session
    /// ends.
    fn step_down_delay_ns(policy: StepDown, timeout_ms: u64) -> Option<Nanos> {
        policy.delay_ns(timeout_ms)
    }

    /// Waits for that long.
    async fn step_down_timer<B: Booth>(booth: &B, delay_ns: Nanos) {
        booth.sleep_until(booth.now() + delay_ns).await;
    }

    /// Gives up a belief that the step-down policy has ended.
    async fn step_down<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) {
        candidate.revoke(RevokeReason::SteppedDown);
    }

    // ---- the end

    /// Gives the lead or the place in the queue back, by order.
    async fn leave<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Left {
        let certain = candidate.leads_undisturbed();
        candidate.revoke(RevokeReason::Resigned);
        leave::give_back::<Self, S, B>(candidate, certain).await
    }

    /// Deletes the own znode, if there is one. `certain`: it is known to be its own still.
    async fn delete_own<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>, certain: bool) -> Flow<Left> {
        leave::delete_own::<Self, S, B>(candidate, certain).await
    }
}

/// Leads if the own znode is proven to be its own, until the belief ends. On return the recipe looks at the world afresh.
pub(super) async fn lead<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
    if R::take_office(candidate).await? { R::hold_office(candidate).await } else { Ok(()) }
}
