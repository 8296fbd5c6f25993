//! The steps of recipes. Each recipe's own file defines their order; this file defines each step. A broken recipe is a
//! sound one with a changed step.
//!
//! Steps are called through `dyn Steps`, so that a recipe is compiled once and not once for each broken one. Many
//! candidates wait for long: a step is boxed while it runs, and a waiting candidate holds no memory for other steps.

use std::convert::Infallible;

use async_trait::async_trait;
use hustings_record::StepDown;

use super::breadcrumb::{self, BreadcrumbWrite};
use super::candidate::{Candidate, OperationAnswer, StepResult, Wake};
use super::declares::RecipeDeclaration;
use super::departure::{self, DeletionTimes};
use super::leadership::{self, LeadershipEnd};
use super::lock::{self, Attempt};
use super::own_znode::OwnNode;
use super::queue::{self, Queue};
use crate::coordination::{CreatedZnode, Session, Stat};
use crate::host::{Host, Nanos, Predecessor, RevokeReason, Token};

/// An algorithm: takes part with these steps until the incarnation ends by itself.
pub(super) trait Recipe: RecipeDeclaration {
    async fn run<S: Session, H: Host>(
        candidate: &mut Candidate<'_, S, H>,
        steps: &dyn Steps<S, H>,
    ) -> StepResult<Infallible>;
}

/// The correct form of every step.
pub(super) struct CorrectSteps;

impl<S: Session, H: Host> Steps<S, H> for CorrectSteps {}

/// Steps of any kind as a trait object, because a provided method cannot coerce `self` to one.
pub(super) trait AsDyn<S: Session, H: Host> {
    fn as_dyn(&self) -> &dyn Steps<S, H>;
}

impl<S: Session, H: Host, T: Steps<S, H>> AsDyn<S, H> for T {
    fn as_dyn(&self) -> &dyn Steps<S, H> {
        self
    }
}

