//! The leader's check of a request before it becomes a transaction: whether it is possible, and its exact change.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::acl::{self, VerifiedIdentities};
use super::lead::WrappedCounters;
use super::life;
use super::op::{ANY_VERSION, Acl, Code, CreateKind, SessionId, TransactionStep};
use super::path;
use super::tree::{Node, Tree, shared};
use super::txn::{Change, Create};

/// Checks requests of one session against the leader's tree.
pub(super) struct PrepRequestProcessor<'a> {
    tree: &'a Tree,
    session: SessionId,
    proven: &'a VerifiedIdentities,
    wrapped: &'a WrappedCounters,
    /// States of znodes after earlier steps of the same transaction; `None` where they were deleted.
    changed: BTreeMap<Arc<str>, Option<ZnodeState>>,
    /// Whether there may be later steps.
    keeps: bool,
}

/// The fields of a znode that checks use.
#[derive(Clone)]
struct ZnodeState {
    version: i32,
    aversion: i32,
    creates: i32,
    children: u32,
    owner: i64,
    acl: Arc<[Acl]>,
}

impl From<&Node> for ZnodeState {
    fn from(node: &Node) -> Self {
        let Node { version, aversion, creates, children, owner, ref acl, .. } = *node;
        Self { version, aversion, creates, children, owner, acl: acl.clone() }
    }
}

impl<'a> PrepRequestProcessor<'a> {
    pub(super) fn new(
        tree: &'a Tree,
        session: SessionId,
        proven: &'a VerifiedIdentities,
        wrapped: &'a WrappedCounters,
    ) -> Self {
        Self { tree, session, proven, wrapped, changed: BTreeMap::new(), keeps: false }
    }

    /// All or nothing: each step is checked as if the earlier ones had happened.
    pub(super) fn multi(mut self, steps: &[TransactionStep]) -> Change {
        self.keeps = true;
        let mut changes = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            match self.step(step) {
                Ok(change) => changes.push(change),
                Err(code) => {
                    let mut codes = vec![Code::RuntimeInconsistency; steps.len()];
                    codes[..at].fill(Code::Ok);
                    codes[at] = code;
                    return Change::MultiFailed(codes);
                }
            }
        }
        Change::Multi(changes)
    }

    fn step(&mut self, step: &TransactionStep) -> Result<Change, Code> {
        match step {
            TransactionStep::Create { path, data, acl, kind, with_stat } => {
                self.create(path, data, acl, *kind, *with_stat)
            }
            TransactionStep::Delete { path, version } => self.delete(path, *version),
            TransactionStep::SetData { path, data, version } => self.set_data(path, data, *version),
            TransactionStep::Check { path, version } => self.check(path, *version),
        }
    }

    pub(super) fn create(
        &mut self,
        path: &str,
        data: &[u8],
        asked: &[Acl],
        kind: CreateKind,
        with_stat: bool,
    ) -> Result<Change, Code> {
        let owner = life::owner(kind.life, self.session);
        // A missing parent is detected even where the path is invalid.
        let above = match path.rfind('/') {
            Some(0) => "/",
            Some(at) => &path[..at],
            None => return Err(Code::BadArguments),
        };
        if path.contains('\0') {
            return Err(Code::BadArguments);
        }
        let acl = acl::fix_up(asked, self.proven)?;
        let mut parent = self.seen(above)?;
        acl::check(&parent.acl, Acl::CREATE, self.proven)?;
        let path: Arc<str> =
            if kind.sequential { format!("{path}{:010}", parent.creates).into() } else { Arc::from(path) };
        path::validate(&path)?;
        if self.seen(&path).is_ok() {
            return Err(Code::NodeExists);
        }
        if life::is_session(parent.owner) {
            return Err(Code::NoChildrenForEphemerals);
        }
        parent.creates = parent.creates.wrapping_add(1);
        parent.children += 1;
        let parent_creates = parent.creates;
        if self.keeps {
            let made = ZnodeState { version: 0, aversion: 0, creates: 0, children: 0, owner, acl: acl.clone() };
            self.changed.insert(above.into(), Some(parent));
            self.changed.insert(path.clone(), Some(made));
        }
        Ok(Change::Create(Create { path, data: shared(data), acl, owner, parent_creates, with_stat }))
    }

    pub(super) fn delete(&mut self, path: &str, version: i32) -> Result<Change, Code> {
        if path.contains('\0') || path::SPECIAL.contains(&path) {
            return Err(Code::BadArguments);
        }
        let above = path::parent(path).ok_or(Code::BadArguments)?;
        let mut parent = self.seen(above)?;
        acl::check(&parent.acl, Acl::DELETE, self.proven)?;
        let node = self.seen(path)?;
        next_version(node.version, version)?;
        if node.children > 0 {
            return Err(Code::NotEmpty);
        }
        if self.keeps {
            parent.children -= 1;
            self.changed.insert(above.into(), Some(parent));
            self.changed.insert(path.into(), None);
        }
        Ok(Change::Delete { path: self.known(path) })
    }

    pub(super) fn set_data(&mut self, path: &str, data: &[u8], version: i32) -> Result<Change, Code> {
        path::validate(path)?;
        let mut node = self.seen(path)?;
        acl::check(&node.acl, Acl::WRITE, self.proven)?;
        let version = next_version(node.version, version)?;
        if self.keeps {
            node.version = version;
            self.changed.insert(path.into(), Some(node));
        }
        Ok(Change::SetData { path: self.known(path), data: shared(data), version })
    }

    pub(super) fn set_acl(&self, path: &str, asked: &[Acl], version: i32) -> Result<Change, Code> {
        path::validate(path)?;
        let acl = acl::fix_up(asked, self.proven)?;
        let node = self.seen(path)?;
        acl::check(&node.acl, Acl::ADMIN, self.proven)?;
        let version = next_version(node.aversion, version)?;
        Ok(Change::SetAcl { path: self.known(path), acl, version })
    }

    fn check(&self, path: &str, version: i32) -> Result<Change, Code> {
        path::validate(path)?;
        let node = self.seen(path)?;
        acl::check(&node.acl, Acl::READ, self.proven)?;
        next_version(node.version, version)?;
        Ok(Change::Check)
    }

    /// The state of this path for the next step.
    fn seen(&self, path: &str) -> Result<ZnodeState, Code> {
        match self.changed.get(path) {
            Some(changed) => changed.clone().ok_or(Code::NoNode),
            None => {
                let mut seen = self.tree.get(path).map(ZnodeState::from).ok_or(Code::NoNode)?;
                seen.creates = self.wrapped.counter(path).unwrap_or(seen.creates);
                Ok(seen)
            }
        }
    }

    /// The path as the tree shares it.
    fn known(&self, path: &str) -> Arc<str> {
        self.tree.get(path).map_or_else(|| path.into(), |node| node.path.clone())
    }
}

