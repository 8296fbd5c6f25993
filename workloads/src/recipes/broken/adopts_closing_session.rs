//! A znode with the own guid counts as the own znode, whichever session owns it. The guid belongs to the candidate, not
//! to the incarnation. A candidate that returns soon adopts its previous incarnation's znode, which is about to go.

use super::case::{Case, Caught, at};
use crate::coordination::{Session, Stat};
use crate::host::Host;
use crate::recipes::candidate::Candidate;
use crate::recipes::kind::RecipeKind;
use crate::recipes::names;
use crate::recipes::own::Own;
use crate::recipes::steps::Steps;
use crate::schedule::Action;

pub(super) const CASE: Case = Case {
    wrong: "a lookup by guid adopts the znode of a session that is about to end",
    seen_in: "CURATOR-498",
    schedule: &[
        at(1_000, Action::Crash { cand: 0, for_ms: Some(300) }),
        // It is notified later than the others that the adopted znode is gone.
        at(2_000, Action::Slow { cand: 0, by_ms: 150 }),
    ],
    caught: &[Caught::Overlap],
    ..Case::of("adopts-closing-session", RecipeKind::AdoptsClosingSession, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct AdoptsClosingSession;

impl<S: Session, H: Host> Steps<S, H> for AdoptsClosingSession {
    fn begin(&self, candidate: &mut Candidate<'_, S, H>) {
        candidate.guid = names::guid(u64::from(candidate.host.number()), u64::from(candidate.host.candidate()));
        candidate.own = Own::Maybe;
    }

    fn owns(&self, _session: &S, _stat: Stat) -> bool {
        true
    }
}
