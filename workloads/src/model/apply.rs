//! How a transaction changes a tree, which watches it triggers, and what its answer is.

use std::sync::Arc;

use super::op::{Code, EventKind, Response, SessionId};
use super::path;
use super::tree::{NewZnode, Tree};
use super::txn::{Change, Create, Txn};

/// Something that happened to a znode, for the watches on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trigger {
    pub(super) kind: EventKind,
    pub(super) path: Arc<str>,
}

/// The answer to a transaction.
pub(super) type TransactionReply = Result<Response, Code>;

/// Applies a transaction that the leader has accepted. The answer is built only if it is `wanted`.
pub(super) fn apply(tree: &mut Tree, txn: &Txn, wanted: bool, triggers: &mut Vec<Trigger>) -> TransactionReply {
    AppliedStep { tree, txn, wanted, triggers }.take(&txn.change)
}

struct AppliedStep<'a> {
    tree: &'a mut Tree,
    txn: &'a Txn,
    wanted: bool,
    triggers: &'a mut Vec<Trigger>,
}

impl AppliedStep<'_> {
    fn take(&mut self, change: &Change) -> TransactionReply {
        match change {
            Change::Create(create) => Ok(self.create(create)),
            Change::Delete { path } => {
                self.delete(path);
                Ok(Response::Done)
            }
            Change::SetData { path, data, version } => Ok(self.set_data(path, data, *version)),
            Change::SetAcl { path, acl, version } => {
                let place = self.tree.find(path).expect("the leader saw the znode");
                let node = self.tree.node_mut(place);
                node.acl = acl.clone();
                node.aversion = *version;
                Ok(Response::Stat(node.stat()))
            }
            Change::Check => Ok(Response::Done),
            Change::Multi(steps) => {
                let mut responses = Vec::with_capacity(if self.wanted { steps.len() } else { 0 });
                for step in steps {
                    let response = self.take(step)?;
                    if self.wanted {
                        responses.push(response);
                    }
                }
                Ok(Response::Multi(responses))
            }
            Change::MultiFailed(codes) => {
                Ok(Response::MultiFailed(if self.wanted { codes.clone() } else { Vec::new() }))
            }
            Change::CreateSession { session, timeout_ms } => {
                self.tree.open_session(*session, *timeout_ms);
                Ok(Response::Done)
            }
            Change::CloseSession { session, keep_ephemerals } => {
                self.close_session(*session, *keep_ephemerals);
                Ok(Response::Done)
            }
            Change::Error(code) => Err(*code),
        }
    }

    fn create(&mut self, create: &Create) -> Response {
        let above = path::parent(&create.path).expect("the root is always there");
        let parent = self.tree.find(above).expect("the leader saw the parent");
        let (zxid, time_ms) = (self.txn.zxid, self.txn.time_ms);
        let (path, data, acl) = (create.path.clone(), create.data.clone(), create.acl.clone());
        let counted = self.tree.node(parent).creates;
        let place = self.tree.insert(parent, NewZnode { path, data, acl, owner: create.owner, zxid, time_ms });
        let above = self.tree.node_mut(parent);
        // The counter never decreases: it stays at the end of its range.
        above.creates = counted.max(create.parent_creates);
        above.pzxid = zxid;
        let above = above.path.clone();
        self.trigger(EventKind::Created, create.path.clone());
        self.trigger(EventKind::ChildrenChanged, above);
        if !self.wanted {
            return Response::Done;
        }
        let stat = create.with_stat.then(|| self.tree.node(place).stat());
        Response::Created { path: create.path.to_string(), stat }
    }

    fn delete(&mut self, path: &Arc<str>) {
        let place = self.tree.find(path).expect("the leader saw the znode");
        self.remove(place, path.clone());
    }

    fn remove(&mut self, place: u32, path: Arc<str>) {
        let parent = self.tree.remove(place);
        let above = self.tree.node_mut(parent);
        above.pzxid = self.txn.zxid;
        let above = above.path.clone();
        self.trigger(EventKind::Deleted, path);
        self.trigger(EventKind::ChildrenChanged, above);
    }

    fn set_data(&mut self, path: &Arc<str>, data: &Arc<[u8]>, version: i32) -> Response {
        let place = self.tree.find(path).expect("the leader saw the znode");
        self.tree.set_data(place, data.clone());
        let node = self.tree.node_mut(place);
        (node.version, node.mzxid, node.mtime_ms) = (version, self.txn.zxid, self.txn.time_ms);
        let response = Response::Stat(node.stat());
        self.trigger(EventKind::DataChanged, path.clone());
        response
    }

    fn close_session(&mut self, session: SessionId, keep_ephemerals: bool) {
        while !keep_ephemerals && let Some(place) = self.tree.first_owned(session) {
            let path = self.tree.node(place).path.clone();
            self.remove(place, path);
        }
        self.tree.close_session(session);
    }

    fn trigger(&mut self, kind: EventKind, path: Arc<str>) {
        self.triggers.push(Trigger { kind, path });
    }
}
