//! When its predecessor is gone before it could be watched, a candidate starts over: it gives up its place for one at
//! the end. Two that do so in turn are each other's vanishing predecessor, and neither ever leads.

use futures::future::join;

use super::prelude::*;

/// Added to both directions of both followers' links.
const SLOW_MS: u64 = 100;

/// A reset, a list and a watch take a round trip each. The second follower is one and a half round trips behind the
/// first. So each lists before the other's reset arrives, and watches after it.
const BEHIND_MS: u64 = 3 * SLOW_MS;

pub(super) const CASE: Case = Case {
    wrong: "two whose predecessors vanish before they are watched give their places up in turn, for ever",
    seen_in: "CURATOR-644 and CURATOR-645",
    schedule: &SCHEDULE,
    caught: &[FindingKind::Leaderless],
    ..Case::of("resets-instead-of-relisting", RecipeKind::ResetsInsteadOfRelisting, RecipeKind::PredecessorWatch)
};

/// The leader is killed for good, and its session ends between list and watch of the first follower.
const SCHEDULE: [Step; 6] = [
    at(1_000, Action::Slow { cand: 1, by_ms: SLOW_MS }),
    at(1_000, Action::Slow { cand: 2, by_ms: SLOW_MS }),
    at(2_000, Action::Crash { cand: 0, for_ms: None }),
    at(2_000, Action::Disconnect(1)),
    at(2_000 + BEHIND_MS, Action::Disconnect(2)),
    sent_after(2_000, 1, ScheduledRequest::Get, "-n_", Action::Expire(0)),
];

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for ResetsInsteadOfRelisting {
    async fn watch(&self, candidate: &mut Candidate<'_, S, H>, name: &str) -> StepResult<bool> {
        if queue::watch(candidate, name).await? {
            return Ok(true);
        }
        let OwnZnodeState::Node(old) = std::mem::replace(&mut candidate.own, OwnZnodeState::Maybe) else {
            return Ok(false);
        };
        candidate.joined = false;
        let session = candidate.session;
        let (prefix, data) = (names::prefix(&candidate.election.path, &candidate.guid), candidate.identity());
        let reset = async {
            let create = session.create(&prefix, data.as_bytes(), CreateMode::EphemeralSequential);
            join(session.delete(&old.path, None), create).await.1
        };
        if let OperationAnswer::Ok(created) = candidate.ask(reset).await? {
            candidate.own = OwnZnodeState::Node(OwnNode { path: created.path, czxid: created.czxid });
        }
        Ok(false)
    }
}
