//! One in five woken candidates misses the notification, and lists the queue when a timer fires. Without the timer the
//! wake-up would be lost for good. With it the bug becomes a slow success that is not investigated.

use async_trait::async_trait;

use super::case::{Case, Caught, ROTATION};
use super::misses_now_and_then::is_missed;
use crate::coordination::Session;
use crate::host::Host;
use crate::recipes::candidate::{Candidate, Flow, Wake};
use crate::recipes::kind::RecipeKind;
use crate::recipes::steps::Steps;

pub(super) const CASE: Case = Case {
    wrong: "now and then a lead is taken over seconds late",
    seen_in: "recipes that were given a timer, since now and then nobody took over",
    schedule: &ROTATION,
    caught: &[Caught::Late],
    ..Case::of("guards-by-timer", RecipeKind::GuardsByTimer, RecipeKind::PredecessorWatch)
};

const TIMER_MS: u64 = 2_000;

pub(in crate::recipes) struct GuardsByTimer;

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for GuardsByTimer {
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> Flow<Wake> {
        let wake = candidate.wait().await?;
        if matches!(wake, Wake::Fired(_)) && is_missed(candidate) {
            candidate.pause(TIMER_MS).await?;
        }
        Ok(wake)
    }
}
