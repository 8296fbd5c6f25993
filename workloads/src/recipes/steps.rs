//! The steps that recipes are made of. Each recipe's own file tells in which order they are taken; how each is done is given
//! here. A broken recipe is a sound one that takes a step otherwise.

use std::convert::Infallible;

use hustings_record::StepDown;

use super::breadcrumb::{self, Written};
use super::candidate::{Answer, Candidate, Flow, Wake};
use super::declares::Declares;
use super::leave::{self, Left};
use super::lock::{self, Attempt};
use super::office::{self, Ended};
use super::own::Node;
use super::queue::{self, Queue};
use crate::coordination::{Created, Session, Stat};
use crate::host::{Host, Nanos, Predecessor, RevokeReason, Token};

/// An algorithm: stands until the incarnation ends by itself, taking its steps as `T` takes them.
pub(super) trait Recipe: Declares {
    async fn run<T: Steps, S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<Infallible>;
}

/// Every step as it should be taken.
pub(super) struct Sound;

impl Steps for Sound {}

/// Whoever waits, waits long, and there are many: what comes before a wait is boxed here, so that a waiting candidate holds no
/// room for it.
pub(super) trait Steps: Sized {
    /// What it brings along when it begins to stand.
    fn begin<S: Session, H: Host>(_candidate: &mut Candidate<'_, S, H>) {}

    /// Finds out what became of a create whose answer was lost. Afterwards the own znode is known, or known to be absent, or
    /// the question has to be put again.
    async fn recover<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<()> {
        if candidate.election.recipe.is_lock() {
            lock::recover(candidate, Self::holds).await
        } else {
            queue::recover(candidate, Self::owns).await
        }
    }

    // ---- the queue

    /// Sees to it that it has a znode of its own in the queue.
    async fn enrol<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<()> {
        Box::pin(queue::enrol(candidate, Self::create, Self::recover)).await
    }

    /// Asks for a znode in the queue.
    async fn create<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<Answer<Created>> {
        queue::create(candidate).await
    }

    /// The queue and its own place in it; `None` when it has to be looked at again.
    async fn list<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<Option<Queue>> {
        Box::pin(queue::list(candidate, Self::in_order, Self::place)).await
    }

    /// The candidates' names among these, first in the queue first; `None` when the queue has to be looked at again.
    async fn in_order<S: Session, H: Host>(
        candidate: &mut Candidate<'_, S, H>,
        names: Vec<String>,
    ) -> Flow<Option<Vec<String>>> {
        queue::in_order(candidate, names).await
    }

    /// The place of the own name in the queue; `None`: it is not there.
    fn place(queue: &[String], own: &str) -> Option<usize> {
        queue.iter().position(|name| name == own)
    }

    /// The place before its own, which is not the first.
    fn predecessor(place: usize) -> usize {
        place - 1
    }

    /// Arms the watch on another candidate's znode; false when the queue has to be listed again.
    async fn watch<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, name: &str) -> Flow<bool> {
        Box::pin(queue::watch(candidate, name)).await
    }

    /// Waits until there is reason to look at the queue again.
    async fn wait<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<Wake> {
        candidate.wait().await
    }

    /// Whether being woken is ground enough to lead, without a look at the queue.
    fn presumes(_wake: Wake) -> bool {
        false
    }

    // ---- the lock

    /// Tries to take the lock.
    async fn take_lock<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<Attempt> {
        lock::attempt(candidate, Self::recover).await
    }

    /// Whether a lock that was read is this candidate's.
    fn holds<S: Session, H: Host>(candidate: &Candidate<'_, S, H>, data: &[u8], stat: Stat) -> bool {
        lock::is_own(candidate, data, stat)
    }

    /// Leaves the own name in the breadcrumb, if it still has this version; `None`: if there is none.
    async fn write_breadcrumb<S: Session, H: Host>(
        candidate: &mut Candidate<'_, S, H>,
        me: &Predecessor,
        version: Option<i32>,
    ) -> Flow<Written> {
        breadcrumb::write(candidate, me, version).await
    }

    // ---- the office

    /// Leads if the own znode is proven to be its own, until the belief ends. On return the recipe looks at the world afresh.
    async fn lead<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<()> {
        Box::pin(async {
            if Self::take_office(candidate).await? { Self::hold_office(candidate).await } else { Ok(()) }
        })
        .await
    }

    /// The owner check, then the grant. False: it may not lead now.
    async fn take_office<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<bool> {
        let Some(node) = Self::check_owner(candidate).await? else { return Ok(false) };
        Self::grant(candidate, &node);
        Ok(true)
    }

    /// The own znode, if it is proven to be there and its own.
    async fn check_owner<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<Option<Node>> {
        office::check_owner(candidate, Self::owns).await
    }

    /// Whether a znode with the own name, or the own czxid, is this session's.
    fn owns<S: Session>(session: &S, stat: Stat) -> bool {
        stat.ephemeral_owner == session.id()
    }

    /// Says that it leads from now on, then believes it.
    fn grant<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, node: &Node) {
        let token = Self::token(node, candidate.session.id());
        office::grant(candidate, node, token);
    }

    fn token(node: &Node, session: i64) -> Token {
        Token { czxid: node.czxid, session }
    }

    /// Believes until something ends it.
    async fn hold_office<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<()> {
        let host = candidate.host;
        let delay_ns = Self::step_down_delay_ns(candidate.election.step_down, candidate.session.timeout_ms());
        let timer = |delay_ns| Self::step_down_timer(host, delay_ns);
        match office::hold(candidate, Self::owns, delay_ns, timer).await? {
            Ended::Deposed => {}
            Ended::Overdue => Self::step_down(candidate).await,
        }
        Ok(())
    }

    /// How long after it saw the loss of the connection a leader steps down, in nanoseconds; `None`: not before its session
    /// ends.
    fn step_down_delay_ns(policy: StepDown, timeout_ms: u64) -> Option<Nanos> {
        policy.delay_ns(timeout_ms)
    }

    /// Waits for that long.
    async fn step_down_timer<H: Host>(host: &H, delay_ns: Nanos) {
        host.sleep_until(host.now() + delay_ns).await;
    }

    /// Gives up a belief that the step-down policy has ended.
    async fn step_down<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) {
        candidate.revoke(RevokeReason::SteppedDown);
    }

    // ---- the end

    /// Gives the lead or the place in the queue back, by order.
    async fn leave<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Left {
        let certain = candidate.leads_undisturbed();
        candidate.revoke(RevokeReason::Resigned);
        Self::give_back(candidate, certain).await
    }

    /// Waits until nothing of its terms is under way any more.
    async fn work_done<H: Host>(host: &H) {
        host.work_done().await;
    }

    /// Gives back what it has, for good and in bounded time. `certain`: it is known to be its own still.
    async fn give_back<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, certain: bool) -> Left {
        let work_done = Self::work_done(candidate.host);
        leave::give_back(candidate, work_done, async |candidate| Self::delete_own(candidate, certain).await).await
    }

    /// Deletes the own znode, if there is one.
    async fn delete_own<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, certain: bool) -> Flow<Left> {
        leave::delete_own(candidate, certain, Self::recover).await
    }
}
