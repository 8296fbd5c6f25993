//! `poll-race`: everyone tries to create one ephemeral lock znode at every interval and nobody watches it. No herd, slow
//! and chatty.

use std::convert::Infallible;

use super::candidate::{Candidate, Flow};
use super::lock::{self, Attempt};
use super::recipe::{Recipe, lead};
use crate::booth::Booth;
use crate::coordination::Session;

/// The shortest interval that is honoured, in milliseconds.
const INTERVAL_MIN_MS: u64 = 1;

pub(super) struct PollRace;

impl Recipe for PollRace {
    async fn stand<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Infallible> {
        let interval_ms = candidate.election.poll_interval_ms.max(INTERVAL_MIN_MS);
        // Candidates that begin together must not poll in step.
        let mut wait_ms = candidate.booth.draw() % interval_ms + 1;
        loop {
            candidate.connected().await?;
            match lock::attempt::<Self, S, B>(candidate).await? {
                Attempt::Holds => lead::<Self, S, B>(candidate).await?,
                Attempt::Taken => {
                    candidate.settle();
                    candidate.pause(wait_ms).await?;
                    wait_ms = interval_ms;
                }
                Attempt::Again => {}
            }
        }
    }

    async fn recover<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
        lock::recover::<Self, S, B>(candidate).await
    }
}
