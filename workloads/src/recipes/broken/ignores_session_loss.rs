//! A leader that ignores every signal. It believes on through disconnects, deletion of its znode and the end of its
//! session, while the ensemble elects another one. It gives up 3 T after the end, so that a run ends.

use super::prelude::*;

/// How long it goes on after its session ended, in multiples of T.
const DEAF_FOR_T: u64 = 3;

pub(super) const CASE: Case = Case {
    wrong: "the leader's work goes on when its session has ended",
    seen_in: "kazoo's Election, libkv #156",
    schedule: &[at(1_000, Action::Partition { cand: 0, way: Direction::Both, for_ms: 4_000 })],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("ignores-session-loss", RecipeKind::IgnoresSessionLoss, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for IgnoresSessionLoss {
    async fn hold_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<()> {
        let end = loop {
            if let SessionState::Ended(end) = candidate.states.changed().await {
                break end;
            }
        };
        let deaf_ns = DEAF_FOR_T * candidate.session.timeout_ms() * 1_000_000;
        candidate.host.sleep_until(candidate.host.now() + deaf_ns).await;
        candidate.revoke(RevokeReason::SessionEnded);
        Err(Departure::SessionEnded(end))
    }
}
