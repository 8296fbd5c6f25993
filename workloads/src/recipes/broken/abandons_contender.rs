//! A try that has waited long enough is given up and made anew, but when the deletion of the first contender fails nobody tries
//! that again: it stays in the queue and gets to its head.

use std::pin::pin;

use futures::future::{Either, select};

use super::case::{Case, at, sent};
use crate::booth::Booth;
use crate::coordination::Session;
use crate::recipes::RecipeKind;
use crate::recipes::candidate::{Answer, Candidate, Flow, Own, Wake};
use crate::recipes::recipe::Recipe;
use crate::simulation::script::{Caught, Request, What};

pub(super) const CASE: Case = Case {
    wrong: "the clean-up of a try that took too long fails, and its contender stays",
    seen_in: "kazoo #760, zk-ruby #49 and #51",
    schedule: &[sent(1, Request::Delete, "-n_", 1, What::LoseRequest), at(3_500, What::Resign(0))],
    caught: &[Caught::Leaderless, Caught::Orphan],
    ..Case::of("abandons-contender", RecipeKind::AbandonsContender, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct AbandonsContender;

impl Recipe for AbandonsContender {
    /// Waits for T at most, then lets the queue be entered anew.
    async fn wait<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Wake> {
        let (session, booth) = (candidate.session, candidate.booth);
        let until = booth.now() + session.timeout_ms() * 1_000_000;
        if let Either::Left((wake, _)) = select(pin!(candidate.wait()), pin!(booth.sleep_until(until))).await {
            return wake;
        }
        candidate.rearm(None);
        if let Own::Node(node) = std::mem::replace(&mut candidate.own, Own::None)
            && let Answer::Lost = candidate.ask(session.delete(&node.path, None)).await?
        {
            candidate.note("the clean-up of its try failed");
        }
        Ok(Wake::Reconnected)
    }
}
