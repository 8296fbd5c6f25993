//! The step-down policy's time is taken by the wall clock. Somebody sets that back, and the time does not end.

use super::case::{Case, at};
use crate::booth::{Booth, Nanos};
use crate::recipes::recipe::Recipe;
use crate::recipes::{RecipeKind, StepDown};
use crate::simulation::script::{Caught, Way, What};

/// How often it looks at the clock.
const LOOK_MS: u64 = 10;

pub(super) const CASE: Case = Case {
    wrong: "a clock that is set back keeps a leader without a connection from stepping down",
    seen_in: "leases by the time of day",
    schedule: &[
        at(1_000, What::Partition { cand: 0, way: Way::Both, for_ms: 5_000 }),
        // The loss has been seen after 0.4 T, and half a T later it would step down.
        at(2_100, What::SetClockBack { cand: 0, by_ms: 3_600_000 }),
    ],
    caught: &[Caught::Overlap, Caught::StaleWrite],
    step_down: StepDown::After(0.5),
    ..Case::of("wall-clock-timer", RecipeKind::WallClockTimer, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct WallClockTimer;

impl Recipe for WallClockTimer {
    /// Ends with the office at the latest: the client gives its session up by a better clock.
    async fn step_down_timer<B: Booth>(booth: &B, delay_ns: Nanos) {
        let until = booth.wall_now() + delay_ns;
        while booth.wall_now() < until {
            booth.sleep_until(booth.now() + LOOK_MS * 1_000_000).await;
        }
    }
}
