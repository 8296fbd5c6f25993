//! A znode with the own guid counts as the own znode, whichever session owns it. The guid belongs to the candidate, not
//! to the incarnation. A candidate that returns soon adopts its previous incarnation's znode, which is about to go.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "a lookup by guid adopts the znode of a session that is about to end",
    seen_in: "CURATOR-498",
    schedule: &[
        at(1_000, Action::Crash { cand: 0, for_ms: Some(300) }),
        // It is notified later than the others that the adopted znode is gone.
        at(2_000, Action::Slow { cand: 0, by_ms: 150 }),
    ],
    caught: &[FindingKind::Overlap],
    ..Case::of("adopts-closing-session", RecipeKind::AdoptsClosingSession, RecipeKind::PredecessorWatch)
};

impl<S: Session, H: Host> Steps<S, H> for AdoptsClosingSession {
    fn begin(&self, candidate: &mut Candidate<'_, S, H>) {
        candidate.guid = names::guid(u64::from(candidate.host.number()), u64::from(candidate.host.candidate()));
        candidate.own = OwnZnodeState::Maybe;
    }

    fn owns(&self, _session: &S, _stat: Stat) -> bool {
        true
    }
}
