//! A follower that watches nothing: it polls its predecessor. A check that expects a wake-up does not see one.

use async_trait::async_trait;

use super::case::{Case, Caught, at};
use crate::coordination::Session;
use crate::host::Host;
use crate::recipes::candidate::{Candidate, Flow, Wake};
use crate::recipes::kind::RecipeKind;
use crate::recipes::steps::Steps;
use crate::schedule::Action;

pub(super) const CASE: Case = Case {
    wrong: "followers poll where they declare to watch, and wake up late and for nothing",
    seen_in: "recipes for clients without watches",
    schedule: &[at(1_000, Action::Resign(0))],
    caught: &[Caught::Absent],
    ..Case::of("looks-now-and-then", RecipeKind::LooksNowAndThen, RecipeKind::PredecessorWatch)
};

const LOOKS_EVERY_MS: u64 = 300;

pub(in crate::recipes) struct LooksNowAndThen;

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for LooksNowAndThen {
    async fn watch(&self, candidate: &mut Candidate<'_, S, H>, _name: &str) -> Flow<bool> {
        candidate.rearm(None);
        Ok(true)
    }

    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> Flow<Wake> {
        candidate.settle();
        candidate.pause(LOOKS_EVERY_MS).await?;
        Ok(Wake::Reconnected)
    }
}
