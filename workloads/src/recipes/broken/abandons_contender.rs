//! An attempt that has waited long enough is given up and repeated. When the deletion of its first znode fails, it
//! is not retried: that znode stays in the queue and gets to its head.

use futures::future::{Either, select};
use std::pin::pin;

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "the clean-up of a try that took too long fails, and its znode stays",
    seen_in: "kazoo #760, zk-ruby #49 and #51",
    schedule: &[sent(1, ScheduledRequest::Delete, "-n_", 1, Action::LoseRequest), at(3_500, Action::Resign(0))],
    caught: &[FindingKind::Leaderless, FindingKind::Orphan],
    ..Case::of("abandons-contender", RecipeKind::AbandonsContender, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for AbandonsContender {
    /// Waits for at most T, then lets the candidate enrol again.
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        let (session, host) = (candidate.session, candidate.host);
        let until = host.now() + session.timeout_ms() * 1_000_000;
        if let Either::Left((wake, _)) = select(pin!(candidate.wait()), pin!(host.sleep_until(until))).await {
            return wake;
        }
        candidate.rearm(None);
        if let OwnZnodeState::Node(node) = std::mem::replace(&mut candidate.own, OwnZnodeState::None)
            && let OperationAnswer::Lost = candidate.ask(session.delete(&node.path, None)).await?
        {
            candidate.note("the clean-up of its try failed");
        }
        Ok(Wake::Reconnected)
    }
}
