//! State of a server while it leads: the clocks of all sessions, and requests that wait for a quorum.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::forwarded::ForwardedRequest;
use super::interface::{Server, Ticket};
use super::op::{Micros, SessionId, Zxid};
use super::path;
use super::sessions::Tracker;
use super::tree::Tree;
use super::txn::Change;

#[derive(Debug)]
pub(super) struct LeaderState {
    pub(super) tracker: Tracker,
    /// Requests that cannot be decided while too few followers can communicate with the leader.
    pub(super) stalled: VecDeque<DeferredWork>,
    pub(super) containers_due: Micros,
    pub(super) wrapped: WrappedCounters,
}

/// Counters of creates that were counted beyond the end of their range. The leader goes on counting there while its
/// creates are in flight. It returns to the tree's value once they have arrived.
#[derive(Debug, Default)]
pub(super) struct WrappedCounters {
    /// By path: the counter, and the zxid of the last create.
    counters: BTreeMap<Arc<str>, (i32, Zxid)>,
}

impl WrappedCounters {
    /// Notes counts of a change beyond the end of the range, given the tree.
    pub(super) fn note(&mut self, tree: &Tree, change: &Change, zxid: Zxid) {
        match change {
            Change::Create(create) => {
                let above = path::parent(&create.path).unwrap_or("/");
                if tree.get(above).is_some_and(|node| create.parent_creates < node.creates) {
                    self.counters.insert(above.into(), (create.parent_creates, zxid));
                }
            }
            Change::Multi(changes) => changes.iter().for_each(|change| self.note(tree, change, zxid)),
            Change::Delete { .. }
            | Change::SetData { .. }
            | Change::SetAcl { .. }
            | Change::Check
            | Change::MultiFailed(_)
            | Change::CreateSession { .. }
            | Change::CloseSession { .. }
            | Change::Error(_) => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    /// Forgets counters whose creates have all arrived: up to this zxid.
    pub(super) fn settle(&mut self, arrived: Zxid) {
        self.counters.retain(|_, (_, zxid)| *zxid > arrived);
    }

    /// The counter of this path while its creates are in flight.
    pub(super) fn counter(&self, path: &str) -> Option<i32> {
        self.counters.get(path).map(|(creates, _)| *creates)
    }
}

#[derive(Debug)]
pub(super) enum DeferredWork {
    Ticket {
        server: Server,
        ticket: Ticket,
        forwarded: ForwardedRequest,
    },
    /// The session has expired.
    Expire(SessionId),
    /// A container is due.
    Reap(String),
}
