//! One in five woken candidates misses the notification, and lists the queue when a timer fires. Without the timer the
//! wake-up would be lost for good. With it the bug becomes a slow success that is not investigated.

use super::misses_now_and_then::is_missed;
use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "now and then a lead is taken over seconds late",
    seen_in: "recipes that were given a timer, since now and then nobody took over",
    schedule: &ROTATION,
    caught: &[FindingKind::Late],
    ..Case::of("guards-by-timer", RecipeKind::GuardsByTimer, RecipeKind::PredecessorWatch)
};

const TIMER_MS: u64 = 2_000;

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for GuardsByTimer {
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        let wake = candidate.wait().await?;
        if matches!(wake, Wake::Fired(_)) && is_missed(candidate) {
            candidate.pause(TIMER_MS).await?;
        }
        Ok(wake)
    }
}
