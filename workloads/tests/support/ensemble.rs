//! The tree, the sessions and the watches, and the places where a test can interfere.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures::future::poll_fn;
use hustings_workloads::coordination::{CreateMode, OpError, Refusal, SessionState, Stat, WatchEvent};

use super::booth::Hall;

/// A recipe that asks more often than this is in a livelock.
const CALLS_MAX: u64 = 200_000;

/// Kinds of operations, for hooks to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Create,
    Delete,
    Children,
    Exists,
    Get,
    GetAndWatch,
    Set,
    Multi,
    Sync,
}

#[derive(Clone)]
pub(crate) struct Ensemble(Rc<RefCell<State>>);

#[derive(Default)]
pub(super) struct State {
    pub(super) zxid: i64,
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) sessions: BTreeMap<i64, Row>,
    pub(super) watches: Vec<WatchRow>,
    pub(super) next_watch: u64,
    pub(super) hooks: Vec<Hook>,
    pub(super) calls: u64,
    pub(super) hold_events: bool,
    /// Sessions whose events alone are held.
    pub(super) held_sessions: BTreeSet<i64>,
    pub(super) held_events: Vec<(Rc<RefCell<Slot>>, WatchEvent)>,
    pub(super) keeps_ephemerals: bool,
    /// Milliseconds that a request of these sessions is under way, and its answer as well.
    pub(super) slow: BTreeMap<i64, (u64, Rc<Hall>)>,
}

pub(super) struct Node {
    pub(super) data: Vec<u8>,
    pub(super) czxid: i64,
    pub(super) version: i32,
    pub(super) owner: i64,
    pub(super) counter: i32,
}

pub(super) struct Row {
    pub(super) state: SessionState,
    /// Counts the changes of state.
    pub(super) changes: u64,
    /// Counts the connections: an answer does not survive its connection.
    pub(super) connection: u64,
    pub(super) silent: bool,
    pub(super) wakers: Vec<Waker>,
    pub(super) missed: Vec<(Rc<RefCell<Slot>>, WatchEvent)>,
}

pub(super) struct WatchRow {
    pub(super) id: u64,
    pub(super) session: i64,
    pub(super) path: String,
    pub(super) slot: Rc<RefCell<Slot>>,
}

#[derive(Default)]
pub(super) struct Slot {
    pub(super) event: Option<WatchEvent>,
    pub(super) waker: Option<Waker>,
}

pub(super) struct Hook {
    pub(super) session: Option<i64>,
    pub(super) kind: Kind,
    pub(super) part: String,
    pub(super) act: Act,
}

pub(super) enum Act {
    /// Runs before the operation is carried out.
    Before(Box<dyn FnOnce(&Ensemble)>),
    /// The operation is carried out, its answer is lost with the connection.
    DropReply,
    /// The operation is carried out; its answer comes only if the connection outlives it until `release`.
    HoldReply,
}

impl Ensemble {
    pub(crate) fn new() -> Self {
        Self(Rc::default())
    }

