//! A znode that bears the own guid is taken for the own znode, whichever session it belongs to. The guid is the candidate's and
//! not the incarnation's, so that one that comes back soon adopts the znode of its last life, which is about to go.

use std::convert::Infallible;

use super::case::{Case, at};
use crate::booth::Booth;
use crate::coordination::{Session, Stat};
use crate::recipes::candidate::{Candidate, Flow, Own};
use crate::recipes::recipe::Recipe;
use crate::recipes::{RecipeKind, names, queue};
use crate::simulation::script::{Caught, What};

pub(super) const CASE: Case = Case {
    wrong: "a lookup by guid adopts the znode of a session that is about to end",
    seen_in: "CURATOR-498",
    schedule: &[
        at(1_000, What::Crash { cand: 0, for_ms: Some(300) }),
        // It hears later than the others that the adopted znode has gone.
        at(2_000, What::Slow { cand: 0, by_ms: 150 }),
    ],
    caught: &[Caught::Overlap],
    ..Case::of("adopts-closing-session", RecipeKind::AdoptsClosingSession, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct AdoptsClosingSession;

impl Recipe for AdoptsClosingSession {
    async fn stand<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Infallible> {
        candidate.guid = names::guid(u64::from(candidate.booth.host()), u64::from(candidate.booth.candidate()));
        candidate.own = Own::Maybe;
        queue::stand::<Self, S, B>(candidate).await
    }

    fn owns<S: Session>(_session: &S, _stat: Stat) -> bool {
        true
    }
}
