//! Answers of a server from its own tree, and the watches that they arm.

use super::acl;
use super::apply::TransactionReply;
use super::interface::{Conn, Output};
use super::op::{Acl, Code, Event, EventKind, Read, Request, Response, Watches, Zxid};
use super::path;
use super::server::{Member, Outputs};
use super::tree::Node;
use super::watches::{self, Kinds};

impl Member {
    /// Answers a request that changes nothing. Events that it triggers come before the answer.
    pub(super) fn read(&mut self, conn: Conn, request: Request, out: &mut Outputs) -> TransactionReply {
        match request {
            Request::Exists { path, watch } => self.exists(conn, &path, watch),
            Request::GetData { path, watch } => {
                let response = self.data(conn, &path)?;
                self.watch(conn, &path, watch.then_some(watches::DATA));
                Ok(response)
            }
            Request::GetChildren { path, watch, with_stat } => {
                let response = self.children(conn, &path, with_stat)?;
                self.watch(conn, &path, watch.then_some(watches::CHILD));
                Ok(response)
            }
            Request::GetAcl { path } => self.acl(conn, &path),
            Request::GetEphemerals { prefix } => Ok(self.ephemerals(conn, &prefix)),
            Request::CountAllChildren { path } => {
                let node = self.readable(conn, &path)?;
                Ok(Response::Count(i32::try_from(self.tree.count_below(node)).unwrap_or(i32::MAX)))
            }
            Request::MultiRead(reads) => {
                Ok(Response::MultiRead(reads.iter().map(|read| self.one(conn, read)).collect()))
            }
            Request::AddWatch { path, recursive } => {
                path::validate(&path)?;
                let kinds = if recursive { watches::RECURSIVE } else { watches::STANDING };
                self.watch(conn, &path, Some(kinds));
                Ok(Response::Done)
            }
            Request::RemoveWatches { path, of, only_check } => {
                let kinds = watches::meant(of);
                let found = if only_check {
                    self.watches.kinds(conn, &path) & kinds != 0
                } else {
                    self.watches.remove(conn, &path, kinds)
                };
                if found { Ok(Response::Done) } else { Err(Code::NoWatcher) }
            }
            Request::SetWatches(asked) => {
                self.set_watches(conn, *asked, out);
                Ok(Response::Done)
            }
            // Handled on arrival.
            Request::AddAuth { .. } => Ok(Response::Done),
            Request::Create { .. }
            | Request::Delete { .. }
            | Request::SetData { .. }
            | Request::SetAcl { .. }
            | Request::Sync { .. }
            | Request::Multi(_)
            | Request::CloseSession => Err(Code::SystemError),
        }
    }

    fn watch(&mut self, conn: Conn, path: &str, kinds: Option<Kinds>) {
        if let Some(kinds) = kinds {
            self.watches.add(conn, path, kinds);
        }
    }

    fn exists(&mut self, conn: Conn, path: &str, watch: bool) -> TransactionReply {
        if path.contains('\0') {
            return Err(Code::BadArguments);
        }
        // The watch is armed whether the znode exists or not.
        self.watch(conn, path, watch.then_some(watches::DATA));
        self.tree.get(path).map(|node| Response::Stat(node.stat())).ok_or(Code::NoNode)
    }

    fn readable(&self, conn: Conn, path: &str) -> Result<&Node, Code> {
        let node = self.tree.get(path).ok_or(Code::NoNode)?;
        acl::check(&node.acl, Acl::READ, &self.conns[&conn].proven)?;
        Ok(node)
    }

    fn data(&self, conn: Conn, path: &str) -> TransactionReply {
        let node = self.readable(conn, path)?;
        Ok(Response::Data { data: node.data.to_vec(), stat: node.stat() })
    }

    fn children(&self, conn: Conn, path: &str, with_stat: bool) -> TransactionReply {
        let node = self.readable(conn, path)?;
        let names = self.tree.children(node).map(|child| path::name(&child.path).to_owned()).collect();
        Ok(Response::Children { names, stat: with_stat.then(|| node.stat()) })
    }

    fn one(&self, conn: Conn, read: &Read) -> TransactionReply {
        match read {
            Read::Data { path } => self.data(conn, path),
            Read::Children { path } => self.children(conn, path, false),
        }
    }

    fn acl(&self, conn: Conn, path: &str) -> TransactionReply {
        let node = self.tree.get(path).ok_or(Code::NoNode)?;
        let proven = &self.conns[&conn].proven;
        acl::check(&node.acl, Acl::READ | Acl::ADMIN, proven)?;
        let is_admin = acl::check(&node.acl, Acl::ADMIN, proven).is_ok();
        let acl = if is_admin { node.acl.to_vec() } else { acl::masked(&node.acl) };
        Ok(Response::Acl { acl, stat: node.stat() })
    }

    fn ephemerals(&self, conn: Conn, prefix: &str) -> Response {
        let owned = self.tree.owned(self.conns[&conn].session);
        Response::Paths(owned.map(|node| node.path.to_string()).filter(|path| path.starts_with(prefix)).collect())
    }

    /// Sets the watches of a session on its new connection. Where an event was missed, it is delivered instead.
    fn set_watches(&mut self, conn: Conn, asked: Watches, out: &mut Outputs) {
        let since = asked.since;
        for path in asked.data {
            let missed = self.missed(&path, EventKind::DataChanged, since, |node| node.mzxid);
            self.arm_or_tell(conn, path, watches::DATA, missed, out);
        }
        for path in asked.exist {
            let missed = self.tree.get(&path).map(|node| (EventKind::Created, node.czxid));
            self.arm_or_tell(conn, path, watches::DATA, missed, out);
        }
        for path in asked.child {
            let missed = self.missed(&path, EventKind::ChildrenChanged, since, |node| node.pzxid);
            self.arm_or_tell(conn, path, watches::CHILD, missed, out);
        }
        for path in asked.persistent {
            self.watches.add(conn, &path, watches::STANDING);
        }
        for path in asked.persistent_recursive {
            self.watches.add(conn, &path, watches::RECURSIVE);
        }
    }

    fn missed(
        &self,
        path: &str,
        kind: EventKind,
        since: Zxid,
        last: impl Fn(&Node) -> Zxid,
    ) -> Option<(EventKind, Zxid)> {
        match self.tree.get(path) {
            // The time of the deletion is not known any more.
            None => Some((EventKind::Deleted, self.last_zxid)),
            Some(node) => Some((kind, last(node))).filter(|(_, zxid)| *zxid > since),
        }
    }

    fn arm_or_tell(
        &mut self,
        conn: Conn,
        path: String,
        kinds: Kinds,
        missed: Option<(EventKind, Zxid)>,
        out: &mut Outputs,
    ) {
        match missed {
            None => self.watches.add(conn, &path, kinds),
            Some(_) if self.bugs.forget_missed_events => {}
            Some((kind, zxid)) => {
                out.push_back(Output::Event { server: self.id, conn, event: Event { kind, path, zxid } });
            }
        }
    }
}
