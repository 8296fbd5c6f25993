//! The reaction to a notification that was under way when it was told to go goes on: it misses its znode, which has just been
//! deleted, and makes a new one, which nobody ever deletes.

use std::pin::pin;

use futures::future::select;

use super::case::{Case, at, sent_after};
use crate::booth::Booth;
use crate::coordination::Session;
use crate::recipes::candidate::Candidate;
use crate::recipes::recipe::{Left, Recipe};
use crate::recipes::{RecipeKind, leave, queue};
use crate::simulation::script::{Caught, Request, What};

pub(super) const CASE: Case = Case {
    wrong: "a notification that is still being dealt with makes the znode anew after it was given back",
    seen_in: "CURATOR-3",
    schedule: &[
        at(1_000, What::Resign(0)),
        sent_after(1_000, 1, Request::Children, "", What::Resign(1)),
        at(3_000, What::Resign(2)),
    ],
    caught: &[Caught::Leaderless, Caught::Orphan],
    ..Case::of("recreates-after-close", RecipeKind::RecreatesAfterClose, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct RecreatesAfterClose;

impl Recipe for RecreatesAfterClose {
    async fn leave<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Left {
        let under_way = candidate.unsettled;
        let certain = candidate.leads_undisturbed();
        candidate.revoke(crate::booth::RevokeReason::Resigned);
        let left = leave::give_back::<Self, S, B>(candidate, certain).await;
        if under_way {
            let (booth, timeout_ms) = (candidate.booth, candidate.session.timeout_ms());
            let until = booth.now() + timeout_ms * 1_000_000;
            select(pin!(queue::create(candidate)), pin!(booth.sleep_until(until))).await;
        }
        left
    }
}
