//! The end of a session during a create is taken for a lost connection. The candidate waits for a session that never
//! comes back, while its host assumes that it is about to enrol.

use super::prelude::*;
use crate::coordination::{CreatedZnode, OpError};

pub(super) const CASE: Case = Case {
    wrong: "a session that ends during a create is waited for, for ever",
    seen_in: "recipes that know one kind of loss",
    // It enrols again, and its session ends before its create gets through.
    schedule: &[
        at(1_000, Action::Resign(0)),
        sent_after(
            1_000,
            0,
            ScheduledRequest::Create,
            "-n_",
            Action::Partition { cand: 0, way: Direction::Both, for_ms: 4_000 },
        ),
    ],
    caught: &[FindingKind::Leaderless],
    candidates: 1,
    ..Case::of("forgets-session-end", RecipeKind::ForgetsSessionEnd, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for ForgetsSessionEnd {
    async fn create(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<OperationAnswer<CreatedZnode>> {
        let prefix = names::prefix(&candidate.election.path, &candidate.guid);
        let data = candidate.identity();
        let created = candidate.session.create(&prefix, data.as_bytes(), CreateMode::EphemeralSequential).await;
        if let Err(OpError::Unknown | OpError::Ended(_)) = created {
            while candidate.states.now() != SessionState::Connected {
                candidate.states.changed().await;
            }
            return Ok(OperationAnswer::Lost);
        }
        candidate.ask(std::future::ready(created)).await
    }
}
