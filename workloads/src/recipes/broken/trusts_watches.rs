//! A follower that trusts its watch across a reconnect and does not list again. That is right as long as the servers
//! deliver missed events, as they promise. Some servers did not, and recipes that list again are not affected.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "servers forget what a watch missed during a reconnect, and the follower waits for ever",
    seen_in: "ZOOKEEPER-1412, ZOOKEEPER-1667, ZOOKEEPER-3145",
    // The slow link keeps it disconnected for two round trips.
    schedule: &[
        at(1_000, Action::Slow { cand: 1, by_ms: 100 }),
        at(2_000, Action::Disconnect(1)),
        at(2_050, Action::Resign(0)),
    ],
    caught: &[FindingKind::Leaderless],
    bugs: Bugs { keep_ephemerals: false, forget_missed_events: true },
    ..Case::of("trusts-watches", RecipeKind::TrustsWatches, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for TrustsWatches {
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        loop {
            let wake = candidate.wait().await?;
            if wake != Wake::Reconnected || candidate.watch.is_none() {
                return Ok(wake);
            }
        }
    }
}
