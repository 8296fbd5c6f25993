//! The watches that one server holds: which connections watch a path, and which paths a connection watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::apply::Trigger;
use super::interface::Conn;
use super::op::{EventKind, WatcherType};
use super::path;
use super::table::Table;

/// How a connection watches a path: bits.
pub(super) type Kinds = u8;

/// One-shot, for the znode itself.
pub(super) const DATA: Kinds = 1;
/// One-shot, for its children.
pub(super) const CHILD: Kinds = 2;
/// As `DATA`, but persistent.
pub(super) const STANDING_DATA: Kinds = 4;
/// As `CHILD`, but persistent.
pub(super) const STANDING_CHILD: Kinds = 8;
/// Persistent, for the znode and everything below.
pub(super) const RECURSIVE: Kinds = 16;

/// What ZooKeeper calls a persistent watch.
pub(super) const STANDING: Kinds = STANDING_DATA | STANDING_CHILD;

const OF_DATA: Kinds = DATA | STANDING_DATA | RECURSIVE;
const OF_CHILDREN: Kinds = CHILD | STANDING_CHILD;

/// Number of a watched path in the table.
type WatchIndex = u32;

#[derive(Debug)]
struct WatchedPath {
    path: Arc<str>,
    by: BTreeMap<Conn, Kinds>,
}

#[derive(Debug, Default)]
pub(super) struct WatchTable {
    slots: Vec<Option<WatchedPath>>,
    free: Vec<WatchIndex>,
    by_path: Table<Arc<str>, WatchIndex>,
    by_conn: Table<Conn, BTreeSet<WatchIndex>>,
    /// Number of watches as ZooKeeper counts them: data and child watches separately.
    count: u64,
    recursive: u64,
    told: BTreeMap<EventKind, FiredWatches>,
}

/// How many watches the changes of one kind trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FiredWatches {
    /// Changes with at least one watch.
    pub(super) changes: u64,
    pub(super) watches: u64,
    pub(super) least: u64,
    pub(super) most: u64,
}

impl FiredWatches {
    fn add(&mut self, watches: u64) {
        self.least = if self.changes == 0 { watches } else { self.least.min(watches) };
        self.most = self.most.max(watches);
        self.changes += 1;
        self.watches += watches;
    }
}

impl WatchTable {
    pub(super) fn add(&mut self, conn: Conn, path: &str, kinds: Kinds) {
        let slot = self.slot_of(path);
        let watched = self.slots[slot as usize].as_mut().expect("a slot with a path is taken");
        let had = watched.by.get(&conn).copied().unwrap_or(0);
        watched.by.insert(conn, had | kinds);
        if had == 0 {
            self.by_conn.entry(conn).or_default().insert(slot);
        }
        self.recount(had, had | kinds);
    }

