//! The time after which a session counts as lost starts when the loss of the connection is noticed. It should start at
//! the ensemble's last contact, so the ensemble's time ends first.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "a whole T is counted from when the loss of the connection was seen",
    seen_in: "CURATOR-460",
    schedule: &[at(1_000, Action::Partition { cand: 0, way: Direction::Both, for_ms: 4_000 })],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("timer-from-suspended", RecipeKind::TimerFromSuspended, RecipeKind::PredecessorWatch)
};

impl<S: Session, H: Host> Steps<S, H> for TimerFromSuspended {
    fn step_down_delay_ns(&self, _policy: StepDown, timeout_ms: u64) -> Option<Nanos> {
        Some(timeout_ms * 1_000_000)
    }
}
