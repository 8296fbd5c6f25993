//! A follower that watches nothing: it polls its predecessor. A check that expects a wake-up does not see one.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "followers poll where they declare to watch, and wake up late and for nothing",
    seen_in: "recipes for clients without watches",
    schedule: &[at(1_000, Action::Resign(0))],
    caught: &[FindingKind::Absent],
    ..Case::of("looks-now-and-then", RecipeKind::LooksNowAndThen, RecipeKind::PredecessorWatch)
};

const LOOKS_EVERY_MS: u64 = 300;

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for LooksNowAndThen {
    async fn watch(&self, candidate: &mut Candidate<'_, S, H>, _name: &str) -> StepResult<bool> {
        candidate.rearm(None);
        Ok(true)
    }

    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        candidate.settle();
        candidate.pause(LOOKS_EVERY_MS).await?;
        Ok(Wake::Reconnected)
    }
}
