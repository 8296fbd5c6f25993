//! `naive`: queue up, and everyone watches the lowest znode: the herd.

use std::convert::Infallible;

use hustings_record::{Declaration, FanOut};

use super::candidate::{Candidate, StepResult};
use super::declares::RecipeDeclaration;
use super::steps::{Recipe, Steps};
use crate::coordination::Session;
use crate::host::Host;

const LOWEST: usize = 0;

pub(super) struct Naive;

impl RecipeDeclaration for Naive {
    const DECLARES: Declaration = Declaration {
        leader_wakes: FanOut::AllOthers,
        follower_wakes: FanOut::None,
        // The list, and a watch on the new head or the owner check.
        requests_per_wake_max: Some(2),
        watches_max: None,
    };
}

impl Recipe for Naive {
    async fn run<S: Session, H: Host>(
        candidate: &mut Candidate<'_, S, H>,
        steps: &dyn Steps<S, H>,
    ) -> StepResult<Infallible> {
        loop {
            candidate.connected().await?;
            steps.enrol(candidate).await?;
            let Some(queue) = steps.list(candidate).await? else { continue };
            if queue.place == LOWEST {
                candidate.rearm(None);
                steps.lead(candidate).await?;
            } else if steps.watch(candidate, &queue.into_name(LOWEST)).await? {
                steps.wait(candidate).await?;
            }
        }
    }
}
