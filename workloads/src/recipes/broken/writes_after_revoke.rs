//! A candidate ordered to resign reports so at once, but lets its work run on for a while. The work ends before another
//! can lead. There are neither two leaders nor a stale write, but a candidate that does not lead still acts.

use super::prelude::*;
use crate::host::Event;

/// How long it works on.
const WORKS_ON_MS: u64 = 700;

pub(super) const CASE: Case = Case {
    wrong: "the work goes on after the lead is over",
    seen_in: "leaders whose workers are told last",
    schedule: &[at(1_000, Action::Resign(0))],
    caught: &[FindingKind::StrayWrite],
    ..Case::of("writes-after-revoke", RecipeKind::WritesAfterRevoke, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for WritesAfterRevoke {
    async fn leave(&self, candidate: &mut Candidate<'_, S, H>) -> DeletionTimes {
        let certain = candidate.leads_undisturbed();
        if let Some(term) = candidate.term.take() {
            let reason = RevokeReason::Resigned;
            candidate.record(|t, cand, session| Event::Revoke { from: t, to: t, cand, session, term, reason });
            candidate.host.sleep_until(candidate.host.now() + WORKS_ON_MS * 1_000_000).await;
            candidate.host.believe(None);
        }
        self.give_back(candidate, certain).await
    }
}
