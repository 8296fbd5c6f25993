//! A leaving candidate deletes its znode once. If that fails, it assumes that the znode is gone. Its session continues,
//! and the znode stays at the head of the queue.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "the deletion on release fails, the session goes on, and the znode keeps the lead",
    seen_in: "CURATOR-202",
    schedule: &[
        at(1_000, Action::Resign(0)),
        sent_after(1_000, 0, ScheduledRequest::Delete, "-n_", Action::LoseRequest),
    ],
    caught: &[FindingKind::Leaderless, FindingKind::Orphan],
    ..Case::of("leaves-on-failed-release", RecipeKind::LeavesOnFailedRelease, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for LeavesOnFailedRelease {
    async fn delete_own(&self, candidate: &mut Candidate<'_, S, H>, _certain: bool) -> StepResult<DeletionTimes> {
        let OwnZnodeState::Node(node) = std::mem::replace(&mut candidate.own, OwnZnodeState::None) else {
            return Ok(None);
        };
        let (session, sent) = (candidate.session, candidate.host.now());
        match candidate.ask(session.delete(&node.path, None)).await? {
            OperationAnswer::Lost => candidate.note("the answer to the deletion of its znode was lost: taken for gone"),
            OperationAnswer::Ok(()) | OperationAnswer::Refused(_) => candidate.drop_own_watch(node.name()).await,
        }
        Ok(Some((sent, candidate.host.now())))
    }
}
