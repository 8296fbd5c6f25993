//! Each reconnect has a handler, and the handlers do not coordinate. The first one finds itself at the head of the
//! queue and passes the lead on. Before that arrives, the second one replaces the znode by a new one.

use futures::{FutureExt, select_biased};
use std::pin::pin;

use super::prelude::*;

/// The delay of a handler's decision, as T divided by this.
const DECISION_PER_T: u64 = 4;

pub(super) const CASE: Case = Case {
    wrong: "two handlers of reconnects interleave, and one deletes the znode that the other leads on",
    seen_in: "CURATOR-620 and CURATOR-653",
    schedule: &[at(1_000, Action::Disconnect(0)), at(1_200, Action::Disconnect(0))],
    caught: &[FindingKind::Overlap, FindingKind::StaleWrite],
    ..Case::of("interleaved-reconnects", RecipeKind::InterleavedReconnects, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for InterleavedReconnects {
    async fn take_leadership(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<bool> {
        let OwnZnodeState::Node(decided_on) = candidate.own.clone() else { return Ok(false) };
        let host = candidate.host;
        let arrives = host.now() + candidate.session.timeout_ms() * 1_000_000 / DECISION_PER_T;
        let mut decision = pin!(host.sleep_until(arrives).fuse());
        loop {
            let state = select_biased! {
                () = decision => break,
                state = candidate.states.changed().fuse() => state,
            };
            match state {
                SessionState::Ended(end) => return Err(Departure::SessionEnded(end)),
                SessionState::Connected => {
                    self.delete_own(candidate, false).await?;
                    self.enrol(candidate).await?;
                }
                SessionState::Disconnected => {}
            }
        }
        self.grant(candidate, &decided_on);
        Ok(true)
    }
}
