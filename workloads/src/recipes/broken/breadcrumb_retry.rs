//! A write of the breadcrumb whose answer was lost is repeated as it was. The first one took effect, so the second one meets
//! another version, which is taken for another leader: the lock is given back, again and again.

use std::convert::Infallible;

use super::case::{Case, at, sent};
use crate::booth::{Booth, Predecessor};
use crate::coordination::Session;
use crate::recipes::breadcrumb::{self, Written};
use crate::recipes::candidate::{Candidate, Flow};
use crate::recipes::recipe::Recipe;
use crate::recipes::{RecipeKind, lock, lock_race, names};
use crate::simulation::script::{Caught, Request, Step, What};

/// As many tries as fit into the run, of each candidate.
const TRIES: usize = 16;
const CANDIDATES: usize = 3;

pub(super) const CASE: Case = Case {
    wrong: "a write whose answer was lost is repeated, and what it did itself is taken for another's",
    seen_in: "Hadoop's ActiveStandbyElector",
    schedule: &SCHEDULE,
    caught: &[Caught::Leaderless],
    ..Case::of("breadcrumb-retry", RecipeKind::BreadcrumbRetry, RecipeKind::LockRace)
};

/// A proxy that loses the answers of all first writes, for the whole run.
const SCHEDULE: [Step; 1 + CANDIDATES * TRIES] = {
    let mut steps = [at(1_000, What::Expire(0)); 1 + CANDIDATES * TRIES];
    let mut i = 0;
    while i < CANDIDATES * TRIES {
        // Every second one is a repetition.
        let nth = 1 + 2 * (i / CANDIDATES) as u32;
        steps[1 + i] = sent((i % CANDIDATES) as u32, Request::Set, names::BREADCRUMB, nth, What::LoseReply);
        i += 1;
    }
    steps
};

pub(in crate::recipes) struct BreadcrumbRetry;

impl Recipe for BreadcrumbRetry {
    async fn stand<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Infallible> {
        lock_race::stand::<Self, S, B>(candidate).await
    }

    async fn recover<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
        lock::recover::<Self, S, B>(candidate).await
    }

    async fn write_breadcrumb<S: Session, B: Booth>(
        candidate: &mut Candidate<'_, S, B>,
        me: &Predecessor,
        version: Option<i32>,
    ) -> Flow<Written> {
        match breadcrumb::write(candidate, me, version).await? {
            Written::LookAgain => match breadcrumb::write(candidate, me, version).await? {
                Written::LookAgain => Ok(Written::Rejoin("the breadcrumb was not written a second time".into())),
                written => Ok(written),
            },
            written => Ok(written),
        }
    }
}
