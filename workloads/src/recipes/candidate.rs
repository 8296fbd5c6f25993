//! State shared by all recipes: the candidate's state, its requests, its waits and its reports. It outlives a cancelled
//! recipe, so that an order can interrupt the recipe anywhere without leaving anything behind.

use std::future::Future;

use futures::{FutureExt, select_biased};
use hustings_record::StepDown;

use super::election::Election;
use super::lifecycle::{Lifecycle, UnconfirmedZnode};
use super::names;
use super::own_znode::{OwnNode, OwnZnodeState};
use crate::coordination::{OpError, Refusal, Session, SessionEnd, SessionState, States, Watch, WatchEvent};
use crate::host::{Departure, Event, Host, Nanos, RevokeReason};

/// The first and the longest wait before a request with a lost answer is repeated, while the connection seems to be up.
const BACK_OFF_MIN_MS: u64 = 20;
const BACK_OFF_MAX_MS: u64 = 1_000;

/// Bound on the wait for a notification that must be in flight.
const NOTIFICATION_MAX_MS: u64 = 100;

/// The result of a step of a recipe, or how the incarnation ends.
pub(super) type StepResult<T> = Result<T, Departure>;

/// The ensemble's answer to an operation, where the recipe continues after it.
pub(super) enum OperationAnswer<T> {
    Ok(T),
    Refused(Refusal),
    /// The outcome is unknown; the connection is back.
    Lost,
}

/// A watch on another candidate's znode.
pub(super) struct ArmedWatch<W> {
    pub(super) name: String,
    pub(super) watch: W,
}

/// Why a waiting candidate woke up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    Fired(WatchEvent),
    /// The connection was lost and is back: the recipe must not rely on watches alone.
    Reconnected,
}

pub(super) struct Candidate<'a, S: Session, H: Host> {
    pub(super) session: &'a S,
    pub(super) host: &'a H,
    pub(super) election: &'a Election,
    pub(super) lifecycle: &'a Lifecycle,
    pub(super) states: S::States,
    pub(super) guid: String,
    pub(super) own: OwnZnodeState,
    /// On the own znode, from the first grant on until it is gone.
    pub(super) own_watch: Option<S::Watch>,
    pub(super) watch: Option<ArmedWatch<S::Watch>>,
    /// The term it believes in.
    pub(super) term: Option<u32>,
    /// Version of the breadcrumb while it names this incarnation.
    pub(super) breadcrumb: Option<i32>,
    /// Whether the election's path was seen to exist: from then on its absence means that it was deleted.
    pub(super) election_seen: bool,
    pub(super) joined: bool,
    /// Whether a notification, or joining, still has pending consequences.
    pub(super) unsettled: bool,
    /// Requests sent before it joined or was last notified.
    requests_before: u64,
    /// Watches that a broken recipe never gives back.
    pub(super) left_armed: Vec<S::Watch>,
    back_off_ms: u64,
}

impl<'a, S: Session, H: Host> Candidate<'a, S, H> {
    pub(super) fn new(session: &'a S, host: &'a H, election: &'a Election, lifecycle: &'a Lifecycle) -> Self {
        Self {
            session,
            host,
            election,
            lifecycle,
            states: session.states(),
            guid: names::guid(host.draw(), host.draw()),
            own: OwnZnodeState::None,
            own_watch: None,
            watch: None,
            term: None,
            breadcrumb: None,
            election_seen: false,
            joined: false,
            unsettled: false,
            requests_before: 0,
            left_armed: Vec::new(),
            back_off_ms: BACK_OFF_MIN_MS,
        }
    }

    /// The candidate's identity, as written in its znodes: guid, host, candidate.
    pub(super) fn identity(&self) -> String {
        format!("{} {} {}", self.guid, self.host.number(), self.host.candidate())
    }

    /// Waits for the answer to a request. If the answer is lost, returns only when the connection is back.
    pub(super) async fn ask<T>(
        &mut self,
        question: impl Future<Output = Result<T, OpError>>,
    ) -> StepResult<OperationAnswer<T>> {
        match question.await {
            Ok(value) => {
                self.back_off_ms = BACK_OFF_MIN_MS;
                Ok(OperationAnswer::Ok(value))
            }
            Err(OpError::Refused(refusal)) => {
                self.back_off_ms = BACK_OFF_MIN_MS;
                Ok(OperationAnswer::Refused(refusal))
            }
            Err(OpError::Unknown) => {
                self.back_off().await;
                self.connected().await?;
                Ok(OperationAnswer::Lost)
            }
            Err(OpError::Ended(end)) => Err(Departure::SessionEnded(end)),
        }
    }

    /// Waits for a change of the connection's state, or for a time that doubles with each successive lost answer.
    async fn back_off(&mut self) {
        let until = self.host.now() + self.back_off_ms * 1_000_000;
        self.back_off_ms = (self.back_off_ms * 2).min(BACK_OFF_MAX_MS);
        if self.states.now() == SessionState::Connected {
            select_biased! {
                _ = self.states.changed().fuse() => {}
                () = self.host.sleep_until(until).fuse() => {}
            }
        }
    }

    /// Waits until the session is connected.
    pub(super) async fn connected(&mut self) -> StepResult<()> {
        let mut state = self.states.now();
        loop {
            match state {
                SessionState::Connected => return Ok(()),
                SessionState::Ended(end) => return Err(Departure::SessionEnded(end)),
                SessionState::Disconnected => state = self.states.changed().await,
            }
        }
    }

    /// Waits for this long, or until the session ends.
    pub(super) async fn pause(&mut self, for_ms: u64) -> StepResult<()> {
        let mut until = std::pin::pin!(self.host.sleep_until(self.host.now() + for_ms * 1_000_000).fuse());
        loop {
            select_biased! {
                () = until => return Ok(()),
                state = self.states.changed().fuse() => if let SessionState::Ended(end) = state {
                    return Err(Departure::SessionEnded(end));
                },
            }
        }
    }