/// The steps; the defaults are correct.
#[async_trait(?Send)]
pub(super) trait Steps<S: Session, H: Host>: AsDyn<S, H> {
    /// Preparation before the candidate first enrols.
    fn begin(&self, _candidate: &mut Candidate<'_, S, H>) {}

    /// Resolves a create whose answer was lost. Afterwards the own znode is known, or known to be absent, or the
    /// question must be repeated.
    async fn recover(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<()> {
        recover(candidate, self.as_dyn()).await
    }

    // ---- the queue

    /// Makes sure that the candidate has its own znode in the queue.
    async fn enrol(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<()> {
        enrol(candidate, self.as_dyn()).await
    }

    /// Creates a znode in the queue.
    async fn create(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<OperationAnswer<CreatedZnode>> {
        queue::create(candidate).await
    }

    /// The queue and its own place in it; `None` when it must be listed again.
    async fn list(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Option<Queue>> {
        list(candidate, self.as_dyn()).await
    }

    /// The candidates' names among these, in queue order; `None` when the queue must be listed again.
    async fn in_order(
        &self,
        candidate: &mut Candidate<'_, S, H>,
        names: Vec<String>,
    ) -> StepResult<Option<Vec<String>>> {
        queue::in_order(candidate, names).await
    }

    /// The place of the own name in the queue; `None` if it is missing.
    fn place(&self, queue: &[String], own: &str) -> Option<usize> {
        queue.iter().position(|name| name == own)
    }

    /// The place before the own one, which is not the first.
    fn predecessor(&self, place: usize) -> usize {
        place - 1
    }

    /// Arms the watch on another candidate's znode; false when the queue has to be listed again.
    async fn watch(&self, candidate: &mut Candidate<'_, S, H>, name: &str) -> StepResult<bool> {
        queue::watch(candidate, name).await
    }

    /// Waits until there is a reason to list the queue again.
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        candidate.wait().await
    }

    /// Whether a wake-up alone is reason enough to lead, without listing the queue.
    fn presumes(&self, _wake: Wake) -> bool {
        false
    }

    // ---- the lock

    /// Tries to take the lock.
    async fn take_lock(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Attempt> {
        take_lock(candidate, self.as_dyn()).await
    }

    /// Whether a lock that was read is this candidate's.
    fn holds(&self, candidate: &Candidate<'_, S, H>, data: &[u8], stat: Stat) -> bool {
        lock::is_own(candidate, data, stat)
    }

    /// Writes the own name to the breadcrumb, if it still has this version; `None`: if there is none.
    async fn write_breadcrumb(
        &self,
        candidate: &mut Candidate<'_, S, H>,
        me: &Predecessor,
        version: Option<i32>,
    ) -> StepResult<BreadcrumbWrite> {
        breadcrumb::write(candidate, me, version).await
    }

    // ---- the leadership

    /// Leads until the belief ends, if the owner check confirms the own znode. Then the recipe starts from current
    /// state.
    async fn lead(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<()> {
        if self.take_leadership(candidate).await? { self.hold_leadership(candidate).await } else { Ok(()) }
    }

    /// The owner check, then the grant. False: it may not lead now.
    async fn take_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<bool> {
        let Some(node) = self.check_owner(candidate).await? else { return Ok(false) };
        self.grant(candidate, &node);
        Ok(true)
    }

    /// The own znode, if the owner check confirms it.
    async fn check_owner(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Option<OwnNode>> {
        check_owner(candidate, self.as_dyn()).await
    }

    /// Whether a znode with the own name, or the own czxid, is this session's.
    fn owns(&self, session: &S, stat: Stat) -> bool {
        stat.ephemeral_owner == session.id()
    }

    /// Records the grant, then believes it.
    fn grant(&self, candidate: &mut Candidate<'_, S, H>, node: &OwnNode) {
        let token = self.token(node, candidate.session.id());
        leadership::grant(candidate, node, token);
    }

    fn token(&self, node: &OwnNode, session: i64) -> Token {
        Token { czxid: node.czxid, session }
    }

    /// Believes until something ends it.
    async fn hold_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<()> {
        hold_leadership(candidate, self.as_dyn()).await
    }

    /// The delay from noticing the loss of the connection to the step-down of a leader, in nanoseconds; `None`: not
    /// before its session ends.
    fn step_down_delay_ns(&self, policy: StepDown, timeout_ms: u64) -> Option<Nanos> {
        policy.delay_ns(timeout_ms)
    }

    /// Waits for `delay_ns`.
    async fn step_down_timer(&self, host: &H, delay_ns: Nanos) {
        host.sleep_until(host.now() + delay_ns).await;
    }

    /// Ends a belief when the step-down policy requires it.
    async fn step_down(&self, candidate: &mut Candidate<'_, S, H>) {
        candidate.revoke(RevokeReason::SteppedDown);
    }

    // ---- the end

    /// Releases the lead or the place in the queue, by order.
    async fn leave(&self, candidate: &mut Candidate<'_, S, H>) -> DeletionTimes {
        let certain = candidate.leads_undisturbed();
        candidate.revoke(RevokeReason::Resigned);
        self.give_back(candidate, certain).await
    }

    /// Waits until no write of its terms is in flight.
    async fn work_done(&self, host: &H) {
        host.work_done().await;
    }

    /// Releases all that it holds, for good and in bounded time. `certain`: it is known to be its own still.
    async fn give_back(&self, candidate: &mut Candidate<'_, S, H>, certain: bool) -> DeletionTimes {
        give_back(candidate, self.as_dyn(), certain).await
    }

    /// Deletes the own znode, if there is one.
    async fn delete_own(&self, candidate: &mut Candidate<'_, S, H>, certain: bool) -> StepResult<DeletionTimes> {
        delete_own(candidate, self.as_dyn(), certain).await
    }
}

// Steps that call others. They are outside the trait, because its provided methods are compiled for each kind of steps.

async fn recover<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, steps: &dyn Steps<S, H>) -> StepResult<()> {
    if candidate.election.recipe.is_lock() {
        lock::recover(candidate, |candidate, data, stat| steps.holds(candidate, data, stat)).await
    } else {
        queue::recover(candidate, |session, stat| steps.owns(session, stat)).await
    }
}

async fn enrol<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, steps: &dyn Steps<S, H>) -> StepResult<()> {
    let create = async |candidate: &mut Candidate<'_, S, H>| steps.create(candidate).await;
    queue::enrol(candidate, create, async |candidate| steps.recover(candidate).await).await
}

async fn list<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    steps: &dyn Steps<S, H>,
) -> StepResult<Option<Queue>> {
    let in_order =
        async |candidate: &mut Candidate<'_, S, H>, names: Vec<String>| steps.in_order(candidate, names).await;
    queue::list(candidate, in_order, |queue, own| steps.place(queue, own)).await
}

async fn take_lock<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    steps: &dyn Steps<S, H>,
) -> StepResult<Attempt> {
    lock::attempt(candidate, async |candidate| steps.recover(candidate).await).await
}

async fn check_owner<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    steps: &dyn Steps<S, H>,
) -> StepResult<Option<OwnNode>> {
    leadership::check_owner(candidate, |session, stat| steps.owns(session, stat)).await
}

async fn hold_leadership<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    steps: &dyn Steps<S, H>,
) -> StepResult<()> {
    let host = candidate.host;
    let delay_ns = steps.step_down_delay_ns(candidate.election.step_down, candidate.session.timeout_ms());
    let timer = |delay_ns| steps.step_down_timer(host, delay_ns);
    match leadership::hold(candidate, |session, stat| steps.owns(session, stat), delay_ns, timer).await? {
        LeadershipEnd::Deposed => {}
        LeadershipEnd::Overdue => steps.step_down(candidate).await,
    }
    Ok(())
}

async fn give_back<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    steps: &dyn Steps<S, H>,
    certain: bool,
) -> DeletionTimes {
    let work_done = steps.work_done(candidate.host);
    departure::give_back(candidate, work_done, async |candidate| steps.delete_own(candidate, certain).await).await
}

async fn delete_own<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    steps: &dyn Steps<S, H>,
    certain: bool,
) -> StepResult<DeletionTimes> {
    departure::delete_own(candidate, certain, async |candidate| steps.recover(candidate).await).await
}
