//! The sequence numbers are sorted as text. That is their order as long as they have ten digits each. Beyond the end of
//! the counter they start with a minus, which sorts before every digit.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "the first one beyond the end of the counter takes itself for the first of all",
    seen_in: "names sorted as they are",
    // Three have joined when the counter reaches its end; of two that join again at once, the second goes beyond it.
    schedule: &[
        sent(0, ScheduledRequest::Create, "-n_", 1, Action::CountFrom(i32::MAX - 2)),
        at(1_000, Action::Resign(1)),
        at(1_000, Action::Resign(2)),
    ],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("sorts-as-text", RecipeKind::SortsAsText, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for SortsAsText {
    async fn in_order(
        &self,
        _candidate: &mut Candidate<'_, S, H>,
        mut names: Vec<String>,
    ) -> StepResult<Option<Vec<String>>> {
        names.retain(|name| names::sequence(name).is_some());
        names.sort_by(|a, b| number(a).cmp(number(b)));
        Ok(Some(names))
    }
}

fn number(name: &str) -> &str {
    name.rsplit('_').next().unwrap_or(name)
}
