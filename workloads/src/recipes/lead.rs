//! Leading: the owner check, the grant, and the office until it ends.

use std::pin::pin;

use futures::future::Fuse;
use futures::{FutureExt, select_biased};

use super::candidate::{Answer, Candidate, Flow, Node, Own};
use super::recipe::Recipe;
use crate::booth::{Booth, Nanos, Report, RevokeReason};
use crate::coordination::{OpError, Refusal, Session, SessionState, Stat, States, Watch, WatchEvent};

/// Between losing its znode to somebody outside and standing anew, so that a deletion of the whole election can get through.
const REJOIN_AFTER_MS: u64 = 200;

/// Between two owner checks while the answers are lost.
const CHECK_AGAIN_MS: u64 = 50;

/// An owner check older than this fraction of T is no ground to lead on: the process may have been stopped since.
const CHECK_AGE_PER_T: u64 = 3;

/// What may happen to a leader.
enum Event<W> {
    State(SessionState),
    StepDown,
    OwnWatch(WatchEvent),
    Checked(Result<Sight<W>, OpError>),
}

/// A znode as it was seen: nothing, or what it is, with the watch if one was asked for.
type Sight<W> = Option<(Stat, Option<W>)>;

async fn look<S: Session>(session: &S, path: &str, arm: bool) -> Result<Sight<S::Watch>, OpError> {
    if !arm {
        // It led by this znode before and was cut off: the server that it has come to may lag behind the end of its session.
        session.sync(path).await?;
        return Ok(session.exists(path).await?.map(|stat| (stat, None)));
    }
    // A get leaves no watch behind on a znode that is gone.
    match session.get_and_watch(path).await {
        Ok((_, stat, watch)) => Ok(Some((stat, Some(watch)))),
        Err(OpError::Refused(Refusal::NoNode)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The owner check, then the grant. False: it may not lead now.
pub(super) async fn take_office<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<bool> {
    let Some(node) = check_owner::<R, S, B>(candidate).await? else { return Ok(false) };
    grant::<R, S, B>(candidate, &node);
    Ok(true)
}

/// The own znode, if it is proven to be there and its own. The watch on it is armed then.
pub(super) async fn check_owner<R: Recipe, S: Session, B: Booth>(
    candidate: &mut Candidate<'_, S, B>,
) -> Flow<Option<Node>> {
    let Own::Node(node) = candidate.own.clone() else { return Ok(None) };
    let (session, sent) = (candidate.session, candidate.booth.now());
    let arm = candidate.own_watch.is_none();
    let sight = match candidate.ask(look(session, &node.path, arm)).await? {
        Answer::Ok(sight) => sight,
        Answer::Refused(refusal) => return Err(candidate.stuck("the owner check was refused", &refusal)),
        Answer::Lost => return Ok(None),
    };
    if !accept::<R, S, B>(candidate, &node, sight) {
        candidate.note("its znode is gone or another's at the owner check");
        candidate.deposed(&node).await?;
        return Ok(None);
    }
    let too_old = session.timeout_ms() * 1_000_000 / CHECK_AGE_PER_T;
    if candidate.states.now() != SessionState::Connected || candidate.booth.now() - sent > too_old {
        return Ok(None);
    }
    Ok(Some(node))
}

/// Whether what was seen is this very znode, owned by this very session; keeps the watch that came with it.
fn accept<R: Recipe, S: Session, B: Booth>(
    candidate: &mut Candidate<'_, S, B>,
    node: &Node,
    sight: Sight<S::Watch>,
) -> bool {
    match sight {
        Some((stat, watch)) if stat.czxid == node.czxid && R::owns(candidate.session, stat) => {
            candidate.own_watch = watch.or(candidate.own_watch.take());
            true
        }
        _ => false,
    }
}

/// Says that it leads from now on, then believes it.
pub(super) fn grant<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>, node: &Node) {
    let token = R::token(node, candidate.session.id());
    let term = candidate.career.next_term();
    let at = candidate.booth.now();
    candidate.booth.report(Report::Grant { at, term, token, node: node.name() });
    candidate.term = Some(term);
    candidate.booth.believe(Some(token));
    candidate.booth.report(Report::Granted { at: candidate.booth.now(), term });
    candidate.settle();
}

/// Believes until the step-down policy, the end of the session or the loss of the znode ends it.
pub(super) async fn hold_office<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
    let Own::Node(node) = candidate.own.clone() else { return Ok(()) };
    let (session, booth) = (candidate.session, candidate.booth);
    let look_after = async |at: Option<Nanos>, arm: bool| {
        if let Some(at) = at {
            booth.sleep_until(at).await;
        }
        look(session, &node.path, arm).await
    };
    let mut step_down = pin!(Fuse::terminated());
    let mut check = pin!(Fuse::terminated());
    let mut waiting = false;
    loop {
        let event = {
            let Candidate { states, own_watch, .. } = &mut *candidate;
            select_biased! {
                state = states.changed().fuse() => Event::State(state),
                () = step_down => Event::StepDown,
                event = fired(own_watch.as_mut()).fuse() => Event::OwnWatch(event),
                sight = check => Event::Checked(sight),
            }
        };
        match event {
            Event::State(SessionState::Ended(end))
            | Event::OwnWatch(WatchEvent::Ended(end))
            | Event::Checked(Err(OpError::Ended(end))) => return Err(candidate.ended(end)),
            Event::State(SessionState::Disconnected) => {
                match R::step_down_delay_ns(candidate.election.step_down, session.timeout_ms()) {
                    None => {}
                    Some(0) => return stepped_down::<R, S, B>(candidate).await,
                    Some(delay) if !waiting => {
                        waiting = true;
                        step_down.set(R::step_down_timer(booth, delay).fuse());
                    }
                    Some(_) => {}
                }
            }
            Event::State(SessionState::Connected) => check.set(look_after(None, candidate.own_watch.is_none()).fuse()),
            Event::StepDown => return stepped_down::<R, S, B>(candidate).await,
            Event::OwnWatch(event) => {
                candidate.own_watch = None;
                candidate.notified(node.name(), event);
                if event == WatchEvent::Deleted {
                    candidate.revoke(RevokeReason::Deposed);
                    return candidate.deposed(&node).await;
                }
                check.set(look_after(None, true).fuse());
            }
            Event::Checked(Ok(sight)) => {
                if !accept::<R, S, B>(candidate, &node, sight) {
                    candidate.revoke(RevokeReason::Deposed);
                    return candidate.deposed(&node).await;
                }
                // The lead outlived the loss: the policy's time starts anew with the next one.
                waiting = false;
                step_down.set(Fuse::terminated());
                candidate.settle();
            }
            Event::Checked(Err(OpError::Unknown | OpError::Refused(_))) => {
                let at = booth.now() + CHECK_AGAIN_MS * 1_000_000;
                check.set(look_after(Some(at), candidate.own_watch.is_none()).fuse());
            }
        }
    }
}

async fn stepped_down<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
    R::step_down(candidate).await;
    Ok(())
}

impl<S: Session, B: Booth> Candidate<'_, S, B> {
    /// The own znode is gone though nobody here deleted it: ends with the election if that was deleted, else lets the recipe
    /// stand anew.
    pub(super) async fn deposed(&mut self, node: &Node) -> Flow<()> {
        self.own = Own::None;
        self.breadcrumb = None;
        self.drop_own_watch(node.name()).await;
        self.check_election().await?;
        self.settle();
        self.pause(REJOIN_AFTER_MS).await
    }
}

/// Waits for a watch; for ever if there is none.
async fn fired<W: Watch>(watch: Option<&mut W>) -> WatchEvent {
    match watch {
        Some(watch) => watch.fired().await,
        None => std::future::pending().await,
    }
}
