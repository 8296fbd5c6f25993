//! A leader with its own lease, which is never renewed. Once the lease is over it gives up the lead, without any fault.

use futures::future::{Either, select};
use std::pin::pin;

use super::prelude::*;

/// The lease, in multiples of T.
const LEASE_T: u64 = 1;

pub(super) const CASE: Case = Case {
    wrong: "the lead changes hands without a cause whenever a lease is over that nobody renews",
    seen_in: "leases beside a session",
    caught: &[FindingKind::Unplanned],
    ..Case::of("lease-not-renewed", RecipeKind::LeaseNotRenewed, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for LeaseNotRenewed {
    async fn lead(&self, candidate: &mut Candidate<'_, S, H>) -> StepResult<()> {
        if !self.take_leadership(candidate).await? {
            return Ok(());
        }
        let host = candidate.host;
        let over = host.now() + LEASE_T * candidate.session.timeout_ms() * 1_000_000;
        let lease = host.sleep_until(over);
        if let Either::Left((ended, _)) = select(pin!(self.hold_leadership(candidate)), pin!(lease)).await {
            return ended;
        }
        candidate.revoke(RevokeReason::SteppedDown);
        self.delete_own(candidate, false).await.map(|_| ())
    }
}
