//! One in five of those who are woken never comes to look at the queue: what told it was lost within its own process. Most of the
//! time nothing is seen of it.

use super::case::{Case, Caught, ROTATION};
use crate::coordination::Session;
use crate::host::Host;
use crate::recipes::candidate::{Candidate, Flow, Wake};
use crate::recipes::kind::RecipeKind;
use crate::recipes::steps::Steps;

pub(super) const CASE: Case = Case {
    wrong: "now and then nobody takes over a lead, and nothing ever will",
    seen_in: "clients that drop events when their queue is full, or their listener throws",
    schedule: &ROTATION,
    caught: &[Caught::Absent],
    ..Case::of("misses-now-and-then", RecipeKind::MissesNowAndThen, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct MissesNowAndThen;

/// Whether this is the one in five.
pub(super) fn is_missed<H: Host>(host: &H) -> bool {
    host.draw().is_multiple_of(5)
}

impl Steps for MissesNowAndThen {
    async fn wait<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Flow<Wake> {
        let wake = candidate.wait().await?;
        if matches!(wake, Wake::Fired(_)) && is_missed(candidate.host) {
            // Only an order ends this.
            std::future::pending::<()>().await;
        }
        Ok(wake)
    }
}
