//! The queue is ordered by sequence number, ties by guid. At the end of its range the counter repeats the same number,
//! or gives a negative one: a newcomer takes itself for the first.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "newcomers lead beside the leader once the counter has come to its end",
    seen_in: "queues in the order of their numbers, on servers whose counter sticks at its end",
    // Of two that join again at once, the second goes beyond the end.
    schedule: &[
        sent(0, ScheduledRequest::Create, "-n_", 1, Action::CountFrom(i32::MAX - 2)),
        at(1_000, Action::Resign(1)),
        at(1_000, Action::Resign(2)),
    ],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("trusts-numbers", RecipeKind::TrustsNumbers, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for TrustsNumbers {
    async fn in_order(
        &self,
        _candidate: &mut Candidate<'_, S, H>,
        names: Vec<String>,
    ) -> StepResult<Option<Vec<String>>> {
        Ok(Some(names::by_number(names)))
    }
}