/// The deletion of a due container, by the leader itself.
///
/// # Errors
/// When it must stay after all.
pub(super) fn reap(tree: &Tree, path: &str) -> Result<Change, Code> {
    let node = tree.get(path).ok_or(Code::NoNode)?;
    if node.children > 0 {
        return Err(Code::NotEmpty);
    }
    Ok(Change::Delete { path: node.path.clone() })
}

fn next_version(version: i32, expected: i32) -> Result<i32, Code> {
    if expected != ANY_VERSION && expected != version { Err(Code::BadVersion) } else { Ok(version.wrapping_add(1)) }
}

#[cfg(test)]
mod tests {
    use super::super::apply::apply;
    use super::super::op::ZnodeLifetime;
    use super::super::txn::Txn;
    use super::*;

    #[test]
    fn the_sequence_sticks_at_its_end_and_goes_beyond_while_creates_are_under_way() {
        let mut tree = Tree::new();
        let root = tree.find("/").unwrap();
        tree.node_mut(root).creates = i32::MAX - 1;
        let kind = CreateKind { life: ZnodeLifetime::Ephemeral, sequential: true };
        let mut triggers = Vec::new();
        let mut wrapped = WrappedCounters::default();
        let mut made = |prefix: &str, zxid, arrived| {
            wrapped.settle(arrived);
            let create = PrepRequestProcessor::new(&tree, 1, &VerifiedIdentities::new(), &wrapped).create(
                prefix,
                b"",
                &Acl::open(),
                kind,
                false,
            );
            let change = create.unwrap();
            let path = match &change {
                Change::Create(create) => create.path.to_string(),
                other => panic!("{other:?}"),
            };
            wrapped.note(&tree, &change, zxid);
            let txn = Txn { zxid, time_ms: 0, origin: None, change };
            apply(&mut tree, &txn, false, &mut triggers).unwrap();
            path
        };
        assert_eq!(made("/a_", 1, 0), "/a_2147483646");
        assert_eq!(made("/a_", 2, 1), "/a_2147483647");
        assert_eq!(made("/b_", 3, 2), "/b_2147483647", "the one before has arrived");
        assert_eq!(made("/c_", 4, 2), "/c_-2147483648", "it is under way");
        assert_eq!(made("/d_", 5, 2), "/d_-2147483647");
        assert_eq!(made("/e_", 6, 5), "/e_2147483647", "all have arrived");
    }
}
