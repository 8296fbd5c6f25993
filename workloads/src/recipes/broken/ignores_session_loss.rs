//! A leader that nobody interrupts: it believes on through disconnects, deletion of its znode and the end of its session,
//! while the ensemble elects another one. It gives up 3 T after the end, so that a run ends.

use crate::booth::{Booth, Departure, RevokeReason};
use crate::coordination::{Session, SessionState, States};
use crate::recipes::candidate::{Candidate, Flow};
use crate::recipes::queue::{Discipline, Office, Succession};

/// How long it goes on after its session ended, in multiples of T.
const DEAF_FOR_T: u64 = 3;

pub(in crate::recipes) const DISCIPLINE: Discipline =
    Discipline { watched: |place| place - 1, succession: Succession::ListAgain, office: Office::Deaf };

/// Holds the office that was just granted, and listens to nothing but the end of its session.
pub(in crate::recipes) async fn hold_office<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
    let end = loop {
        if let SessionState::Ended(end) = candidate.states.changed().await {
            break end;
        }
    };
    let deaf_ns = DEAF_FOR_T * candidate.session.timeout_ms() * 1_000_000;
    candidate.booth.sleep_until(candidate.booth.now() + deaf_ns).await;
    candidate.revoke(RevokeReason::SessionEnded);
    Err(Departure::SessionEnded(end))
}
