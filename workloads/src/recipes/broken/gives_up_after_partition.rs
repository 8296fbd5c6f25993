//! A follower that is cut off assumes its end: it leaves for good, without reporting it.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "whoever was cut off never stands again, and the others go on as if it had never been there",
    seen_in: "elections that are started once, at the start of the program",
    schedule: &[at(1_000, Action::Partition { cand: 1, way: Direction::Both, for_ms: 3_000 })],
    caught: &[FindingKind::Absent],
    ..Case::of("gives-up-after-partition", RecipeKind::GivesUpAfterPartition, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for GivesUpAfterPartition {
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        match candidate.wait().await {
            Ok(Wake::Reconnected) | Err(Departure::SessionEnded(_)) => Err(Departure::Stopped),
            woken => woken,
        }
    }
}
