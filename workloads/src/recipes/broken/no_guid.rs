//! A create whose answer was lost is simply made again. The first one took effect, and its znode stays in the queue until it is
//! at the head, where nobody knows it for its own.

use super::case::{Case, at, sent};
use crate::booth::Booth;
use crate::coordination::Session;
use crate::recipes::RecipeKind;
use crate::recipes::candidate::{Candidate, Flow, Own};
use crate::recipes::recipe::Recipe;
use crate::simulation::script::{Caught, Request, What};

pub(super) const CASE: Case = Case {
    wrong: "a create whose answer was lost is made again without looking for the first",
    seen_in: "the note on guids in ZooKeeper's recipes, CURATOR-45",
    schedule: &[sent(1, Request::Create, "-n_", 1, What::LoseReply), at(1_000, What::Resign(0))],
    caught: &[Caught::Leaderless, Caught::Orphan],
    ..Case::of("no-guid", RecipeKind::NoGuid, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct NoGuid;

impl Recipe for NoGuid {
    async fn recover<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
        candidate.own = Own::None;
        Ok(())
    }
}
