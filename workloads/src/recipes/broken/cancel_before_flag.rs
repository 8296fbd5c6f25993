//! The lead is acquired in one place and believed in another. What cancels it in between finds nobody who leads, and nobody
//! looks whether there was a cancellation before the flag is set.

use super::case::{Case, at};
use crate::booth::Booth;
use crate::coordination::{Session, States};
use crate::recipes::RecipeKind;
use crate::recipes::candidate::{Candidate, Flow};
use crate::recipes::lead::{check_owner, grant};
use crate::recipes::recipe::Recipe;
use crate::simulation::script::{Caught, What};

/// From the acquisition to the flag, as a part of T: the worker's thread has to be given a turn.
const HANDED_OVER_PER_T: u64 = 4;

pub(super) const CASE: Case = Case {
    wrong: "a cancellation between acquiring the lead and setting the flag is lost",
    seen_in: "CURATOR-54 and CURATOR-518",
    schedule: &[at(1_000, What::Resign(0)), at(1_100, What::Expire(1))],
    caught: &[Caught::Overlap],
    ..Case::of("cancel-before-flag", RecipeKind::CancelBeforeFlag, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct CancelBeforeFlag;

impl Recipe for CancelBeforeFlag {
    async fn take_office<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<bool> {
        let Some(node) = check_owner::<Self, S, B>(candidate).await? else { return Ok(false) };
        // Those who work like this do not watch their own znode.
        candidate.own_watch = None;
        let booth = candidate.booth;
        booth.sleep_until(booth.now() + candidate.session.timeout_ms() * 1_000_000 / HANDED_OVER_PER_T).await;
        // The listener was told, and there was no flag to clear.
        candidate.states.now();
        grant::<Self, S, B>(candidate, &node);
        Ok(true)
    }
}
