//! `lock-race`: one ephemeral lock znode that everyone watches and races to create; whoever wins fences the one that the
//! breadcrumb names before it leads. After Hadoop's ActiveStandbyElector.

use std::convert::Infallible;

use super::candidate::{Answer, Armed, Candidate, Flow, Node, Own, Wake};
use super::lock::{self, Attempt};
use super::recipe::{Recipe, lead};
use super::{breadcrumb, names};
use crate::booth::Booth;
use crate::coordination::{Refusal, Session, WatchEvent};

/// Between two attempts when the lock is said to exist and not to exist in turn (a server that lags behind).
const CONTRADICTED_MS: u64 = 10;

pub(super) struct LockRace;

impl Recipe for LockRace {
    async fn stand<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Infallible> {
        stand::<Self, S, B>(candidate).await
    }

    async fn recover<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
        lock::recover::<Self, S, B>(candidate).await
    }
}

pub(super) async fn stand<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Infallible> {
    loop {
        candidate.connected().await?;
        match lock::attempt::<R, S, B>(candidate).await? {
            Attempt::Holds => {
                candidate.rearm(None);
                if breadcrumb::take_over::<R, S, B>(candidate).await? {
                    lead::<R, S, B>(candidate).await?;
                }
            }
            Attempt::Taken => follow::<R, S, B>(candidate).await?,
            Attempt::Again => {}
        }
    }
}

/// Watches the lock until it is worth racing for.
async fn follow<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
    let (session, path) = (candidate.session, lock::path(candidate));
    loop {
        match candidate.ask(session.get_and_watch(&path)).await? {
            Answer::Ok((data, stat, watch)) if R::holds(candidate, &data, stat) => {
                candidate.own = Own::Node(Node { path, czxid: stat.czxid });
                candidate.own_watch = Some(watch);
                return Ok(());
            }
            Answer::Ok((_, _, watch)) => candidate.rearm(Some(Armed { name: names::LOCK.to_owned(), watch })),
            Answer::Refused(Refusal::NoNode) => {
                candidate.rearm(None);
                return candidate.pause(CONTRADICTED_MS).await;
            }
            Answer::Refused(refusal) => return Err(candidate.stuck("the watch on the lock was refused", &refusal)),
            Answer::Lost => continue,
        }
        if candidate.wait().await? == Wake::Fired(WatchEvent::Deleted) {
            return Ok(());
        }
    }
}
