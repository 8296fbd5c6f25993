//! The reaction to a notification continues after the order to leave. It misses its znode, which has just been deleted,
//! and creates a new one, which is never deleted.

use futures::future::select;
use std::pin::pin;

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "a notification that is still being dealt with makes the znode anew after it was given back",
    seen_in: "CURATOR-3",
    schedule: &[
        at(1_000, Action::Resign(0)),
        sent_after(1_000, 1, ScheduledRequest::Children, "", Action::Resign(1)),
        at(3_000, Action::Resign(2)),
    ],
    caught: &[FindingKind::Leaderless, FindingKind::Orphan],
    ..Case::of("recreates-after-close", RecipeKind::RecreatesAfterClose, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for RecreatesAfterClose {
    async fn leave(&self, candidate: &mut Candidate<'_, S, H>) -> DeletionTimes {
        let under_way = candidate.unsettled;
        let certain = candidate.leads_undisturbed();
        candidate.revoke(RevokeReason::Resigned);
        let left = self.give_back(candidate, certain).await;
        if under_way {
            let (host, timeout_ms) = (candidate.host, candidate.session.timeout_ms());
            let until = host.now() + timeout_ms * 1_000_000;
            select(pin!(queue::create(candidate)), pin!(host.sleep_until(until))).await;
        }
        left
    }
}
