//! Everyone watches the head of the queue though the recipe promises to wake one: nothing is unsafe, and the herd is back.

use super::case::{Case, at};
use crate::recipes::RecipeKind;
use crate::recipes::recipe::Recipe;
use crate::simulation::script::{Caught, What};

pub(super) const CASE: Case = Case {
    wrong: "every loss of a leader wakes all others where one was promised",
    seen_in: "recipes that watch the election or its head",
    schedule: &[at(1_000, What::Resign(0)), at(3_000, What::Resign(1)), at(5_000, What::Resign(2))],
    caught: &[Caught::FanOut],
    ..Case::of("wakes-everybody", RecipeKind::WakesEverybody, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct WakesEverybody;

impl Recipe for WakesEverybody {
    fn watched(_place: usize) -> usize {
        0
    }
}
