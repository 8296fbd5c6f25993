//! The lock is watched with an exists before the race for it: the losers are woken once more, by the winner's create.

use futures::FutureExt;

use super::prelude::*;
use crate::recipes::lock::{self, Attempt};

pub(super) const CASE: Case = Case {
    wrong: "one loss wakes whoever does not win twice: by the lock's deletion, and by its creation",
    seen_in: "recipes that watch a lock with an exists",
    schedule: &[at(1_000, Action::Resign(0)), at(3_000, Action::Resign(1)), at(5_000, Action::Resign(2))],
    caught: &[FindingKind::FanOut],
    ..Case::of("woken-twice", RecipeKind::WokenTwice, RecipeKind::LockRace)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for WokenTwice {
    async fn take_lock(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Attempt> {
        let (session, path) = (candidate.session, names::lock(&candidate.election.path));
        if !matches!(candidate.own, OwnZnodeState::None) {
            return lock::attempt(candidate, async |candidate| self.recover(candidate).await).await;
        }
        let seen = match candidate.ask(session.exists_and_watch(&path)).await? {
            OperationAnswer::Ok(seen) => Some(seen),
            OperationAnswer::Refused(_) | OperationAnswer::Lost => None,
        };
        let attempt = lock::attempt(candidate, async |candidate| self.recover(candidate).await).await?;
        // The event comes before the answer to the create that it reports.
        if let Some((None, mut watch)) = seen
            && attempt == Attempt::Taken
            && let Some(event) = watch.fired().now_or_never()
        {
            candidate.notified(names::LOCK, event);
        }
        Ok(attempt)
    }
}
