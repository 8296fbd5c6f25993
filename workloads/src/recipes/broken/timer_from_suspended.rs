//! The time after which a session counts as lost begins when the loss of the connection is seen, and not when the ensemble last
//! heard of it: the ensemble is through first.

use super::case::{Case, at};
use crate::booth::Nanos;
use crate::recipes::recipe::Recipe;
use crate::recipes::{RecipeKind, StepDown};
use crate::simulation::script::{Caught, Way, What};

pub(super) const CASE: Case = Case {
    wrong: "a whole T is counted from when the loss of the connection was seen",
    seen_in: "CURATOR-460",
    schedule: &[at(1_000, What::Partition { cand: 0, way: Way::Both, for_ms: 4_000 })],
    caught: &[Caught::Overlap, Caught::StaleWrite],
    ..Case::of("timer-from-suspended", RecipeKind::TimerFromSuspended, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct TimerFromSuspended;

impl Recipe for TimerFromSuspended {
    fn step_down_delay_ns(_policy: StepDown, timeout_ms: u64) -> Option<Nanos> {
        Some(timeout_ms * 1_000_000)
    }
}
