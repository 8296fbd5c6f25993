//! A leader with a lease of its own that nothing renews: once it is over the lead is given up, though nothing has happened to
//! anybody.

use std::pin::pin;

use futures::future::{Either, select};

use super::case::Case;
use crate::booth::{Booth, RevokeReason};
use crate::coordination::Session;
use crate::recipes::RecipeKind;
use crate::recipes::candidate::{Candidate, Flow};
use crate::recipes::recipe::Recipe;
use crate::recipes::{lead, leave};
use crate::simulation::script::Caught;

/// The lease, in multiples of T.
const LEASE_T: u64 = 1;

pub(super) const CASE: Case = Case {
    wrong: "the lead changes hands without a cause whenever a lease is over that nobody renews",
    seen_in: "leases beside a session",
    caught: &[Caught::Unplanned],
    ..Case::of("lease-not-renewed", RecipeKind::LeaseNotRenewed, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct LeaseNotRenewed;

impl Recipe for LeaseNotRenewed {
    async fn hold_office<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
        let booth = candidate.booth;
        let over = booth.now() + LEASE_T * candidate.session.timeout_ms() * 1_000_000;
        let lease = booth.sleep_until(over);
        if let Either::Left((ended, _)) = select(pin!(lead::hold_office::<Self, S, B>(candidate)), pin!(lease)).await {
            return ended;
        }
        candidate.revoke(RevokeReason::SteppedDown);
        leave::delete_own::<Self, S, B>(candidate, false).await.map(|_| ())
    }
}