    pub(super) fn state(&self) -> RefMut<'_, State> {
        self.0.borrow_mut()
    }

    pub(crate) fn open(&self, id: i64) {
        let row = Row {
            state: SessionState::Connected,
            changes: 0,
            connection: 0,
            silent: false,
            wakers: Vec::new(),
            missed: Vec::new(),
        };
        self.state().sessions.insert(id, row);
    }

    async fn travel(&self, id: i64) {
        let slow = self.state().slow.get(&id).cloned();
        if let Some((ms, hall)) = slow {
            hall.sleep_until(hall.now.get() + ms * 1_000_000).await;
        }
    }

    pub(super) fn change(&self, id: i64, to: SessionState) {
        let wakers = {
            let mut state = self.state();
            let Some(row) = state.sessions.get_mut(&id) else { return };
            if row.state == to || matches!(row.state, SessionState::Ended(_)) {
                return;
            }
            row.state = to;
            row.changes += 1;
            row.silent = false;
            row.connection += 1;
            std::mem::take(&mut row.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    // ---- looking in from outside

    pub(crate) fn paths(&self, under: &str) -> Vec<String> {
        let prefix = format!("{under}/");
        self.state().nodes.keys().filter(|path| path.starts_with(&prefix)).cloned().collect()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.state().nodes.contains_key(path)
    }

    pub(crate) fn data(&self, path: &str) -> Option<String> {
        self.state().nodes.get(path).map(|node| String::from_utf8_lossy(&node.data).into_owned())
    }

    /// Paths of the znodes that this session owns.
    pub(crate) fn owned_by(&self, id: i64) -> Vec<String> {
        self.state().nodes.iter().filter(|(_, node)| node.owner == id).map(|(path, _)| path.clone()).collect()
    }

    pub(crate) fn watches(&self) -> usize {
        self.state().watches.len()
    }

    pub(crate) fn calls(&self) -> u64 {
        self.state().calls
    }

    pub(crate) fn set_counter(&self, path: &str, counter: i32) {
        if let Some(node) = self.state().nodes.get_mut(path) {
            node.counter = counter;
        }
    }

    /// Somebody outside makes a znode.
    pub(crate) fn put(&self, path: &str, data: &str, owner: i64) {
        let mut state = self.state();
        state.zxid += 1;
        let czxid = state.zxid;
        let node = Node { data: data.into(), czxid, version: 0, owner, counter: 0 };
        state.nodes.insert(path.to_owned(), node);
    }

    /// Somebody outside deletes a znode with all that is in it.
    pub(crate) fn remove_all(&self, path: &str) {
        for child in self.paths(path) {
            self.remove(&child);
        }
        self.remove(path);
    }

    pub(crate) fn remove(&self, path: &str) -> bool {
        let gone = {
            let mut state = self.state();
            state.zxid += 1;
            state.nodes.remove(path).is_some()
        };
        if gone {
            self.trigger(path, WatchEvent::Deleted);
        }
        gone
    }

    // ---- operations

    /// Carries an operation out for a session, with everything that a test put in its way.
    pub(super) async fn call<T>(
        &self,
        id: i64,
        kind: Kind,
        path: &str,
        run: impl FnOnce(&Ensemble) -> Result<T, OpError>,
    ) -> Result<T, OpError> {
        let mut fate = None;
        while let Some(hook) = self.matching(id, kind, path) {
            match hook.act {
                Act::Before(act) => act(self),
                other => fate = Some(other),
            }
        }
        self.state().calls += 1;
        assert!(self.state().calls < CALLS_MAX, "livelock: {kind:?} {path}");
        let (state, connection, silent) = self.line(id);
        self.travel(id).await;
        if self.line(id).1 != connection {
            return Err(self.loss(id));
        }
        match state {
            SessionState::Ended(end) => return Err(OpError::Ended(end)),
            SessionState::Disconnected => return Err(OpError::Unknown),
            SessionState::Connected if silent => {
                self.new_connection(id, connection).await;
                return Err(self.loss(id));
            }
            SessionState::Connected => {}
        }
        let result = run(self);
        match fate {
            Some(Act::DropReply) => self.disconnect(id),
            Some(Act::HoldReply) => self.new_connection(id, connection).await,
            _ => yield_once().await,
        }
        self.travel(id).await;
        if self.line(id).1 == connection { result } else { Err(self.loss(id)) }
    }

    fn matching(&self, id: i64, kind: Kind, path: &str) -> Option<Hook> {
        let mut state = self.state();
        let place = state
            .hooks
            .iter()
            .position(|hook| hook.kind == kind && hook.session.is_none_or(|s| s == id) && path.contains(&hook.part))?;
        Some(state.hooks.remove(place))
    }

    fn line(&self, id: i64) -> (SessionState, u64, bool) {
        let state = self.state();
        let row = &state.sessions[&id];
        (row.state, row.connection, row.silent)
    }

    fn loss(&self, id: i64) -> OpError {
        match self.line(id).0 {
            SessionState::Ended(end) => OpError::Ended(end),
            _ => OpError::Unknown,
        }
    }

    async fn new_connection(&self, id: i64, old: u64) {
        poll_fn(|cx| {
            let mut state = self.state();
            let Some(row) = state.sessions.get_mut(&id) else { return Poll::Ready(()) };
            if row.connection != old {
                return Poll::Ready(());
            }
            row.wakers.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    pub(super) fn changes(&self, id: i64) -> (u64, SessionState) {
        let state = self.state();
        let row = &state.sessions[&id];
        (row.changes, row.state)
    }

    pub(super) fn on_change(&self, id: i64, waker: Waker) {
        if let Some(row) = self.state().sessions.get_mut(&id) {
            row.wakers.push(waker);
        }
    }

    pub(super) fn create(&self, id: i64, path: &str, data: &[u8], mode: CreateMode) -> Result<(String, i64), OpError> {
        let mut state = self.state();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
        let mut full = path.to_owned();
        if !parent.is_empty() {
            let Some(node) = state.nodes.get_mut(&parent) else { return Err(OpError::Refused(Refusal::NoNode)) };
            if mode == CreateMode::EphemeralSequential {
                full = format!("{path}{:010}", node.counter);
                node.counter = node.counter.wrapping_add(1);
            }
        }
        if state.nodes.contains_key(&full) {
            return Err(OpError::Refused(Refusal::NodeExists));
        }
        state.zxid += 1;
        let czxid = state.zxid;
        let ephemeral = matches!(mode, CreateMode::Ephemeral | CreateMode::EphemeralSequential);
        let owner = if ephemeral { id } else { 0 };
        state.nodes.insert(full.clone(), Node { data: data.to_vec(), czxid, version: 0, owner, counter: 0 });
        drop(state);
        self.trigger(&full, WatchEvent::Created);
        Ok((full, czxid))
    }

    pub(super) fn delete(&self, path: &str, version: Option<i32>) -> Result<(), OpError> {
        let stat = self.stat(path).ok_or(OpError::Refused(Refusal::NoNode))?;
        if version.is_some_and(|version| version != stat.version) {
            return Err(OpError::Refused(Refusal::BadVersion));
        }
        if !self.paths(path).is_empty() {
            return Err(OpError::Refused(Refusal::NotEmpty));
        }
        self.remove(path);
        Ok(())
    }

    pub(super) fn children(&self, path: &str) -> Result<Vec<String>, OpError> {
        self.stat(path).ok_or(OpError::Refused(Refusal::NoNode))?;
        let names = self.paths(path).into_iter().map(|child| child[path.len() + 1..].to_owned());
        Ok(names.filter(|name| !name.contains('/')).collect())
    }

    pub(super) fn stat(&self, path: &str) -> Option<Stat> {
        let state = self.state();
        let node = state.nodes.get(path)?;
        Some(Stat { czxid: node.czxid, version: node.version, ephemeral_owner: node.owner })
    }

    pub(super) fn get(&self, path: &str) -> Result<(Vec<u8>, Stat), OpError> {
        let stat = self.stat(path).ok_or(OpError::Refused(Refusal::NoNode))?;
        Ok((self.state().nodes[path].data.clone(), stat))
    }

    pub(crate) fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat, OpError> {
        let stat = self.stat(path).ok_or(OpError::Refused(Refusal::NoNode))?;
        if version.is_some_and(|version| version != stat.version) {
            return Err(OpError::Refused(Refusal::BadVersion));
        }
        if let Some(node) = self.state().nodes.get_mut(path) {
            node.version += 1;
            node.data = data.to_vec();
        }
        self.trigger(path, WatchEvent::DataChanged);
        Ok(Stat { version: stat.version + 1, ..stat })
    }

    pub(super) fn watch(&self, id: i64, path: &str) -> (u64, Rc<RefCell<Slot>>) {
        let mut state = self.state();
        state.next_watch += 1;
        let (watch, slot) = (state.next_watch, Rc::<RefCell<Slot>>::default());
        state.watches.push(WatchRow { id: watch, session: id, path: path.to_owned(), slot: slot.clone() });
        (watch, slot)
    }

    pub(super) fn disarm(&self, watch: u64) {
        self.state().watches.retain(|row| row.id != watch);
    }

    fn trigger(&self, path: &str, event: WatchEvent) {
        let due: Vec<WatchRow> = {
            let mut state = self.state();
            let (due, rest) = std::mem::take(&mut state.watches).into_iter().partition(|row| row.path == path);
            state.watches = rest;
            due
        };
        for row in due {
            let (line, _, silent) = self.line(row.session);
            let mut state = self.state();
            if state.hold_events || state.held_sessions.contains(&row.session) {
                state.held_events.push((row.slot, event));
            } else if line == SessionState::Connected && !silent {
                drop(state);
                deliver(&row.slot, event);
            } else if let Some(session) = state.sessions.get_mut(&row.session) {
                session.missed.push((row.slot, event));
            }
        }
    }
}

pub(super) fn deliver(slot: &Rc<RefCell<Slot>>, event: WatchEvent) {
    let mut slot = slot.borrow_mut();
    slot.event = Some(event);
    if let Some(waker) = slot.waker.take() {
        waker.wake();
    }
}

async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
