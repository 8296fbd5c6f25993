//! With a new session, a candidate goes on with the znode of its old one, which is still there. It leads by that znode
//! and does not watch it, so it does not notice when it goes with the old session.

use super::prelude::*;

pub(super) const CASE: Case = Case {
    wrong: "one with a new session leads by the znode of its old one, and does not notice when that goes",
    seen_in: "CURATOR-696",
    schedule: &[at(1_000, Action::Crash { cand: 0, for_ms: Some(300) })],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("leads-by-old-znode", RecipeKind::LeadsByOldZnode, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for LeadsByOldZnode {
    fn begin(&self, candidate: &mut Candidate<'_, S, H>) {
        candidate.guid = names::guid(u64::from(candidate.host.number()), u64::from(candidate.host.candidate()));
        candidate.own = OwnZnodeState::Maybe;
    }

    fn owns(&self, _session: &S, _stat: Stat) -> bool {
        true
    }

    async fn hold_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<()> {
        candidate.own_watch = None;
        loop {
            match candidate.states.changed().await {
                SessionState::Ended(end) => return Err(candidate.ended(end)),
                SessionState::Disconnected => {
                    candidate.revoke(RevokeReason::SteppedDown);
                    return candidate.connected().await;
                }
                SessionState::Connected => {}
            }
        }
    }
}
