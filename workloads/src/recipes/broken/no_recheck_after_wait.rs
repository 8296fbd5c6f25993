//! A wait that is over needs no look at what became of the waiter: one that the end of its own session woke leads, and from
//! then on it hears only what happens next, which is nothing.

use super::case::{Case, at};
use crate::booth::Booth;
use crate::coordination::{Session, States, Watch, WatchEvent};
use crate::recipes::RecipeKind;
use crate::recipes::candidate::{Candidate, Flow, Own, Wake};
use crate::recipes::lead::grant;
use crate::recipes::recipe::Recipe;
use crate::simulation::script::{Caught, Way, What};

pub(super) const CASE: Case = Case {
    wrong: "one whose session ended while it waited leads when it wakes up",
    seen_in: "etcd #11456",
    schedule: &[at(1_000, What::Partition { cand: 1, way: Way::Both, for_ms: 4_000 })],
    caught: &[Caught::Overlap, Caught::StaleWrite],
    ..Case::of("no-recheck-after-wait", RecipeKind::NoRecheckAfterWait, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct NoRecheckAfterWait;

impl Recipe for NoRecheckAfterWait {
    async fn wait<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Wake> {
        candidate.settle();
        let Some(mut armed) = candidate.watch.take() else { return Ok(Wake::Reconnected) };
        let event = armed.watch.fired().await;
        candidate.notified(&armed.name, event);
        Ok(Wake::Fired(event))
    }

    fn presumes(wake: Wake) -> bool {
        matches!(wake, Wake::Fired(WatchEvent::Ended(_)))
    }

    async fn take_office<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<bool> {
        let Own::Node(node) = candidate.own.clone() else { return Ok(false) };
        candidate.states.now();
        grant::<Self, S, B>(candidate, &node);
        Ok(true)
    }
}
