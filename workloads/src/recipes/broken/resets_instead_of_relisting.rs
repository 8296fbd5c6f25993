//! When its predecessor is gone before it could be watched a candidate begins anew: it gives its place up for one at the end.
//! Two that do so in turn are each other's vanishing predecessor, and neither ever leads.

use futures::future::join;

use super::case::{Case, at, sent_after};
use crate::booth::Booth;
use crate::coordination::{CreateMode, Session};
use crate::recipes::candidate::{Answer, Candidate, Flow, Node, Own};
use crate::recipes::recipe::Recipe;
use crate::recipes::{RecipeKind, names, queue};
use crate::simulation::script::{Caught, Request, Step, What};

/// Added to both ways of both followers' links.
const SLOW_MS: u64 = 100;

/// A reset, a list and a watch take a round trip each. The second follower is one and a half of them behind the first: so
/// each lists before the other's reset arrives and watches after it.
const BEHIND_MS: u64 = 3 * SLOW_MS;

pub(super) const CASE: Case = Case {
    wrong: "two whose predecessors vanish before they are watched give their places up in turn, for ever",
    seen_in: "CURATOR-644 and CURATOR-645",
    schedule: &SCHEDULE,
    caught: &[Caught::Leaderless],
    ..Case::of("resets-instead-of-relisting", RecipeKind::ResetsInsteadOfRelisting, RecipeKind::PredecessorWatch)
};

/// The leader is killed for good, and its session ends between list and watch of the first.
const SCHEDULE: [Step; 6] = [
    at(1_000, What::Slow { cand: 1, by_ms: SLOW_MS }),
    at(1_000, What::Slow { cand: 2, by_ms: SLOW_MS }),
    at(2_000, What::Crash { cand: 0, for_ms: None }),
    at(2_000, What::Disconnect(1)),
    at(2_000 + BEHIND_MS, What::Disconnect(2)),
    sent_after(2_000, 1, Request::Get, "-n_", What::Expire(0)),
];

pub(in crate::recipes) struct ResetsInsteadOfRelisting;

impl Recipe for ResetsInsteadOfRelisting {
    async fn watch<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>, name: &str) -> Flow<bool> {
        if queue::watch(candidate, name).await? {
            return Ok(true);
        }
        let Own::Node(old) = std::mem::replace(&mut candidate.own, Own::Maybe) else { return Ok(false) };
        candidate.joined = false;
        let session = candidate.session;
        let (prefix, data) = (names::prefix(&candidate.election.path, &candidate.guid), candidate.identity());
        let reset = async {
            let create = session.create(&prefix, data.as_bytes(), CreateMode::EphemeralSequential);
            join(session.delete(&old.path, None), create).await.1
        };
        if let Answer::Ok(created) = candidate.ask(reset).await? {
            candidate.own = Own::Node(Node { path: created.path, czxid: created.czxid });
        }
        Ok(false)
    }
}
