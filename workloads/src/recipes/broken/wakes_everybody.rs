//! Everyone watches the head of the queue, though the recipe promises to wake one. This is safe, but the herd is back.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "every loss of a leader wakes all others where one was promised",
    seen_in: "recipes that watch the election or its head",
    schedule: &[at(1_000, Action::Resign(0)), at(3_000, Action::Resign(1)), at(5_000, Action::Resign(2))],
    caught: &[FindingKind::FanOut],
    ..Case::of("wakes-everybody", RecipeKind::WakesEverybody, RecipeKind::PredecessorWatch)
};

impl<S: Session, H: Host> Steps<S, H> for WakesEverybody {
    fn predecessor(&self, _place: usize) -> usize {
        0
    }
}
