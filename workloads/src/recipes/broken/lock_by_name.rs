//! A lock with the candidate's name counts as its own, whichever session owns it. A candidate that returns soon takes
//! the lock of its previous incarnation for its own, and leads on it until the lock goes.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "a lock that bears its holder's name is taken for its own after a restart",
    seen_in: "locks with a host name in them",
    schedule: &[
        at(1_000, Action::Crash { cand: 0, for_ms: Some(300) }),
        // It is notified later than the others that the lock is gone.
        at(2_000, Action::Slow { cand: 0, by_ms: 150 }),
    ],
    caught: &[FindingKind::Overlap],
    ..Case::of("lock-by-name", RecipeKind::LockByName, RecipeKind::LockRace)
};

impl<S: Session, H: Host> Steps<S, H> for LockByName {
    fn holds(&self, candidate: &Candidate<'_, S, H>, data: &[u8], _stat: Stat) -> bool {
        let name = format!(" {} {}", candidate.host.number(), candidate.host.candidate());
        data.ends_with(name.as_bytes())
    }

    fn owns(&self, _session: &S, _stat: Stat) -> bool {
        true
    }
}
