//! A create whose answer was lost is simply repeated. The first one took effect, and its znode moves up to the head of
//! the queue, where no candidate recognizes it as its own.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "a create whose answer was lost is made again without looking for the first",
    seen_in: "the note on guids in ZooKeeper's recipes, CURATOR-45",
    schedule: &[sent(1, ScheduledRequest::Create, "-n_", 1, Action::LoseReply), at(1_000, Action::Resign(0))],
    caught: &[FindingKind::Leaderless, FindingKind::Orphan],
    ..Case::of("no-guid", RecipeKind::NoGuid, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for NoGuid {
    async fn recover(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<()> {
        candidate.own = OwnZnodeState::None;
        Ok(())
    }
}
