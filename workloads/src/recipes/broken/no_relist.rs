//! "My predecessor died, so I lead": predecessor-watch without the re-list. When a candidate in the middle of the queue goes,
//! its follower leads beside the leader.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "one whose predecessor went leads without looking who else is before it",
    seen_in: "the classic mistake",
    schedule: &[at(1_000, Action::Crash { cand: 1, for_ms: Some(500) })],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("no-relist", RecipeKind::NoRelist, RecipeKind::PredecessorWatch)
};

impl<S: Session, H: Host> Steps<S, H> for NoRelist {
    fn presumes(&self, wake: Wake) -> bool {
        wake == Wake::Fired(WatchEvent::Deleted)
    }
}
