//! A write of the breadcrumb whose answer was lost is repeated unchanged. The first one took effect, so the second one
//! finds another version and takes it for another leader's. The lock is released, again and again.

use super::prelude::*;
use crate::host::Predecessor;
use crate::recipes::breadcrumb::{self, BreadcrumbWrite};

/// As many tries as fit into the run, of each candidate.
const TRIES: u32 = 16;
const CANDIDATES: u32 = 3;
const STEPS: usize = 1 + (CANDIDATES * TRIES) as usize;

pub(super) const CASE: Case = Case {
    wrong: "a write whose answer was lost is repeated, and what it did itself is taken for another's",
    seen_in: "Hadoop's ActiveStandbyElector",
    schedule: &SCHEDULE,
    caught: &[FindingKind::Leaderless],
    ..Case::of("breadcrumb-retry", RecipeKind::BreadcrumbRetry, RecipeKind::LockRace)
};

/// A proxy that loses the answers of all first writes, for the whole run.
const SCHEDULE: [Step; STEPS] = {
    let mut steps = [at(1_000, Action::Expire(0)); STEPS];
    let mut i = 0;
    while i < CANDIDATES * TRIES {
        // Every second write is a repetition.
        let nth = 1 + 2 * (i / CANDIDATES);
        steps[1 + i as usize] = sent(i % CANDIDATES, ScheduledRequest::Set, names::BREADCRUMB, nth, Action::LoseReply);
        i += 1;
    }
    steps
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for BreadcrumbRetry {
    async fn write_breadcrumb(
        &self,
        candidate: &mut Candidate<'_, S, H>,
        me: &Predecessor,
        version: Option<i32>,
    ) -> StepResult<BreadcrumbWrite> {
        match breadcrumb::write(candidate, me, version).await? {
            BreadcrumbWrite::LookAgain => match breadcrumb::write(candidate, me, version).await? {
                BreadcrumbWrite::LookAgain => {
                    Ok(BreadcrumbWrite::Rejoin("the breadcrumb was not written a second time".into()))
                }
                written => Ok(written),
            },
            written => Ok(written),
        }
    }
}
