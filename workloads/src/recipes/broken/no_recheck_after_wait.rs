//! A finished wait does not check what happened to the waiter. A candidate woken by the end of its own session leads.
//! From then on it would only notice later events, and there are none.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "one whose session ended while it waited leads when it wakes up",
    seen_in: "etcd #11456",
    schedule: &[at(1_000, Action::Partition { cand: 1, way: Direction::Both, for_ms: 4_000 })],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("no-recheck-after-wait", RecipeKind::NoRecheckAfterWait, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for NoRecheckAfterWait {
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        candidate.settle();
        let Some(mut armed) = candidate.watch.take() else { return Ok(Wake::Reconnected) };
        let event = armed.watch.fired().await;
        candidate.notified(&armed.name, event);
        Ok(Wake::Fired(event))
    }

    fn presumes(&self, wake: Wake) -> bool {
        matches!(wake, Wake::Fired(WatchEvent::Ended(_)))
    }

    async fn take_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<bool> {
        let OwnZnodeState::Node(node) = candidate.own.clone() else { return Ok(false) };
        candidate.states.now();
        self.grant(candidate, &node);
        Ok(true)
    }
}
