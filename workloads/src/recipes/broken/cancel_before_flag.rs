//! The lead is acquired in one place and the belief is set in another. A cancellation in between finds no leader, and
//! nothing checks for a cancellation before the flag is set.

use super::prelude::*;

/// The time from the acquisition to the flag, as T divided by this: the worker's thread has to be scheduled.
const HANDED_OVER_PER_T: u64 = 4;

pub(super) const CASE: Case = Case {
    wrong: "a cancellation between acquiring the lead and setting the flag is lost",
    seen_in: "CURATOR-54 and CURATOR-518",
    schedule: &[at(1_000, Action::Resign(0)), at(1_100, Action::Expire(1))],
    caught: &[FindingKind::Overlap],
    ..Case::of("cancel-before-flag", RecipeKind::CancelBeforeFlag, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for CancelBeforeFlag {
    async fn take_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<bool> {
        let Some(node) = self.check_owner(candidate).await? else { return Ok(false) };
        // Recipes of this kind do not watch their own znode.
        candidate.own_watch = None;
        let host = candidate.host;
        host.sleep_until(host.now() + candidate.session.timeout_ms() * 1_000_000 / HANDED_OVER_PER_T).await;
        // The listener was notified, and there was no flag to clear.
        candidate.states.now();
        self.grant(candidate, &node);
        Ok(true)
    }
}
