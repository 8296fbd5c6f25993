//! Every woken candidate reads all candidates' znodes before it looks for its place: the cost grows with the group.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "a wake-up causes a read of every candidate where a list and a watch were promised",
    seen_in: "recipes that look for the leader's address among all znodes",
    schedule: &[at(1_000, Action::Resign(0)), at(3_000, Action::Resign(1)), at(5_000, Action::Resign(2))],
    caught: &[FindingKind::FanOut],
    ..Case::of("reads-everybody", RecipeKind::ReadsEverybody, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for ReadsEverybody {
    async fn in_order(
        &self,
        candidate: &mut Candidate<'_, S, H>,
        names: Vec<String>,
    ) -> StepResult<Option<Vec<String>>> {
        let session = candidate.session;
        for name in &names {
            let path = format!("{}/{name}", candidate.election.path);
            candidate.ask(session.get(&path)).await?;
        }
        queue::in_order(candidate, names).await
    }
}
