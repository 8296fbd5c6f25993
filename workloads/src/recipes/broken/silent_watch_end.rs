//! A leader that learns of its end only by the watch on its own znode. Any other event than the deletion also ends that
//! watch, and after it the leader notices nothing.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "the watch on the own znode ends with the session, and the leader takes no notice",
    seen_in: "go-leaderelection",
    schedule: &[at(1_000, Action::Partition { cand: 0, way: Direction::Both, for_ms: 4_000 })],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("silent-watch-end", RecipeKind::SilentWatchEnd, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for SilentWatchEnd {
    async fn hold_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<()> {
        let (OwnZnodeState::Node(node), Some(mut watch)) = (candidate.own.clone(), candidate.own_watch.take()) else {
            return Ok(());
        };
        let event = watch.fired().await;
        candidate.notified(node.name(), event);
        if event != WatchEvent::Deleted {
            // Only an order ends this.
            std::future::pending::<()>().await;
        }
        candidate.revoke(RevokeReason::Deposed);
        candidate.deposed(&node).await
    }
}
