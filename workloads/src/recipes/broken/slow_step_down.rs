//! The work before a step-down takes longer than the leader's session lives. In the meantime another candidate leads,
//! possibly in the same process.

use super::prelude::*;

/// The duration of that work, in halves of T.
const TAKES_HALF_T: u64 = 3;

pub(super) const CASE: Case = Case {
    wrong: "stepping down takes longer than T, and the next one leads before it is done",
    seen_in: "Druid #17546",
    schedule: &[at(1_000, Action::Partition { cand: 0, way: Direction::Both, for_ms: 4_000 })],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("slow-step-down", RecipeKind::SlowStepDown, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for SlowStepDown {
    async fn step_down(&self, candidate: &mut Candidate<'_, S, H>) {
        let takes_ns = TAKES_HALF_T * candidate.session.timeout_ms() * 1_000_000 / 2;
        candidate.host.sleep_until(candidate.host.now() + takes_ns).await;
        candidate.revoke(RevokeReason::SteppedDown);
    }
}
