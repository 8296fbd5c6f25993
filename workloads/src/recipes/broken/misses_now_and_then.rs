//! One in five woken candidates never lists the queue: the notification was lost within its own process. Most of the
//! time there is no visible effect.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "now and then nobody takes over a lead, and nothing ever will",
    seen_in: "clients that drop events when their queue is full, or their listener throws",
    schedule: &ROTATION,
    caught: &[FindingKind::Absent],
    ..Case::of("misses-now-and-then", RecipeKind::MissesNowAndThen, RecipeKind::PredecessorWatch)
};

/// Whether this is the one in five. Its queue number decides, so that it differs in each five successive leaders.
pub(super) fn is_missed<S: Session, H: Host>(candidate: &Candidate<'_, S, H>) -> bool {
    matches!(&candidate.own, OwnZnodeState::Node(node) if node.name().ends_with(['3', '8']))
}

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for MissesNowAndThen {
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        let wake = candidate.wait().await?;
        if matches!(wake, Wake::Fired(_)) && is_missed(candidate) {
            // Only an order ends this.
            std::future::pending::<()>().await;
        }
        Ok(wake)
    }
}
