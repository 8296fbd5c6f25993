//! The work begins when the own znode is the first in the queue, before the owner check. Most of the time the check
//! then succeeds, and nothing bad happens.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "the leader's work begins before the owner check",
    seen_in: "leaders that start their services while they are being elected",
    schedule: &[at(1_000, Action::Resign(0))],
    caught: &[FindingKind::StrayWrite],
    ..Case::of("writes-before-grant", RecipeKind::WritesBeforeGrant, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for WritesBeforeGrant {
    async fn take_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<bool> {
        let (OwnZnodeState::Node(node), session) = (candidate.own.clone(), candidate.session.id()) else {
            return Ok(false);
        };
        candidate.host.believe(Some(Steps::<S, H>::token(self, &node, session)));
        let checked = self.check_owner(candidate).await;
        if let Ok(Some(node)) = &checked {
            self.grant(candidate, node);
        } else {
            candidate.host.believe(None);
        }
        checked.map(|node| node.is_some())
    }

    /// If it is ordered to leave in the middle of that, it has to stop work that no revoke reports.
    async fn work_done(&self, host: &H) {
        host.believe(None);
        host.work_done().await;
    }
}
