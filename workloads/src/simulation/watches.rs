//! The one-shot watches of a client, by path, as its process knows them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Waker;

use crate::coordination::{SessionEnd, WatchEvent};
use crate::model::table::Table;
use crate::model::{Event, EventKind, Watches as Set, Zxid};

/// Where one watch is told.
#[derive(Default)]
pub(super) struct Told {
    pub(super) event: Option<WatchEvent>,
    pub(super) waker: Option<Waker>,
}

#[derive(Clone)]
pub(super) struct WatchSlot(pub(super) Rc<RefCell<Told>>);

impl WatchSlot {
    pub(super) fn tell(&self, kind: EventKind) {
        self.put(match kind {
            EventKind::Created => WatchEvent::Created,
            EventKind::Deleted => WatchEvent::Deleted,
            EventKind::DataChanged => WatchEvent::DataChanged,
            EventKind::ChildrenChanged => WatchEvent::ChildrenChanged,
        });
    }

    fn put(&self, event: WatchEvent) {
        let mut told = self.0.borrow_mut();
        told.event = Some(event);
        if let Some(waker) = told.waker.take() {
            waker.wake();
        }
    }
}

/// What a watch was set on: a znode that was there, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Znode,
    Nothing,
}

/// All watches of one client. Mostly one; a session that many candidates share has many.
#[derive(Default)]
pub(super) struct Watches {
    by_path: Table<String, Vec<(u64, On, WatchSlot)>>,
    given: u64,
}

impl Watches {
    /// Arms a watch; its number takes it away again.
    pub(super) fn arm(&mut self, path: &str, on: On, slot: WatchSlot) -> u64 {
        self.given += 1;
        let same = self.by_path.entry(path.to_owned()).or_insert_with(|| Vec::with_capacity(1));
        same.push((self.given, on, slot));
        self.given
    }

    /// Takes a watch away. True: it was the last one on its path, so that the server may forget it.
    pub(super) fn disarm(&mut self, path: &str, number: u64) -> bool {
        let Some(watches) = self.by_path.get_mut(path) else { return false };
        let before = watches.len();
        watches.retain(|(given, _, _)| *given != number);
        let last = watches.is_empty() && before > 0;
        if watches.is_empty() {
            self.by_path.remove(path);
        }
        last
    }

    /// Those that an event fires; they are armed no more.
    pub(super) fn fire(&mut self, event: &Event) -> Vec<WatchSlot> {
        if event.kind == EventKind::ChildrenChanged {
            return Vec::new();
        }
        let fired = self.by_path.remove(&event.path).unwrap_or_default();
        fired.into_iter().map(|(_, _, slot)| slot).collect()
    }

    /// What a new connection has to ask for; None without a watch.
    pub(super) fn to_set(&self, since: Zxid) -> Option<Set> {
        if self.by_path.is_empty() {
            return None;
        }
        let mut set = Set { since, ..Set::default() };
        let by_path: BTreeMap<_, _> = self.by_path.iter().collect();
        for (path, watches) in by_path {
            if watches.iter().any(|(_, on, _)| *on == On::Znode) {
                set.data.push(path.clone());
            }
            if watches.iter().any(|(_, on, _)| *on == On::Nothing) {
                set.exist.push(path.clone());
            }
        }
        Some(set)
    }

    /// The session is over: all are told.
    pub(super) fn end(self, end: SessionEnd) {
        let by_path: BTreeMap<_, _> = self.by_path.into_iter().collect();
        for (_, _, slot) in by_path.into_values().flatten() {
            slot.put(WatchEvent::Ended(end));
        }
    }
}
