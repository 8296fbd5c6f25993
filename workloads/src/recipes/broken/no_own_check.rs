//! Nothing checks whether the own znode still exists. The place in the queue is the number of lower znodes, and a
//! missing own znode has none below it either.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "one whose znode is gone counts those before it and leads when there are none",
    seen_in: "go-zk's Lock",
    // It has to list once more when its znode is gone, so that a recipe that looks for its own znode can notice that.
    schedule: &[
        sent(1, ScheduledRequest::Children, "", 1, Action::DeleteNode(1)),
        sent(1, ScheduledRequest::Get, "-n_", 1, Action::Disconnect(1)),
        at(1_000, Action::Resign(0)),
    ],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("no-own-check", RecipeKind::NoOwnCheck, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for NoOwnCheck {
    fn place(&self, queue: &[String], own: &str) -> Option<usize> {
        let own = names::sequence(own)?;
        Some(queue.iter().filter(|name| names::sequence(name).is_some_and(|number| number < own)).count())
    }

    async fn take_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<bool> {
        let OwnZnodeState::Node(node) = candidate.own.clone() else { return Ok(false) };
        self.grant(candidate, &node);
        Ok(true)
    }
}
