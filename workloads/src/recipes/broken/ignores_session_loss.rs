//! A leader that nobody interrupts: it believes on through disconnects, deletion of its znode and the end of its session,
//! while the ensemble elects another one. It gives up 3 T after the end, so that a run ends.

use super::case::{Case, at};
use crate::booth::{Booth, Departure, RevokeReason};
use crate::coordination::{Session, SessionState, States};
use crate::recipes::RecipeKind;
use crate::recipes::candidate::{Candidate, Flow};
use crate::recipes::recipe::Recipe;
use crate::simulation::script::{Caught, Way, What};

/// How long it goes on after its session ended, in multiples of T.
const DEAF_FOR_T: u64 = 3;

pub(super) const CASE: Case = Case {
    wrong: "the leader's work goes on when its session has ended",
    seen_in: "kazoo's Election, libkv #156",
    schedule: &[at(1_000, What::Partition { cand: 0, way: Way::Both, for_ms: 4_000 })],
    caught: &[Caught::Overlap, Caught::StaleWrite],
    ..Case::of("ignores-session-loss", RecipeKind::IgnoresSessionLoss, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct IgnoresSessionLoss;

impl Recipe for IgnoresSessionLoss {
    async fn hold_office<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
        let end = loop {
            if let SessionState::Ended(end) = candidate.states.changed().await {
                break end;
            }
        };
        let deaf_ns = DEAF_FOR_T * candidate.session.timeout_ms() * 1_000_000;
        candidate.booth.sleep_until(candidate.booth.now() + deaf_ns).await;
        candidate.revoke(RevokeReason::SessionEnded);
        Err(Departure::SessionEnded(end))
    }
}
