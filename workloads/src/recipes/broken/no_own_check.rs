//! Nobody looks whether the own znode is still there: the place in the queue is the number of lower ones, and there are none
//! lower than one that is gone either.

use super::case::{Case, at, sent};
use crate::booth::Booth;
use crate::coordination::Session;
use crate::recipes::candidate::{Candidate, Flow, Own};
use crate::recipes::lead::grant;
use crate::recipes::recipe::Recipe;
use crate::recipes::{RecipeKind, names};
use crate::simulation::script::{Caught, Request, What};

pub(super) const CASE: Case = Case {
    wrong: "one whose znode is gone counts those before it and leads when there are none",
    seen_in: "go-zk's Lock",
    // It has to list once more when its znode is gone, so that those who look for it can miss it.
    schedule: &[
        sent(1, Request::Children, "", 1, What::DeleteNode(1)),
        sent(1, Request::Get, "-n_", 1, What::Disconnect(1)),
        at(1_000, What::Resign(0)),
    ],
    caught: &[Caught::Overlap, Caught::StaleWrite],
    ..Case::of("no-own-check", RecipeKind::NoOwnCheck, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct NoOwnCheck;

impl Recipe for NoOwnCheck {
    fn place(queue: &[String], own: &str) -> Option<usize> {
        let own = names::sequence(own)?;
        Some(queue.iter().filter(|name| names::sequence(name).is_some_and(|number| number < own)).count())
    }

    async fn take_office<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<bool> {
        let Own::Node(node) = candidate.own.clone() else { return Ok(false) };
        grant::<Self, S, B>(candidate, &node);
        Ok(true)
    }
}
