//! A follower notified that its predecessor is gone goes on sleeping, and lists the queue when its sleep ends.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "the next leader is told at once, and leads seconds later",
    seen_in: "recipes that only note what a watch tells, and look at it in a loop of their own",
    schedule: &[at(1_000, Action::Resign(0)), at(7_000, Action::Resign(1)), at(13_000, Action::Resign(2))],
    caught: &[FindingKind::Late],
    ..Case::of("sleeps-through-notification", RecipeKind::SleepsThroughNotification, RecipeKind::PredecessorWatch)
};

const SLEEPS_MS: u64 = 3_000;

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for SleepsThroughNotification {
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        let wake = candidate.wait().await?;
        if let Wake::Fired(_) = wake {
            candidate.pause(SLEEPS_MS).await?;
        }
        Ok(wake)
    }
}
