//! The step-down policy's time is measured by the wall clock. When the clock is set back, the time does not end.

use super::prelude::*;

/// Interval between looks at the clock.
const LOOK_MS: u64 = 10;

pub(super) const CASE: Case = Case {
    wrong: "a clock that is set back keeps a leader without a connection from stepping down",
    seen_in: "leases by the time of day",
    schedule: &[
        at(1_000, Action::Partition { cand: 0, way: Direction::Both, for_ms: 5_000 }),
        // The loss is noticed after 0.4 T, and half a T later it would step down.
        at(2_100, Action::SetClockBack { cand: 0, by_ms: 3_600_000 }),
    ],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    step_down: StepDown::After(0.5),
    ..Case::of("wall-clock-timer", RecipeKind::WallClockTimer, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for WallClockTimer {
    /// Ends with the leadership at the latest: the client gives up its session by a monotonic clock.
    async fn step_down_timer(&self, host: &H, delay_ns: Nanos) {
        let until = host.wall_now() + delay_ns;
        while host.wall_now() < until {
            host.sleep_until(host.now() + LOOK_MS * 1_000_000).await;
        }
    }
}
