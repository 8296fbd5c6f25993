//! A woken follower never acts on it: the call that should do so waits for itself.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "whoever is woken blocks, and nobody notices before it is its turn to lead",
    seen_in: "blocking calls within a client's event thread, in Curator's and kazoo's users",
    // A follower in the middle goes and comes back, while the leader leads throughout.
    schedule: &[at(1_000, Action::Crash { cand: 1, for_ms: Some(500) })],
    caught: &[FindingKind::Absent],
    ..Case::of("hangs-when-woken", RecipeKind::HangsWhenWoken, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for HangsWhenWoken {
    async fn wait(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<Wake> {
        let wake = candidate.wait().await?;
        if let Wake::Fired(_) = wake {
            // Only an order ends this.
            std::future::pending::<()>().await;
        }
        Ok(wake)
    }
}
