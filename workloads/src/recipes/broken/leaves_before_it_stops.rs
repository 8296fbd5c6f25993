//! A candidate ordered to resign gives its znode back first and stops believing afterwards. While the answer is in
//! flight, its successor leads beside it.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "the lead is given back before the work has stopped",
    seen_in: "locks released in the wrong order",
    schedule: &[
        at(1_000, Action::Resign(0)),
        sent_after(1_000, 0, ScheduledRequest::Delete, "-n_", Action::DelayReply(500)),
    ],
    caught: &[FindingKind::Overlap],
    ..Case::of("leaves-before-it-stops", RecipeKind::LeavesBeforeItStops, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for LeavesBeforeItStops {
    async fn leave(&self, candidate: &mut Candidate<'_, S, H>) -> DeletionTimes {
        let certain = candidate.leads_undisturbed();
        let left = self.give_back(candidate, certain).await;
        candidate.revoke(RevokeReason::Resigned);
        left
    }
}
