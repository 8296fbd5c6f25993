//! The leader writes its leadership into its own znode. Candidates that watch that znode for its deletion are also
//! woken by the change of its data.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "a new leader wakes the next in line by writing into its own znode",
    seen_in: "recipes that publish the leader's address where it is watched",
    schedule: &[at(1_000, Action::Resign(0)), at(3_000, Action::Resign(1)), at(5_000, Action::Resign(2))],
    caught: &[FindingKind::FanOut],
    ..Case::of("announces-itself", RecipeKind::AnnouncesItself, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for AnnouncesItself {
    async fn take_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<bool> {
        if let OwnZnodeState::Node(node) = candidate.own.clone() {
            let (session, text) = (candidate.session, format!("{} leads", candidate.identity()));
            candidate.ask(session.set(&node.path, text.as_bytes(), None)).await?;
        }
        let Some(node) = self.check_owner(candidate).await? else { return Ok(false) };
        self.grant(candidate, &node);
        Ok(true)
    }
}