    /// Waits for the armed watch, a reconnect or the end of the session.
    pub(super) async fn wait(&mut self) -> StepResult<Wake> {
        self.settle();
        loop {
            let Self { states, watch, .. } = &mut *self;
            let Some(armed) = watch else { return Ok(Wake::Reconnected) };
            select_biased! {
                state = states.changed().fuse() => match state {
                    SessionState::Ended(end) => return Err(Departure::SessionEnded(end)),
                    SessionState::Connected => return Ok(Wake::Reconnected),
                    SessionState::Disconnected => {}
                },
                event = armed.watch.fired().fuse() => {
                    if let WatchEvent::Ended(end) = event {
                        return Err(Departure::SessionEnded(end));
                    }
                    if let Some(armed) = self.watch.take() {
                        self.notified(&armed.name, event);
                    }
                    return Ok(Wake::Fired(event));
                }
            }
        }
    }

    /// Replaces the armed watch. The new one is armed before the old one is dropped, so that the same znode stays
    /// watched throughout. An old one that has fired in the meantime is reported.
    pub(super) fn rearm(&mut self, new: Option<ArmedWatch<S::Watch>>) {
        if let Some(mut old) = std::mem::replace(&mut self.watch, new)
            && let Some(event) = old.watch.fired().now_or_never()
        {
            self.notified(&old.name, event);
        }
    }

    /// The own znode is gone: takes in its notification, which must be in flight if there is a watch.
    pub(super) async fn drop_own_watch(&mut self, name: &str) {
        let Some(mut watch) = self.own_watch.take() else { return };
        let until = self.host.now() + NOTIFICATION_MAX_MS * 1_000_000;
        let event = select_biased! {
            event = watch.fired().fuse() => Some(event),
            () = self.host.sleep_until(until).fuse() => None,
        };
        if let Some(event) = event {
            self.notified(name, event);
        }
    }

    /// Reports once that it is enrolled. It is settled when it first waits or leads.
    pub(super) fn join(&mut self, node: Option<&OwnNode>) {
        if !std::mem::replace(&mut self.joined, true) {
            let (name, czxid) = (node.map(|node| node.name().to_owned()), node.map(|node| node.czxid));
            self.record(|t, cand, session| Event::Joined { t, cand, session, node: name, czxid });
            self.unsettle();
        }
    }

    pub(super) fn notified(&mut self, name: &str, event: WatchEvent) {
        if matches!(event, WatchEvent::Ended(_)) {
            return;
        }
        let node = name.to_owned();
        self.record(|t, cand, session| Event::Notified { t, cand, session, node, kind: event });
        self.unsettle();
    }

    fn unsettle(&mut self) {
        self.unsettled = true;
        self.requests_before = self.session.requests();
    }

    /// All consequences of the notifications so far are done.
    pub(super) fn settle(&mut self) {
        if std::mem::take(&mut self.unsettled) {
            let requests = u32::try_from(self.session.requests() - self.requests_before).unwrap_or(u32::MAX);
            self.record(|t, cand, session| Event::Settled { t, cand, session, requests });
        }
    }

    /// Notes an incident that is not an event of the protocol (an unknown create, a zombie found and deleted …).
    pub(super) fn note(&self, text: &str) {
        let text = text.to_owned();
        self.record(|t, cand, _| Event::Note { t, cand: Some(cand), text });
    }

    /// Records an action of this candidate now, under its session.
    pub(super) fn record(&self, event: impl FnOnce(Nanos, u32, i64) -> Event) {
        self.host.record(event(self.host.now(), self.host.candidate(), self.session.id()));
    }

    /// Whether it leads, and did not lose its connection since the owner check that it leads on.
    pub(super) fn leads_undisturbed(&self) -> bool {
        self.term.is_some() && self.election.step_down == StepDown::OnDisconnect
    }

    /// Ends the belief, then reports that; the caller may act on it only after this.
    pub(super) fn revoke(&mut self, reason: RevokeReason) {
        if let Some(term) = self.term.take() {
            let from = self.host.now();
            self.host.believe(None);
            let to = self.host.now();
            self.record(|_, cand, session| Event::Revoke { from, to, cand, session, term, reason });
        }
    }

    /// Concludes an incarnation that ended by itself: no belief survives it.
    pub(super) fn conclude(mut self, departure: Departure) -> Departure {
        self.revoke(match departure {
            Departure::SessionEnded(_) => RevokeReason::SessionEnded,
            Departure::ElectionDeleted => RevokeReason::ElectionDeleted,
            _ => RevokeReason::Deposed,
        });
        if matches!(departure, Departure::Failed(_)) {
            self.leave_behind();
        }
        self.rearm(None);
        self.settle();
        departure
    }

    /// The next incarnation under this session must remove the remains of this one.
    pub(super) fn leave_behind(&self) {
        if self.own != OwnZnodeState::None {
            let (session, guid, own) = (self.session.id(), self.guid.clone(), self.own.clone());
            self.lifecycle.leave_behind(Some(UnconfirmedZnode { session, guid, own }));
        }
    }

    pub(super) fn ended(&mut self, end: SessionEnd) -> Departure {
        self.revoke(RevokeReason::SessionEnded);
        Departure::SessionEnded(end)
    }

    /// The departure of a candidate that received an answer that its recipe does not handle.
    pub(super) fn stuck(&self, what: &str, refusal: &Refusal) -> Departure {
        Departure::Failed(format!("{what} under {}: {refusal}", self.election.path))
    }
}
