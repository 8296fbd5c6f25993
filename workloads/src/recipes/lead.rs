//! Leading: the owner check, the grant, and the office until it ends.

use std::pin::pin;

use futures::future::Fuse;
use futures::{FutureExt, select_biased};

use super::candidate::{Answer, Candidate, Flow, Node, Own};
use crate::booth::{Booth, Nanos, Report, RevokeReason, Token};
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
        return Ok(session.exists(path).await?.map(|stat| (stat, None)));
    }
    // A get leaves no watch behind on a znode that is gone.
    match session.get_and_watch(path).await {
        Ok((_, stat, watch)) => Ok(Some((stat, Some(watch)))),
        Err(OpError::Refused(Refusal::NoNode)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl<S: Session, B: Booth> Candidate<'_, S, B> {
    /// Leads if the own znode is proven to be its own, until the belief ends. On return the recipe looks at the world afresh.
    pub(super) async fn lead(&mut self) -> Flow<()> {
        if self.take_office().await? { self.hold_office().await } else { Ok(()) }
    }

    /// The owner check, then the grant. False: it may not lead now.
    pub(super) async fn take_office(&mut self) -> Flow<bool> {
        let Own::Node(node) = self.own.clone() else { return Ok(false) };
        let (session, sent) = (self.session, self.booth.now());
        let arm = self.own_watch.is_none();
        let sight = match self.ask(look(session, &node.path, arm)).await? {
            Answer::Ok(sight) => sight,
            Answer::Refused(refusal) => return Err(self.stuck("the owner check was refused", &refusal)),
            Answer::Lost => return Ok(false),
        };
        if !self.accept(&node, sight) {
            self.note("its znode is gone or another's at the owner check");
            self.deposed(&node).await?;
            return Ok(false);
        }
        let too_old = session.timeout_ms() * 1_000_000 / CHECK_AGE_PER_T;
        if self.states.now() != SessionState::Connected || self.booth.now() - sent > too_old {
            return Ok(false);
        }
        self.grant(&node);
        Ok(true)
    }

    /// Whether what was seen is this very znode, owned by this very session; keeps the watch that came with it.
    fn accept(&mut self, node: &Node, sight: Sight<S::Watch>) -> bool {
        match sight {
            Some((stat, watch)) if stat.czxid == node.czxid && stat.ephemeral_owner == self.session.id() => {
                self.own_watch = watch.or(self.own_watch.take());
                true
            }
            _ => false,
        }
    }

    fn grant(&mut self, node: &Node) {
        let token = Token { czxid: node.czxid, session: self.session.id() };
        let term = self.terms.next();
        let at = self.booth.now();
        self.booth.report(Report::Grant { at, term, token, node: node.name() });
        self.term = Some(term);
        self.booth.believe(Some(token));
        self.booth.report(Report::Granted { at: self.booth.now(), term });
        self.settle();
    }

    /// Believes until the step-down policy, the end of the session or the loss of the znode ends it.
    async fn hold_office(&mut self) -> Flow<()> {
        let Own::Node(node) = self.own.clone() else { return Ok(()) };
        let (session, booth) = (self.session, self.booth);
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
                let Self { states, own_watch, .. } = &mut *self;
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
                | Event::Checked(Err(OpError::Ended(end))) => return Err(self.ended(end)),
                Event::State(SessionState::Disconnected) => {
                    match self.election.step_down.delay_ns(session.timeout_ms()) {
                        None => {}
                        Some(0) => return self.step_down(),
                        Some(delay) if !waiting => {
                            waiting = true;
                            step_down.set(booth.sleep_until(booth.now() + delay).fuse());
                        }
                        Some(_) => {}
                    }
                }
                Event::State(SessionState::Connected) => check.set(look_after(None, self.own_watch.is_none()).fuse()),
                Event::StepDown => return self.step_down(),
                Event::OwnWatch(event) => {
                    self.own_watch = None;
                    self.notified(node.name(), event);
                    if event == WatchEvent::Deleted {
                        self.revoke(RevokeReason::Deposed);
                        return self.deposed(&node).await;
                    }
                    check.set(look_after(None, true).fuse());
                }
                Event::Checked(Ok(sight)) => {
                    if !self.accept(&node, sight) {
                        self.revoke(RevokeReason::Deposed);
                        return self.deposed(&node).await;
                    }
                    // The lead outlived the loss: the policy's time starts anew with the next one.
                    waiting = false;
                    step_down.set(Fuse::terminated());
                    self.settle();
                }
                Event::Checked(Err(OpError::Unknown | OpError::Refused(_))) => {
                    let at = booth.now() + CHECK_AGAIN_MS * 1_000_000;
                    check.set(look_after(Some(at), self.own_watch.is_none()).fuse());
                }
            }
        }
    }

    fn step_down(&mut self) -> Flow<()> {
        self.revoke(RevokeReason::SteppedDown);
        Ok(())
    }

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
