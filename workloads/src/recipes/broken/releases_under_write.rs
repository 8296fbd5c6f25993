//! A candidate ordered to resign does not wait for the answer to its last write, so that write arrives when others
//! lead. On real servers of one machine an answer takes a fraction of a millisecond. The bug then shows only where
//! leaders write all the time.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "the lead is given back while a write is under way, which arrives after the next leader's",
    seen_in: "locks that are released while the work under them is in flight",
    schedule: &[at(800, Action::SlowWrites { cand: 0, by_ms: 500 }), at(1_000, Action::Resign(0))],
    caught: &[FindingKind::StaleWrite, FindingKind::StrayWrite],
    ..Case::of("releases-under-write", RecipeKind::ReleasesUnderWrite, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for ReleasesUnderWrite {
    async fn work_done(&self, _host: &H) {}
}
