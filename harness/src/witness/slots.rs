//! The slots of a host, as observed on its connections: which session is enrolled in which election, with
//! which znode, its wake-ups and its requests. The output is the same events that our own candidates record, except for
//! beliefs, which are not visible from outside.

use std::collections::{BTreeMap, HashMap};

use hustings_record::numbers::to_u32;
use hustings_record::{Departure, Event, Nanos, SessionEnd, SessionState, WatchEvent};
use serde::{Deserialize, Serialize};

use super::conversation::{DecodedMessage, PendingRequest, ReplyContent};
use super::relay::RelayEvent;
use super::slot::{EphemeralNode, EventReceiver, ObservedSlot};
use crate::wire::op_code;

/// A slot without requests for this long, and without a pending reply, has settled after a notification.
const QUIET_NS: Nanos = 50_000_000;
/// ZooKeeper's error code for a missing znode.
const NO_NODE: i32 = -101;

/// A session, as observed on its connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedSession {
    pub password: [u8; 16],
    pub timeout_ms: u64,
    /// Connections that carry it now.
    pub connections: u32,
    /// It was closed, or a server reported its expiry.
    pub over: bool,
    /// Its end was requested.
    pub closing: bool,
    /// Since when no connection carries it; None while one does.
    pub alone_since: Option<Nanos>,
    /// The last connection that carried it could not be decoded to its end.
    pub unread: bool,
}

/// The slots of a host, as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSlots {
    /// Each candidate's number, and its election's path on the wire.
    pub candidates: Vec<(u32, String)>,
    /// Every enrolled candidate has a znode of its own; otherwise only a leader has one.
    pub queue: bool,
}

/// The slots of one host: at most one per election, so that a path identifies the slot.
#[derive(Debug, Default)]
pub struct Slots {
    /// The slot of each election's path.
    elections: HashMap<String, u32>,
    queue: bool,
    /// When they were ordered to release everything.
    stopped: Option<Nanos>,
    slots: BTreeMap<u32, ObservedSlot>,
    sessions: BTreeMap<i64, ObservedSession>,
    /// The session of each connection, and when each connection was opened.
    carries: HashMap<u64, i64>,
    opened: HashMap<u64, Nanos>,
    /// Creates and deletions without a reply, and when they were requested, by connection and request.
    changes: HashMap<(u64, i32), (Nanos, PendingRequest)>,
    /// Number of connections with undecodable data.
    unsound: u64,
}

impl Slots {
    #[must_use]
    pub fn new(of_host: HostSlots) -> Self {
        let HostSlots { candidates, queue } = of_host;
        let slots = candidates.iter().map(|(cand, _)| (*cand, ObservedSlot::default())).collect();
        let elections = candidates.into_iter().map(|(cand, path)| (path, cand)).collect();
        Self { elections, queue, slots, ..Self::default() }
    }

    #[must_use]
    pub fn slot(&self, slot: u32) -> Option<&ObservedSlot> {
        self.slots.get(&slot)
    }

    /// All slots, in the order of their numbers.
    pub fn all(&self) -> impl Iterator<Item = &ObservedSlot> {
        self.slots.values()
    }

    #[must_use]
    pub fn session(&self, session: i64) -> Option<&ObservedSession> {
        self.sessions.get(&session)
    }

    /// Connections that carry a session now.
    pub fn carried_by(&self, session: i64) -> impl Iterator<Item = u64> {
        self.carries.iter().filter(move |(_, carried)| **carried == session).map(|(&connection, _)| connection)
    }

    /// Sessions that were ever granted, by id.
    pub fn sessions(&self) -> impl Iterator<Item = (i64, &ObservedSession)> {
        self.sessions.iter().map(|(&id, session)| (id, session))
    }

    /// Numbers of connected sessions and of enrolled slots.
    #[must_use]
    pub fn standing(&self) -> (u32, u32) {
        let connected = self.sessions.values().filter(|session| !session.over && session.connections > 0).count();
        (to_u32(connected), to_u32(self.slots.values().filter(|slot| slot.stands).count()))
    }