    fn slot_of(&mut self, path: &str) -> WatchIndex {
        if let Some(&slot) = self.by_path.get(path) {
            return slot;
        }
        let path: Arc<str> = path.into();
        let watched = Some(WatchedPath { path: path.clone(), by: BTreeMap::new() });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = watched;
                slot
            }
            None => {
                self.slots.push(watched);
                WatchIndex::try_from(self.slots.len() - 1).expect("fewer than 2^32 watched paths")
            }
        };
        self.by_path.insert(path, slot);
        slot
    }

    fn recount(&mut self, had: Kinds, has: Kinds) {
        let tables = |kinds: Kinds| u64::from(kinds & OF_DATA != 0) + u64::from(kinds & OF_CHILDREN != 0);
        self.count = self.count + tables(has) - tables(had);
        let recursive = |kinds: Kinds| u64::from(kinds & RECURSIVE != 0);
        self.recursive = self.recursive + recursive(has) - recursive(had);
    }

    /// How the connection watches the path.
    pub(super) fn kinds(&self, conn: Conn, path: &str) -> Kinds {
        let watched = self.by_path.get(path).and_then(|&slot| self.slots[slot as usize].as_ref());
        watched.and_then(|watched| watched.by.get(&conn)).copied().unwrap_or(0)
    }

    /// Removes some of a connection's watches from a path; false if there were none.
    pub(super) fn remove(&mut self, conn: Conn, path: &str, kinds: Kinds) -> bool {
        let Some(&slot) = self.by_path.get(path) else { return false };
        let Some(watched) = self.slots[slot as usize].as_mut() else { return false };
        let Some(had) = watched.by.get(&conn).copied().filter(|had| had & kinds != 0) else { return false };
        let left = had & !kinds;
        if left == 0 {
            watched.by.remove(&conn);
            self.forget(conn, slot);
        } else {
            watched.by.insert(conn, left);
        }
        self.recount(had, left);
        self.free_if_unwatched(slot);
        true
    }

    fn forget(&mut self, conn: Conn, slot: WatchIndex) {
        if let Some(slots) = self.by_conn.get_mut(&conn) {
            slots.remove(&slot);
            if slots.is_empty() {
                self.by_conn.remove(&conn);
            }
        }
    }

    fn free_if_unwatched(&mut self, slot: WatchIndex) {
        if let Some(watched) = self.slots[slot as usize].take_if(|watched| watched.by.is_empty()) {
            self.by_path.remove(&watched.path);
            self.free.push(slot);
        }
    }

    /// The connection is gone, and its watches with it.
    pub(super) fn drop_conn(&mut self, conn: Conn) {
        for slot in self.by_conn.remove(&conn).unwrap_or_default() {
            let watched = self.slots[slot as usize].as_mut();
            if let Some(had) = watched.and_then(|watched| watched.by.remove(&conn)) {
                self.recount(had, 0);
            }
            self.free_if_unwatched(slot);
        }
    }

    /// The connections to notify of a change, each once, in ascending order. One-shot watches are removed.
    pub(super) fn fire(&mut self, trigger: &Trigger) -> Vec<Conn> {
        if self.count == 0 {
            return Vec::new();
        }
        let Trigger { kind, path } = trigger;
        let mut tell = Vec::new();
        let mut of_data = 0;
        let mut of_children = 0;
        let concerned = match kind {
            EventKind::ChildrenChanged => OF_CHILDREN,
            EventKind::Deleted => OF_DATA | OF_CHILDREN,
            EventKind::Created | EventKind::DataChanged => OF_DATA,
        };
        if let Some(&slot) = self.by_path.get(path) {
            let watched = self.slots[slot as usize].as_mut().expect("a slot with a path is taken");
            for (&conn, &kinds) in watched.by.iter().filter(|(_, kinds)| **kinds & concerned != 0) {
                of_data += u64::from(kinds & concerned & OF_DATA != 0);
                of_children += u64::from(kinds & concerned & OF_CHILDREN != 0);
                tell.push(conn);
            }
            self.disarm(slot, &tell, concerned & (DATA | CHILD));
        }
        if self.recursive > 0 && *kind != EventKind::ChildrenChanged {
            of_data += self.above(path, &mut tell);
        }
        for watches in [of_data, of_children].into_iter().filter(|watches| *watches > 0) {
            self.told.entry(*kind).or_default().add(watches);
        }
        tell
    }

    fn disarm(&mut self, slot: WatchIndex, conns: &[Conn], once: Kinds) {
        for &conn in conns {
            let Some(watched) = self.slots[slot as usize].as_mut() else { return };
            let Some(kinds) = watched.by.get_mut(&conn) else { continue };
            let had = *kinds;
            *kinds &= !once;
            let left = *kinds;
            if left == 0 {
                watched.by.remove(&conn);
                self.forget(conn, slot);
            }
            self.recount(had, left);
        }
        self.free_if_unwatched(slot);
    }

    /// Adds the connections that watch an ancestor recursively; returns how many were new.
    fn above(&self, path: &str, tell: &mut Vec<Conn>) -> u64 {
        let before = tell.len();
        let mut next = path::parent(path);
        while let Some(above) = next {
            if let Some(watched) = self.by_path.get(above).and_then(|&slot| self.slots[slot as usize].as_ref()) {
                tell.extend(watched.by.iter().filter(|(_, kinds)| **kinds & RECURSIVE != 0).map(|(&conn, _)| conn));
            }
            next = path::parent(above);
        }
        tell.sort_unstable();
        tell.dedup();
        (tell.len() - before) as u64
    }

    /// All connections are gone.
    pub(super) fn clear(&mut self) {
        *self = Self { told: std::mem::take(&mut self.told), ..Self::default() };
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Paths with the connections that watch the znode itself, as ZooKeeper lists them, without watches for children
    /// alone.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&str, Conn)> {
        self.slots.iter().flatten().flat_map(|watched| {
            let of_data = watched.by.iter().filter(|(_, kinds)| **kinds & OF_DATA != 0);
            of_data.map(|(&conn, _)| (&*watched.path, conn))
        })
    }

    /// Number of connections with watches, and of watched paths.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.by_conn.len(), self.by_path.len())
    }

    pub(super) fn told(&self, kind: EventKind) -> FiredWatches {
        self.told.get(&kind).copied().unwrap_or_default()
    }
}

/// The watches that a request to remove them covers.
pub(super) fn meant(of: WatcherType) -> Kinds {
    match of {
        WatcherType::Data => OF_DATA,
        WatcherType::Children => OF_CHILDREN,
        WatcherType::Any => OF_DATA | OF_CHILDREN,
    }
}
