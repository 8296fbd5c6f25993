//! "My predecessor died, so I lead": predecessor-watch without the re-list. When a candidate in the middle of the queue goes,
//! its follower leads beside the leader.

use super::case::{Case, at};
use crate::coordination::WatchEvent;
use crate::recipes::RecipeKind;
use crate::recipes::candidate::Wake;
use crate::recipes::recipe::Recipe;
use crate::simulation::script::{Caught, What};

pub(super) const CASE: Case = Case {
    wrong: "one whose predecessor went leads without looking who else is before it",
    seen_in: "the classic mistake",
    schedule: &[at(1_000, What::Crash { cand: 1, for_ms: Some(500) })],
    caught: &[Caught::Overlap, Caught::StaleWrite],
    ..Case::of("no-relist", RecipeKind::NoRelist, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct NoRelist;

impl Recipe for NoRelist {
    fn presumes(wake: Wake) -> bool {
        wake == Wake::Fired(WatchEvent::Deleted)
    }
}
