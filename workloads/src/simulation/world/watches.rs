//! The one-shot watches of a client, by path, as its process knows them.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::task::Waker;

use crate::coordination::{OpError, Refusal, SessionEnd, WatchEvent};
use crate::model::{Event, EventKind, Response, Watches as Set, Zxid};

/// The place for the event of one watch.
#[derive(Default)]
pub(crate) struct WatchDelivery {
    pub(crate) event: Option<WatchEvent>,
    pub(crate) waker: Option<Waker>,
    /// Its subject and its number; `None` before its request is answered.
    pub(crate) armed: Option<(WatchSubject, u64)>,
}

/// A watch that an answer arms.
pub(crate) struct WatchRequest {
    pub(crate) path: Rc<str>,
    /// Its subject where the answer finds something.
    pub(crate) found: WatchSubject,
    /// Its subject where there is no such znode; `None`: then there is no watch.
    pub(crate) missing: Option<WatchSubject>,
    pub(crate) slot: WatchSlot,
}

#[derive(Clone)]
pub(crate) struct WatchSlot(pub(crate) Rc<RefCell<WatchDelivery>>);

impl WatchSlot {
    pub(crate) fn tell(&self, kind: EventKind) {
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

/// The subject of a watch: an existing znode, a missing one, or a znode's children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchSubject {
    Znode,
    Nothing,
    Children,
}

impl WatchSubject {
    /// Whether an event of this kind about the path fires such a watch.
    fn is_fired_by(self, kind: EventKind) -> bool {
        match kind {
            EventKind::Deleted => true,
            EventKind::ChildrenChanged => self == Self::Children,
            EventKind::Created | EventKind::DataChanged => self != Self::Children,
        }
    }
}

/// One watch.
struct WatchEntry {
    path: Rc<str>,
    number: u64,
    on: WatchSubject,
    slot: WatchSlot,
}

/// All watches of one client, by path and then in the order in which they were armed. Usually there is one; a session
/// that many candidates share has many.
#[derive(Default)]
pub(crate) struct Watches {
    armed: Vec<WatchEntry>,
    given: u64,
}

impl Watches {
    /// Arms the watch of an answer, unless its waiter is gone. Its number identifies it for `disarm`.
    pub(crate) fn arm(&mut self, wanted: WatchRequest, result: &Result<Response, OpError>) {
        let WatchRequest { path, found, missing, slot } = wanted;
        let on = match result {
            Ok(_) => Some(found),
            Err(OpError::Refused(Refusal::NoNode)) => missing,
            Err(_) => None,
        };
        let Some(on) = on.filter(|_| Rc::strong_count(&slot.0) > 1) else { return };
        self.given += 1;
        slot.0.borrow_mut().armed = Some((on, self.given));
        let place = self.of(&path).end;
        // Most clients never have a second watch.
        if self.armed.is_empty() {
            self.armed.reserve_exact(1);
        }
        self.armed.insert(place, WatchEntry { path, number: self.given, on, slot });
    }

    /// Removes a watch. True: it was the last one of its kind on its path, so that the server may forget it.
    pub(crate) fn disarm(&mut self, path: &str, number: u64) -> bool {
        let same = self.of(path);
        let Some(place) = same.clone().find(|&place| self.armed[place].number == number) else { return false };
        let of_children = |armed: &WatchEntry| armed.on == WatchSubject::Children;
        let kind = of_children(&self.armed[place]);
        let alike = self.armed[same].iter().filter(|armed| of_children(armed) == kind).count();
        self.armed.remove(place);
        self.spare();
        alike == 1
    }

    /// The watches that an event fires; they are removed.
    pub(crate) fn fire(&mut self, event: &Event) -> Vec<WatchSlot> {
        let same = self.of(&event.path);
        let fired =
            self.armed.extract_if(same, |armed| armed.on.is_fired_by(event.kind)).map(|armed| armed.slot).collect();
        self.spare();
        fired
    }

    /// The watches that a new connection has to set; `None` without a watch.
    pub(crate) fn to_set(&self, since: Zxid) -> Option<Set> {
        if self.armed.is_empty() {
            return None;
        }
        let mut set = Set { since, ..Set::default() };
        for same in self.armed.chunk_by(|a, b| a.path == b.path) {
            let path = &same[0].path;
            if same.iter().any(|armed| armed.on == WatchSubject::Znode) {
                set.data.push(path.to_string());
            }
            if same.iter().any(|armed| armed.on == WatchSubject::Nothing) {
                set.exist.push(path.to_string());
            }
            if same.iter().any(|armed| armed.on == WatchSubject::Children) {
                set.child.push(path.to_string());
            }
        }
        Some(set)
    }

    /// The session is over: all watches are notified.
    pub(crate) fn end(self, end: SessionEnd) {
        self.armed.into_iter().for_each(|armed| armed.slot.put(WatchEvent::Ended(end)));
    }

    /// The indices of the watches on a path.
    fn of(&self, path: &str) -> Range<usize> {
        let from = self.armed.partition_point(|armed| *armed.path < *path);
        let count = self.armed[from..].iter().take_while(|armed| *armed.path == *path).count();
        from..from + count
    }

    /// Frees the memory of an empty list.
    fn spare(&mut self) {
        if self.armed.is_empty() {
            self.armed = Vec::new();
        }
    }
}
