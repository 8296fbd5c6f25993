//! `predecessor-watch`: queue up, watch only the next lower znode, list again when it goes. One wake-up per death.

use std::convert::Infallible;

use hustings_record::{Declaration, FanOut};

use super::candidate::{Candidate, StepResult};
use super::declares::RecipeDeclaration;
use super::steps::{Recipe, Steps};
use crate::coordination::Session;
use crate::host::Host;

pub(super) struct PredecessorWatch;

impl RecipeDeclaration for PredecessorWatch {
    const DECLARES: Declaration = Declaration {
        leader_wakes: FanOut::One,
        follower_wakes: FanOut::One,
        // The list, and a watch on another predecessor or the owner check.
        requests_per_wake_max: Some(2),
        watches_max: None,
    };
}

impl Recipe for PredecessorWatch {
    async fn run<S: Session, H: Host>(
        candidate: &mut Candidate<'_, S, H>,
        steps: &dyn Steps<S, H>,
    ) -> StepResult<Infallible> {
        loop {
            candidate.connected().await?;
            steps.enrol(candidate).await?;
            let Some(queue) = steps.list(candidate).await? else { continue };
            if queue.place == 0 {
                candidate.rearm(None);
                steps.lead(candidate).await?;
                continue;
            }
            let predecessor = steps.predecessor(queue.place);
            if steps.watch(candidate, &queue.into_name(predecessor)).await? {
                let wake = steps.wait(candidate).await?;
                if steps.presumes(wake) {
                    steps.lead(candidate).await?;
                }
            }
        }
    }
}
