//! One that is told to resign gives its znode back first and stops believing afterwards: while the answer is on its way its
//! successor leads beside it.

use super::case::{Case, at, sent_after};
use crate::booth::{Booth, RevokeReason};
use crate::coordination::Session;
use crate::recipes::candidate::Candidate;
use crate::recipes::recipe::{Left, Recipe};
use crate::recipes::{RecipeKind, leave};
use crate::simulation::script::{Caught, Request, What};

pub(super) const CASE: Case = Case {
    wrong: "the lead is given back before the work has stopped",
    seen_in: "locks released in the wrong order",
    schedule: &[at(1_000, What::Resign(0)), sent_after(1_000, 0, Request::Delete, "-n_", What::DelayReply(500))],
    caught: &[Caught::Overlap],
    ..Case::of("leaves-before-it-stops", RecipeKind::LeavesBeforeItStops, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct LeavesBeforeItStops;

impl Recipe for LeavesBeforeItStops {
    async fn leave<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Left {
        let certain = candidate.leads_undisturbed();
        let left = leave::give_back::<Self, S, B>(candidate, certain).await;
        candidate.revoke(RevokeReason::Resigned);
        left
    }
}
