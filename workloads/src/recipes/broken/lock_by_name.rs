//! The lock is its own when it bears its name, whichever session it belongs to. One that comes back soon takes the lock of its
//! last life for its own, and leads on it until that goes.

use std::convert::Infallible;

use super::case::{Case, at};
use crate::booth::Booth;
use crate::coordination::{Session, Stat};
use crate::recipes::candidate::{Candidate, Flow};
use crate::recipes::recipe::Recipe;
use crate::recipes::{RecipeKind, lock, lock_race};
use crate::simulation::script::{Caught, What};

pub(super) const CASE: Case = Case {
    wrong: "a lock that bears its holder's name is taken for its own after a restart",
    seen_in: "locks with a host name in them",
    schedule: &[
        at(1_000, What::Crash { cand: 0, for_ms: Some(300) }),
        // It hears later than the others that the lock has gone.
        at(2_000, What::Slow { cand: 0, by_ms: 150 }),
    ],
    caught: &[Caught::Overlap],
    ..Case::of("lock-by-name", RecipeKind::LockByName, RecipeKind::LockRace)
};

pub(in crate::recipes) struct LockByName;

impl Recipe for LockByName {
    async fn stand<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Infallible> {
        lock_race::stand::<Self, S, B>(candidate).await
    }

    async fn recover<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
        lock::recover::<Self, S, B>(candidate).await
    }

    fn holds<S: Session, B: Booth>(candidate: &Candidate<'_, S, B>, data: &[u8], _stat: Stat) -> bool {
        let name = format!(" {} {}", candidate.booth.host(), candidate.booth.candidate());
        data.ends_with(name.as_bytes())
    }

    fn owns<S: Session>(_session: &S, _stat: Stat) -> bool {
        true
    }
}