    /// Whether everything could be decoded.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.unsound == 0
    }

    /// Notes that a slot was ordered to resign.
    pub fn resigns(&mut self, slot: u32) {
        if let Some(seen) = self.slots.get_mut(&slot) {
            (seen.resigning, seen.gave_back) = (true, None);
        }
    }

    /// What contradicts a slot's report, by `said` at the latest, that it has resigned: on its connections, the
    /// deletion was acknowledged later, or not yet. None: no contradiction is visible.
    #[must_use]
    pub fn resigned_early(&self, slot: u32, said: Nanos) -> Option<String> {
        let seen = self.slots.get(&slot)?;
        if let Some((_, answered)) = seen.gave_back {
            let early = answered.checked_sub(said).filter(|early| *early > 0)?;
            return Some(format!(
                "slot {slot} said that it had resigned {} µs before its deletion was answered",
                early / 1_000
            ));
        }
        let connected =
            |node: &&EphemeralNode| self.sessions.get(&node.session).is_some_and(|s| !s.over && s.connections > 0);
        let node = seen.nodes.iter().find(connected)?;
        Some(format!("slot {slot} said that it had resigned, and the deletion of {} had not been answered", node.name))
    }

    /// Notes that all slots were ordered to release everything.
    pub fn stop(&mut self, t: Nanos) {
        self.stopped.get_or_insert(t);
    }

    /// Counts sessions that were connected at the order to release everything and were not closed, and their znodes in
    /// the elections. Sessions that were already cut off by then do not count: they are left to expire. Nor do those
    /// whose connections could not be decoded to the end: nobody knows whether they were closed.
    #[must_use]
    pub fn left_behind(&self) -> (usize, usize) {
        let stopped = self.stopped.unwrap_or(0);
        let left = |seen: &ObservedSession| {
            !seen.over && !seen.unread && seen.alone_since.is_none_or(|since| since >= stopped)
        };
        let nodes = self.slots.values().flat_map(|slot| &slot.nodes);
        let nodes = nodes.filter(|node| self.sessions.get(&node.session).is_some_and(left)).count();
        (self.sessions.values().filter(|seen| left(seen)).count(), nodes)
    }

    /// Handles an event on a connection at `t`.
    pub fn take(&mut self, t: Nanos, connection: u64, happened: &RelayEvent, tell: &mut EventReceiver<'_>) {
        match happened {
            RelayEvent::Opened => _ = self.opened.insert(connection, t),
            RelayEvent::Ended { failure } => {
                self.unsound += u64::from(failure.is_some());
                self.opened.remove(&connection);
                let session = self.carries.remove(&connection);
                self.unanswered(connection);
                let Some(session) = session else { return };
                if let Some(seen) = self.sessions.get_mut(&session) {
                    seen.unread = failure.is_some();
                }
                self.lost_connection(t, session, tell);
            }
            RelayEvent::Said(said) => self.said(t, connection, said, tell),
        }
    }

    /// Reports the slots that have settled by `now`.
    pub fn settle(&mut self, now: Nanos, tell: &mut EventReceiver<'_>) {
        for (&cand, seen) in &mut self.slots {
            let quiet = seen.waiting == 0 && now >= seen.moved_at.saturating_add(QUIET_NS);
            let Some(session) = seen.session.filter(|_| quiet) else { continue };
            if let Some(requests) = seen.unsettled.take() {
                tell(Event::Settled { t: now, cand, session, requests });
            }
        }
    }

    fn said(&mut self, t: Nanos, connection: u64, said: &DecodedMessage, tell: &mut EventReceiver<'_>) {
        match said {
            DecodedMessage::Established { session, password, asked_ms, timeout_ms, .. } => {
                self.carries.insert(connection, *session);
                let since = self.opened.get(&connection).copied().unwrap_or(t);
                self.established(t, *session, *password, (*asked_ms, *timeout_ms), t.saturating_sub(since), tell);
            }
            DecodedMessage::Expired { session } => self.over(t, *session, SessionEnd::Expired, tell),
            DecodedMessage::Asked(asked) => self.asked(t, connection, asked, tell),
            DecodedMessage::Answered { asked, error, shows, zxid } => {
                let Some(&session) = self.carries.get(&connection) else { return };
                self.answered(t, (connection, session), asked, (*error, *zxid, shows), tell);
            }
            DecodedMessage::Woken { path, kind } => self.woken(t, connection, path, *kind, tell),
        }
    }

    fn established(
        &mut self,
        t: Nanos,
        session: i64,
        password: [u8; 16],
        (asked_ms, timeout_ms): (i32, i32),
        connect_ns: Nanos,
        tell: &mut EventReceiver<'_>,
    ) {
        let ms = |ms: i32| u64::try_from(ms).unwrap_or(0);
        let known = self.sessions.get_mut(&session);
        match known {
            Some(seen) => {
                seen.connections += 1;
                seen.alone_since = None;
                if seen.connections == 1 && !seen.over {
                    tell(Event::State { t, session, state: SessionState::Connected });
                }
            }
            None => {
                let seen = ObservedSession {
                    password,
                    timeout_ms: ms(timeout_ms),
                    connections: 1,
                    over: false,
                    closing: false,
                    alone_since: None,
                    unread: false,
                };
                self.sessions.insert(session, seen);
                let (timeout_ms, asked_ms) = (ms(timeout_ms), ms(asked_ms));
                tell(Event::Session { t, session, timeout_ms, asked_ms, connect_ns });
            }
        }
    }

    fn lost_connection(&mut self, t: Nanos, session: i64, tell: &mut EventReceiver<'_>) {
        let Some(seen) = self.sessions.get_mut(&session) else { return };
        seen.connections = seen.connections.saturating_sub(1);
        if seen.connections == 0 {
            seen.alone_since = Some(t);
        }
        match seen.connections == 0 && !seen.over {
            // Some clients close the connection right after the request, without waiting for the reply.
            true if seen.closing => self.over(t, session, SessionEnd::Closed, tell),
            true => tell(Event::State { t, session, state: SessionState::Disconnected }),
            false => {}
        }
        // Its requests get no reply any more.
        self.slots.values_mut().filter(|slot| slot.session == Some(session)).for_each(|slot| slot.waiting = 0);
    }

    fn asked(&mut self, t: Nanos, connection: u64, asked: &PendingRequest, tell: &mut EventReceiver<'_>) {
        let Some(&session) = self.carries.get(&connection) else { return };
        if asked.op == op_code::CLOSE_SESSION
            && let Some(seen) = self.sessions.get_mut(&session)
        {
            seen.closing = true;
        }
        if asked.op == op_code::DELETE || asked.ephemeral {
            self.changes.insert((connection, asked.xid), (t, asked.clone()));
        }
        let Some((cand, _)) = self.of(&asked.path) else { return };
        if !self.is_of_slot(t, session, cand, asked) {
            return;
        }
        self.takes_over(t, session, cand, tell);
        let Some(seen) = self.slots.get_mut(&cand) else { return };
        if asked.ephemeral {
            seen.asks_for_node();
        }
        seen.unsettled = seen.unsettled.map(|requests| requests + 1);
        seen.waiting += 1;
        (seen.asked_at, seen.moved_at) = (Some(t), t);
    }

    /// Whether a request in the slot's election is one of the slot. While the slot's session owns a znode there, or may
    /// own one, another session takes the slot over only by asking for an ephemeral znode or a deletion: never by reading.
    fn is_of_slot(&self, t: Nanos, session: i64, cand: u32, asked: &PendingRequest) -> bool {
        let Some(owner) = self.slots.get(&cand).and_then(|seen| seen.session) else { return true };
        owner == session || asked.ephemeral || asked.op == op_code::DELETE || !self.may_own(t, owner, cand)
    }

    /// Whether this session of the slot owns a znode in the election at `t`, as far as is known, or has asked for one. One
    /// that no connection carried for two timeouts has expired, though nobody may have heard of it.
    fn may_own(&self, t: Nanos, session: i64, cand: u32) -> bool {
        let has_expired = self.sessions.get(&session).is_some_and(|seen| {
            seen.alone_since.is_some_and(|since| since.saturating_add(2 * seen.timeout_ms * 1_000_000) < t)
        });
        if has_expired {
            return false;
        }
        let asks = self.changes.iter().any(|((connection, _), (_, asked))| {
            let is_own = asked.ephemeral && self.carries.get(connection) == Some(&session);
            is_own && self.of(&asked.path).is_some_and(|(of, _)| of == cand)
        });
        asks || self.slots.get(&cand).is_some_and(|seen| seen.may_own(session))
    }

    /// The session is the slot's from now on, if it is not yet.
    fn takes_over(&mut self, t: Nanos, session: i64, cand: u32, tell: &mut EventReceiver<'_>) {
        let queue = self.queue;
        let Some(seen) = self.slots.get_mut(&cand) else { return };
        if seen.session != Some(session) {
            if let Some(before) = seen.session.replace(session).filter(|_| seen.stands) {
                let how = Departure::SessionEnded(SessionEnd::Expired);
                tell(Event::Left { t, cand, session: before, how });
            }
            seen.keep_session(|of| of == session);
            (seen.stands, seen.waiting, seen.unsettled) = (false, 0, None);
            tell(Event::Incarnation { t, cand, session });
        }
        if !queue && !seen.stands {
            seen.joins(t, cand, session, (None, None), tell);
        }
    }

    /// Handles a reply with an error or a zxid, and its information.
    fn answered(
        &mut self,
        t: Nanos,
        (connection, session): (u64, i64),
        asked: &PendingRequest,
        (error, zxid, shows): (i32, i64, &ReplyContent),
        tell: &mut EventReceiver<'_>,
    ) {
        let sent = self.changes.remove(&(connection, asked.xid)).map_or(t, |(sent, _)| sent);
        if error == 0 && asked.op == op_code::CLOSE_SESSION {
            return self.over(t, session, SessionEnd::Closed, tell);
        }
        let Some((cand, name)) = self.of(&asked.path) else { return };
        // The reply to a deletion tells of it.
        let older_are_gone = older_are_gone(error, zxid, shows).filter(|_| !self.is_being_deleted(&asked.path));
        let Some(seen) = self.slots.get_mut(&cand) else { return };
        let (owner, is_of_slot) = (seen.session, seen.session == Some(session));
        if is_of_slot {
            seen.waiting = seen.waiting.saturating_sub(1);
            seen.moved_at = t;
        } else if older_are_gone.is_some_and(|czxid| seen.drops_older(&name, czxid))
            && !self.queue
            && owner.is_none_or(|owner| !self.may_own(t, owner, cand))
        {
            // It asks for the lock, which its last owner has lost.
            self.takes_over(t, session, cand, tell);
        }
        match shows {
            ReplyContent::Made(path) if asked.ephemeral => self.has(t, session, path, zxid, tell),
            // A session that only reads here shows nothing of its own.
            ReplyContent::There { .. } | ReplyContent::Names(_) if !is_of_slot => {}
            ReplyContent::There { czxid, session: owner } if *owner == session => {
                self.has(t, session, &asked.path, *czxid, tell);
            }
            ReplyContent::There { .. } => self.gone(session, (cand, &name), (None, t), tell),
            ReplyContent::Names(names) if name.is_empty() => self.listed(t, session, cand, names, tell),
            // A missing znode had been deleted before.
            ReplyContent::Nothing if asked.op == op_code::DELETE && [0, NO_NODE].contains(&error) => {
                self.gone(session, (cand, &name), (Some(sent), t), tell);
            }
            ReplyContent::Nothing if error == NO_NODE => self.gone(session, (cand, &name), (None, t), tell),
            ReplyContent::Nothing | ReplyContent::Made(_) | ReplyContent::Names(_) => {}
        }
    }

    /// Pending requests on this connection get no reply any more; they may have been executed.
    fn unanswered(&mut self, connection: u64) {
        let (lost, left): (Vec<_>, Vec<_>) = self.changes.drain().partition(|((of, _), _)| *of == connection);
        self.changes.extend(left);
        for (_, (sent, asked)) in lost {
            let Some((cand, name)) = self.of(&asked.path) else { continue };
            let Some(seen) = self.slots.get_mut(&cand) else { continue };
            if asked.ephemeral { seen.note_unanswered_create(name) } else { seen.note_unanswered_delete(&name, sent) }
        }
    }

    /// A znode of a session's own was created, or exists.
    fn has(&mut self, t: Nanos, session: i64, path: &str, czxid: i64, tell: &mut EventReceiver<'_>) {
        let queue = self.queue;
        let Some((cand, name)) = self.of(path).filter(|(_, name)| !name.is_empty()) else { return };
        let Some(seen) = self.slots.get_mut(&cand) else { return };
        if !seen.has(&name, czxid, session) {
            return;
        }
        tell(Event::Created { t, cand, session, node: name.clone(), czxid });
        if queue {
            seen.joins(t, cand, session, (Some(name), Some(czxid)), tell);
        }
    }

    /// Handles a list of the names in an election.
    fn listed(&mut self, t: Nanos, session: i64, cand: u32, names: &[String], tell: &mut EventReceiver<'_>) {
        let queue = self.queue;
        let Some(seen) = self.slots.get_mut(&cand) else { return };
        let (gone, found) = seen.sees(names, session);
        if let Some(name) = found.filter(|_| queue) {
            seen.joins(t, cand, session, (Some(name), None), tell);
        }
        gone.iter().for_each(|name| self.gone(session, (cand, name), (None, t), tell));
    }

    /// A znode is gone; `given_back`: when its deletion was requested.
    fn gone(
        &mut self,
        session: i64,
        (cand, name): (u32, &str),
        (given_back, t): (Option<Nanos>, Nanos),
        tell: &mut EventReceiver<'_>,
    ) {
        let stopping = self.stopped.is_some();
        let Some(seen) = self.slots.get_mut(&cand) else { return };
        let Some((unanswered, has_another)) = seen.takes_out(name, session) else { return };
        let Some(sent) = unanswered.or(given_back).filter(|_| !has_another) else { return };
        let times = (sent, t);
        seen.gave_back = Some(times);
        if std::mem::take(&mut seen.stands) {
            let how = if stopping {
                Departure::Stopped
            } else if std::mem::take(&mut seen.resigning) {
                Departure::Resigned { delete: Some(times) }
            } else {
                Departure::Failed("it gave its znode back without an order".to_owned())
            };
            seen.unsettled = None;
            tell(Event::Left { t, cand, session, how });
        }
    }

    fn woken(&mut self, t: Nanos, connection: u64, path: &str, kind: WatchEvent, tell: &mut EventReceiver<'_>) {
        let Some(&session) = self.carries.get(&connection) else { return };
        let Some((cand, name)) = self.of(path) else { return };
        let is_gone = kind == WatchEvent::Deleted && !self.is_being_deleted(path);
        let Some(seen) = self.slots.get_mut(&cand) else { return };
        // The reply reports its own deletions.
        if is_gone {
            seen.takes_out(&name, session);
        }
        let node = if name.is_empty() { path.rsplit('/').next().unwrap_or_default().to_owned() } else { name };
        (seen.unsettled, seen.moved_at) = (Some(0), t);
        tell(Event::Notified { t, cand, session, node, kind });
    }

    /// Whether a request to delete this znode has no reply yet.
    fn is_being_deleted(&self, path: &str) -> bool {
        self.changes.values().any(|(_, asked)| asked.op == op_code::DELETE && asked.path == path)
    }

    /// A session has ended, and its znodes with it.
    fn over(&mut self, t: Nanos, session: i64, end: SessionEnd, tell: &mut EventReceiver<'_>) {
        if let Some(seen) = self.sessions.get_mut(&session)
            && !std::mem::replace(&mut seen.over, true)
        {
            tell(Event::State { t, session, state: SessionState::Ended(end) });
        }
        for (&cand, slot) in &mut self.slots {
            slot.keep_session(|of| of != session);
            if slot.session == Some(session) && std::mem::take(&mut slot.stands) {
                let how = match end {
                    SessionEnd::Closed => Departure::Stopped,
                    SessionEnd::Expired | SessionEnd::AuthFailed => Departure::SessionEnded(end),
                };
                (slot.unsettled, slot.waiting) = (None, 0);
                tell(Event::Left { t, cand, session, how });
            }
        }
    }

    /// The slot whose election contains this path, and the rest of the path.
    fn of(&self, path: &str) -> Option<(u32, String)> {
        let mut at = path;
        loop {
            if let Some(&slot) = self.elections.get(at) {
                return Some((slot, path[at.len()..].trim_start_matches('/').to_owned()));
            }
            at = &at[..at.rfind('/').filter(|slash| *slash > 0)?];
        }
    }
}

/// A reply about a znode shows that all older ones of its name are gone: those with a lower czxid than this.
fn older_are_gone(error: i32, zxid: i64, shows: &ReplyContent) -> Option<i64> {
    match shows {
        ReplyContent::There { czxid, .. } => Some(*czxid),
        ReplyContent::Nothing if error == NO_NODE => Some(zxid.saturating_add(1)),
        ReplyContent::Nothing | ReplyContent::Made(_) | ReplyContent::Names(_) => None,
    }
}

#[cfg(test)]
mod tests;
