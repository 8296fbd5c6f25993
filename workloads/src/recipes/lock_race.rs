//! `lock-race`: one ephemeral lock znode that everyone watches and races to create. The winner makes sure that the
//! leader named in the breadcrumb cannot act any more. Then it writes its own name there, and only then leads. After
//! Hadoop's ActiveStandbyElector.

use std::convert::Infallible;

use hustings_record::{Declaration, FanOut};

use super::breadcrumb::{self, BreadcrumbReading, BreadcrumbWrite};
use super::candidate::{ArmedWatch, Candidate, OperationAnswer, StepResult, Wake};
use super::declares::RecipeDeclaration;
use super::lock::Attempt;
use super::names;
use super::own_znode::{OwnNode, OwnZnodeState};
use super::steps::{Recipe, Steps};
use crate::coordination::{Refusal, Session, WatchEvent};
use crate::host::{Host, Predecessor, Token};

/// The pause between two attempts when answers alternate between "exists" and "does not exist" (a server lags behind).
const CONTRADICTED_MS: u64 = 10;

/// Reads and writes in one takeover, before the lock is released.
const STEPS_MAX: u32 = 8;

/// The pause between giving the lock back and the next attempt.
const TRY_AGAIN_MS: u64 = 1_000;

pub(super) struct LockRace;

impl RecipeDeclaration for LockRace {
    const DECLARES: Declaration = Declaration {
        leader_wakes: FanOut::AllOthers,
        follower_wakes: FanOut::None,
        // The losers try and watch again; the winner reads the breadcrumb, writes it, and checks its lock.
        requests_per_wake_max: Some(4),
        watches_max: None,
    };

    const FENCES: bool = true;
}

impl Recipe for LockRace {
    async fn run<S: Session, H: Host>(
        candidate: &mut Candidate<'_, S, H>,
        steps: &dyn Steps<S, H>,
    ) -> StepResult<Infallible> {
        loop {
            candidate.connected().await?;
            match steps.take_lock(candidate).await? {
                Attempt::Holds => {
                    candidate.rearm(None);
                    if take_over(candidate, steps).await? {
                        steps.lead(candidate).await?;
                    }
                }
                Attempt::Taken => follow(candidate, steps).await?,
                Attempt::Again => {}
            }
        }
    }
}

/// Watches the lock until it is worth racing for.
async fn follow<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, steps: &dyn Steps<S, H>) -> StepResult<()> {
    let (session, path) = (candidate.session, names::lock(&candidate.election.path));
    loop {
        match candidate.ask(session.get_and_watch(&path)).await? {
            OperationAnswer::Ok((data, stat, watch)) if steps.holds(candidate, &data, stat) => {
                candidate.own = OwnZnodeState::Node(OwnNode { path, czxid: stat.czxid });
                candidate.own_watch = Some(watch);
                return Ok(());
            }
            OperationAnswer::Ok((_, _, watch)) => {
                candidate.rearm(Some(ArmedWatch { name: names::LOCK.to_owned(), watch }))
            }
            OperationAnswer::Refused(Refusal::NoNode) => {
                candidate.rearm(None);
                return candidate.pause(CONTRADICTED_MS).await;
            }
            OperationAnswer::Refused(refusal) => {
                return Err(candidate.stuck("the watch on the lock was refused", &refusal));
            }
            OperationAnswer::Lost => continue,
        }
        if candidate.wait().await? == Wake::Fired(WatchEvent::Deleted) {
            return Ok(());
        }
    }
}

/// Fences the previous leader and writes the own name. Needs the lock. False: the lock was released.
async fn take_over<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    steps: &dyn Steps<S, H>,
) -> StepResult<bool> {
    if candidate.breadcrumb.is_some() {
        return Ok(true);
    }
    let OwnZnodeState::Node(node) = &candidate.own else { return Ok(false) };
    let token = Token { czxid: node.czxid, session: candidate.session.id() };
    let me = Predecessor { host: candidate.host.number(), candidate: candidate.host.candidate(), token };
    let mut fenced = None;
    for _ in 0..STEPS_MAX {
        let found = match breadcrumb::read(candidate).await? {
            BreadcrumbReading::Found(found, version) => Some((found, version)),
            BreadcrumbReading::Absent => None,
            BreadcrumbReading::Lost => continue,
            BreadcrumbReading::Bad(why) => return give_back(candidate, steps, &why).await,
        };
        if let Some((old, version)) = &found {
            if *old == me {
                // An earlier write of this candidate whose answer was lost.
                candidate.breadcrumb = Some(*version);
                return Ok(true);
            }
            let another = (old.host, old.candidate) != (me.host, me.candidate);
            if another && fenced.as_ref() != Some(old) {
                if let Err(why) = candidate.host.fence(old, token).await {
                    return give_back(candidate, steps, &format!("the old leader could not be fenced: {why}")).await;
                }
                fenced = Some(old.clone());
            }
        }
        match steps.write_breadcrumb(candidate, &me, found.map(|(_, version)| version)).await? {
            BreadcrumbWrite::Yes => return Ok(true),
            BreadcrumbWrite::LookAgain => {}
            BreadcrumbWrite::Rejoin(why) => return give_back(candidate, steps, &why).await,
        }
    }
    give_back(candidate, steps, "the breadcrumb would not settle").await
}

/// Gives the lock back, and lets some time pass before the next attempt.
async fn give_back<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    steps: &dyn Steps<S, H>,
    why: &str,
) -> StepResult<bool> {
    candidate.note(&format!("gives the lock back: {why}"));
    steps.delete_own(candidate, false).await?;
    candidate.settle();
    candidate.pause(TRY_AGAIN_MS).await?;
    Ok(false)
}
