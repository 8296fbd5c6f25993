//! `poll-race`: everyone tries to create one ephemeral lock znode at every interval, without a watch. No herd, but slow
//! and chatty.

use std::convert::Infallible;

use hustings_record::{Declaration, FanOut};

use super::candidate::{Candidate, StepResult};
use super::declares::RecipeDeclaration;
use super::lock::Attempt;
use super::steps::{Recipe, Steps};
use crate::coordination::Session;
use crate::host::Host;

/// The shortest interval, in milliseconds.
const INTERVAL_MIN_MS: u64 = 1;

pub(super) struct PollRace;

impl RecipeDeclaration for PollRace {
    const DECLARES: Declaration = Declaration {
        leader_wakes: FanOut::None,
        follower_wakes: FanOut::None,
        // No candidate is ever woken.
        requests_per_wake_max: Some(0),
        watches_max: None,
    };
}

impl Recipe for PollRace {
    async fn run<S: Session, H: Host>(
        candidate: &mut Candidate<'_, S, H>,
        steps: &dyn Steps<S, H>,
    ) -> StepResult<Infallible> {
        let interval_ms = candidate.election.poll_interval_ms.max(INTERVAL_MIN_MS);
        // Candidates that begin together must not poll in step.
        let mut wait_ms = candidate.host.draw() % interval_ms + 1;
        loop {
            candidate.connected().await?;
            match steps.take_lock(candidate).await? {
                Attempt::Holds => steps.lead(candidate).await?,
                Attempt::Taken => {
                    candidate.settle();
                    candidate.pause(wait_ms).await?;
                    wait_ms = interval_ms;
                }
                Attempt::Again => {}
            }
        }
    }
}
