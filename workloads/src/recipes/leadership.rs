//! Leadership: the owner check, the grant, and the events that end it.

use std::pin::pin;

use futures::future::Fuse;
use futures::{FutureExt, select_biased};

use super::candidate::{Candidate, OperationAnswer, StepResult};
use super::own_znode::{OwnNode, OwnZnodeState};
use crate::coordination::{OpError, Refusal, Session, SessionState, Stat, States, Watch, WatchEvent};
use crate::host::{Event, Host, Nanos, RevokeReason, Token};

/// Interval between owner checks while the answers are lost.
const CHECK_AGAIN_MS: u64 = 50;

/// An owner check older than T divided by this is no basis to lead on: the process may have been stopped since.
const CHECK_AGE_PER_T: u64 = 3;

/// The own znode, if the owner check confirms it. The watch on it is armed then.
pub(super) async fn check_owner<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    owns: impl Fn(&S, Stat) -> bool,
) -> StepResult<Option<OwnNode>> {
    let OwnZnodeState::Node(node) = candidate.own.clone() else { return Ok(None) };
    let (session, sent) = (candidate.session, candidate.host.now());
    let arm = candidate.own_watch.is_none();
    let sight = match candidate.ask(look(session, &node.path, arm)).await? {
        OperationAnswer::Ok(sight) => sight,
        OperationAnswer::Refused(refusal) => return Err(candidate.stuck("the owner check was refused", &refusal)),
        OperationAnswer::Lost => return Ok(None),
    };
    if !accept(candidate, &node, sight, &owns) {
        candidate.note("its znode is gone or another's at the owner check");
        candidate.deposed(&node).await?;
        return Ok(None);
    }
    candidate.host.won().await;
    let too_old = session.timeout_ms() * 1_000_000 / CHECK_AGE_PER_T;
    if candidate.states.now() != SessionState::Connected || candidate.host.now() - sent > too_old {
        return Ok(None);
    }
    Ok(Some(node))
}

/// Records the grant, then believes it.
pub(super) fn grant<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, node: &OwnNode, token: Token) {
    let term = candidate.lifecycle.next_term();
    let Token { czxid, session } = token;
    candidate.record(|t, cand, _| Event::Grant { t, cand, session, term, czxid, node: node.name().to_owned() });
    candidate.term = Some(term);
    candidate.host.believe(Some(token));
    candidate.record(|t, cand, session| Event::Granted { t, cand, session, term });
    candidate.settle();
}

/// How a leadership ended that leaves the candidate enrolled.
pub(super) enum LeadershipEnd {
    /// The belief is over.
    Deposed,
    /// The step-down policy ends it now.
    Overdue,
}

/// Believes until the step-down policy, the end of the session or the loss of the znode ends it. The policy ends it
/// `step_down_ns` after the connection loss was noticed (`None`: not before the session ends), by `timer`.
pub(super) async fn hold<S: Session, H: Host, F: Future<Output = ()>>(
    candidate: &mut Candidate<'_, S, H>,
    owns: impl Fn(&S, Stat) -> bool,
    step_down_ns: Option<Nanos>,
    timer: impl Fn(Nanos) -> F,
) -> StepResult<LeadershipEnd> {
    let OwnZnodeState::Node(node) = candidate.own.clone() else { return Ok(LeadershipEnd::Deposed) };
    let (session, host) = (candidate.session, candidate.host);
    let look_after = async |at: Option<Nanos>, arm: bool| {
        if let Some(at) = at {
            host.sleep_until(at).await;
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
                state = states.changed().fuse() => LeaderEvent::State(state),
                () = step_down => LeaderEvent::StepDown,
                event = fired(own_watch.as_mut()).fuse() => LeaderEvent::OwnWatch(event),
                sight = check => LeaderEvent::Checked(sight),
            }
        };
        match event {
            LeaderEvent::State(SessionState::Ended(end))
            | LeaderEvent::OwnWatch(WatchEvent::Ended(end))
            | LeaderEvent::Checked(Err(OpError::Ended(end))) => return Err(candidate.ended(end)),
            LeaderEvent::State(SessionState::Disconnected) => match step_down_ns {
                None => {}
                Some(0) => return Ok(LeadershipEnd::Overdue),
                Some(delay_ns) if !waiting => {
                    waiting = true;
                    step_down.set(timer(delay_ns).fuse());
                }
                Some(_) => {}
            },
            LeaderEvent::State(SessionState::Connected) => {
                check.set(look_after(None, candidate.own_watch.is_none()).fuse())
            }
            LeaderEvent::StepDown => return Ok(LeadershipEnd::Overdue),
            LeaderEvent::OwnWatch(event) => {
                candidate.own_watch = None;
                candidate.notified(node.name(), event);
                if event == WatchEvent::Deleted {
                    candidate.revoke(RevokeReason::Deposed);
                    return candidate.vanished().await.map(|()| LeadershipEnd::Deposed);
                }
                check.set(look_after(None, true).fuse());
            }
            LeaderEvent::Checked(Ok(sight)) => {
                if !accept(candidate, &node, sight, &owns) {
                    candidate.revoke(RevokeReason::Deposed);
                    return candidate.deposed(&node).await.map(|()| LeadershipEnd::Deposed);
                }
                // The lead outlived the loss: the policy's time restarts with the next loss.
                waiting = false;
                step_down.set(Fuse::terminated());
                candidate.settle();
            }
            LeaderEvent::Checked(Err(OpError::Unknown | OpError::Refused(_))) => {
                let at = host.now() + CHECK_AGAIN_MS * 1_000_000;
                check.set(look_after(Some(at), candidate.own_watch.is_none()).fuse());
            }
        }
    }
}

/// The events of a leader.
enum LeaderEvent<W> {
    State(SessionState),
    StepDown,
    OwnWatch(WatchEvent),
    Checked(Result<ObservedZnode<W>, OpError>),
}

/// An observed znode: absent, or its stat, with the watch if one was requested.
type ObservedZnode<W> = Option<(Stat, Option<W>)>;

async fn look<S: Session>(session: &S, path: &str, arm: bool) -> Result<ObservedZnode<S::Watch>, OpError> {
    if !arm {
        // It led by this znode and was disconnected: its present server may lag behind the end of its session.
        session.sync(path).await?;
        return Ok(session.exists(path).await?.map(|stat| (stat, None)));
    }
    // A get arms no watch on a znode that is gone.
    match session.get_and_watch(path).await {
        Ok((_, stat, watch)) => Ok(Some((stat, Some(watch)))),
        Err(OpError::Refused(Refusal::NoNode)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the observed znode is exactly this one and owned by this session; keeps the watch that came with it.
fn accept<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    node: &OwnNode,
    sight: ObservedZnode<S::Watch>,
    owns: impl Fn(&S, Stat) -> bool,
) -> bool {
    match sight {
        Some((stat, watch)) if stat.czxid == node.czxid && owns(candidate.session, stat) => {
            candidate.own_watch = watch.or(candidate.own_watch.take());
            true
        }
        _ => false,
    }
}

/// Waits for a watch; forever if there is none.
async fn fired<W: Watch>(watch: Option<&mut W>) -> WatchEvent {
    match watch {
        Some(watch) => watch.fired().await,
        None => std::future::pending().await,
    }
}
