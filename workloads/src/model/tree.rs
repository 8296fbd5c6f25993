//! One server's tree: an arena of znodes with links by index, so that no operation visits more than it touches. Paths,
//! data and access control lists are shared with the other servers' trees.

use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock};

use hashbrown::HashTable;
use hustings_record::numbers::to_i32;
use rustc_hash::FxBuildHasher;

use super::acl;
use super::life;
use super::op::{Acl, SessionId, Stat, Zxid};
use super::path;
use super::table::Table;

/// Index of a znode in the arena.
pub(super) type ZnodeIndex = u32;

/// No znode.
pub(super) const NONE: ZnodeIndex = ZnodeIndex::MAX;

const ROOT: ZnodeIndex = 0;

static EMPTY: LazyLock<Arc<[u8]>> = LazyLock::new(|| Arc::from([]));

/// The data in the form that all servers share.
pub(super) fn shared(data: &[u8]) -> Arc<[u8]> {
    if data.is_empty() { EMPTY.clone() } else { data.into() }
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) path: Arc<str>,
    pub(super) data: Arc<[u8]>,
    pub(super) acl: Arc<[Acl]>,
    pub(super) czxid: Zxid,
    pub(super) mzxid: Zxid,
    pub(super) pzxid: Zxid,
    pub(super) ctime_ms: i64,
    pub(super) mtime_ms: i64,
    /// The owning session, or the mark of a container.
    pub(super) owner: i64,
    pub(super) version: i32,
    pub(super) aversion: i32,
    /// Creates of children: the counter that sequential names are made from.
    pub(super) creates: i32,
    pub(super) children: u32,
    parent: ZnodeIndex,
    first_child: ZnodeIndex,
    last_child: ZnodeIndex,
    /// Links among the children of the parent, in the order of their creation.
    sibling: ZnodeLinks,
    /// Links among the ephemerals of the owner, in the order of their creation.
    owned: ZnodeLinks,
}

#[derive(Clone, Copy, Debug)]
struct ZnodeLinks {
    before: ZnodeIndex,
    after: ZnodeIndex,
}

impl ZnodeLinks {
    const NONE: Self = Self { before: NONE, after: NONE };
}

/// A session as every server knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionOwner {
    pub(super) timeout_ms: i32,
    first: ZnodeIndex,
    last: ZnodeIndex,
}

#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    free: Vec<ZnodeIndex>,
    by_path: HashTable<ZnodeIndex>,
    sessions: Table<SessionId, SessionOwner>,
    ephemerals: usize,
    data_bytes: u64,
    /// Containers that had children and now have none.
    emptied: BTreeSet<ZnodeIndex>,
}

/// The parts of a new znode.
pub(super) struct NewZnode {
    pub(super) path: Arc<str>,
    pub(super) data: Arc<[u8]>,
    pub(super) acl: Arc<[Acl]>,
    pub(super) owner: i64,
    pub(super) zxid: Zxid,
    pub(super) time_ms: i64,
}

impl Tree {
    /// The tree of a server without data.
    pub(super) fn new() -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            free: Vec::new(),
            by_path: HashTable::new(),
            sessions: Table::default(),
            ephemerals: 0,
            data_bytes: 0,
            emptied: BTreeSet::new(),
        };
        for special in path::SPECIAL {
            let made = NewZnode {
                path: special.into(),
                data: EMPTY.clone(),
                acl: if special == path::CONFIG { acl::READ_ONLY.clone() } else { acl::OPEN.clone() },
                owner: 0,
                zxid: 0,
                time_ms: 0,
            };
            let parent = path::parent(special).and_then(|parent| tree.find(parent)).unwrap_or(NONE);
            tree.insert(parent, made);
        }
        // The special znodes do not count as created children.
        tree.nodes.iter_mut().for_each(|node| node.creates = 0);
        tree
    }

    pub(super) fn find(&self, path: &str) -> Option<ZnodeIndex> {
        self.by_path.find(hash(path), |&place| *self.nodes[place as usize].path == *path).copied()
    }

    pub(super) fn get(&self, path: &str) -> Option<&Node> {
        self.find(path).map(|place| self.node(place))
    }

    pub(super) fn node(&self, place: ZnodeIndex) -> &Node {
        &self.nodes[place as usize]
    }

    pub(super) fn node_mut(&mut self, place: ZnodeIndex) -> &mut Node {
        &mut self.nodes[place as usize]
    }

    /// Adds a znode below `parent`, and counts it there.
    pub(super) fn insert(&mut self, parent: ZnodeIndex, made: NewZnode) -> ZnodeIndex {
        let NewZnode { path, data, acl, owner, zxid, time_ms } = made;
        self.data_bytes += (path.len() + data.len()) as u64;
        let mut node = Node {
            path,
            data,
            acl,
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime_ms: time_ms,
            mtime_ms: time_ms,
            owner,
            version: 0,
            aversion: 0,
            creates: 0,
            children: 0,
            parent,
            first_child: NONE,
            last_child: NONE,
            sibling: ZnodeLinks::NONE,
            owned: ZnodeLinks::NONE,
        };
        if parent != NONE {
            node.sibling.before = self.node(parent).last_child;
        }
        let hash = hash(&node.path);
        let place = match self.free.pop() {
            Some(place) => {
                self.nodes[place as usize] = node;
                place
            }
            None => {
                self.nodes.push(node);
                ZnodeIndex::try_from(self.nodes.len() - 1).expect("fewer than 2^32 znodes")
            }
        };
        let Self { nodes, by_path, .. } = self;
        by_path.insert_unique(hash, place, |&place| self::hash(&nodes[place as usize].path));
        if parent != NONE {
            self.link_child(parent, place);
        }
        self.link_owned(owner, place);
        place
    }

    fn link_child(&mut self, parent: ZnodeIndex, place: ZnodeIndex) {
        let above = self.node_mut(parent);
        above.children += 1;
        above.creates = above.creates.wrapping_add(1);
        let last = std::mem::replace(&mut above.last_child, place);
        if last == NONE {
            above.first_child = place;
        } else {
            self.node_mut(last).sibling.after = place;
        }
        self.emptied.remove(&parent);
    }

    fn link_owned(&mut self, owner: i64, place: ZnodeIndex) {
        if !life::is_session(owner) {
            return;
        }
        self.ephemerals += 1;
        // The end of a session cannot remove ephemerals created after it.
        let Some(row) = self.sessions.get_mut(&owner) else { return };
        let last = std::mem::replace(&mut row.last, place);
        if last == NONE {
            row.first = place;
        } else {
            self.node_mut(last).owned.after = place;
            self.node_mut(place).owned.before = last;
        }
    }

    /// Removes a znode without children, and returns its parent.
    pub(super) fn remove(&mut self, place: ZnodeIndex) -> ZnodeIndex {
        let node = self.node(place);
        let (parent, sibling, owned, owner) = (node.parent, node.sibling, node.owned, node.owner);
        let (hash, bytes) = (hash(&node.path), node.path.len() + node.data.len());
        self.data_bytes -= bytes as u64;
        if let Ok(entry) = self.by_path.find_entry(hash, |&other| other == place) {
            entry.remove();
        }
        if sibling.before == NONE {
            self.node_mut(parent).first_child = sibling.after;
        } else {
            self.node_mut(sibling.before).sibling.after = sibling.after;
        }
        if sibling.after == NONE {
            self.node_mut(parent).last_child = sibling.before;
        } else {
            self.node_mut(sibling.after).sibling.before = sibling.before;
        }
        let above = self.node_mut(parent);
        above.children -= 1;
        if above.children == 0 && life::is_container(above.owner) {
            self.emptied.insert(parent);
        }
        self.emptied.remove(&place);
        if life::is_session(owner) {
            self.unlink_owned(owner, place, owned);
        }
        let gone = self.node_mut(place);
        (gone.path, gone.data, gone.acl) = ("".into(), EMPTY.clone(), acl::OPEN.clone());
        self.free.push(place);
        parent
    }

    fn unlink_owned(&mut self, owner: SessionId, place: ZnodeIndex, owned: ZnodeLinks) {
        self.ephemerals -= 1;
        if owned.before != NONE {
            self.node_mut(owned.before).owned.after = owned.after;
        }
        if owned.after != NONE {
            self.node_mut(owned.after).owned.before = owned.before;
        }
        let Some(row) = self.sessions.get_mut(&owner) else { return };
        if row.first == place {
            row.first = owned.after;
        }
        if row.last == place {
            row.last = owned.before;
        }
    }

    /// Replaces the data of a znode.
    pub(super) fn set_data(&mut self, place: ZnodeIndex, data: Arc<[u8]>) {
        let node = &mut self.nodes[place as usize];
        self.data_bytes = self.data_bytes + data.len() as u64 - node.data.len() as u64;
        node.data = data;
    }

    pub(super) fn open_session(&mut self, session: SessionId, timeout_ms: i32) {
        self.sessions.insert(session, SessionOwner { timeout_ms, first: NONE, last: NONE });
    }

    pub(super) fn close_session(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// All sessions with their timeouts, unordered.
    pub(super) fn sessions(&self) -> impl Iterator<Item = (SessionId, i32)> {
        self.sessions.iter().map(|(&session, row)| (session, row.timeout_ms))
    }

    pub(super) fn sessions_count(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn first_owned(&self, session: SessionId) -> Option<ZnodeIndex> {
        self.sessions.get(&session).map(|row| row.first).filter(|&place| place != NONE)
    }

    /// The ephemerals of a session, in the order of their creation.
    pub(super) fn owned(&self, session: SessionId) -> impl Iterator<Item = &Node> {
        self.chain(self.first_owned(session).unwrap_or(NONE), |node| node.owned.after)
    }

    /// The children of a znode, in the order of their creation.
    pub(super) fn children(&self, node: &Node) -> impl Iterator<Item = &Node> {
        self.chain(node.first_child, |node| node.sibling.after)
    }

    fn chain(&self, first: ZnodeIndex, next: impl Fn(&Node) -> ZnodeIndex) -> impl Iterator<Item = &Node> {
        let mut place = first;
        std::iter::from_fn(move || {
            let node = self.nodes.get(place as usize)?;
            place = next(node);
            Some(node)
        })
    }

    /// The number of znodes below this one, at any depth.
    pub(super) fn count_below(&self, node: &Node) -> usize {
        let mut waiting = vec![node];
        let mut count = 0;
        while let Some(node) = waiting.pop() {
            count += node.children as usize;
            waiting.extend(self.children(node).filter(|child| child.children > 0));
        }
        count
    }

    pub(super) fn emptied(&self) -> impl Iterator<Item = &Node> {
        self.emptied.iter().map(|&place| self.node(place))
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    pub(super) fn ephemerals_count(&self) -> usize {
        self.ephemerals
    }

    pub(super) fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// All znodes, the root first, each before its descendants.
    pub(super) fn walk(&self) -> impl Iterator<Item = &Node> {
        let mut waiting = vec![self.node(ROOT)];
        std::iter::from_fn(move || {
            let node = waiting.pop()?;
            waiting.extend(self.children(node));
            Some(node)
        })
    }
}

impl Node {
    /// The stat as in answers to requests.
    pub(super) fn stat(&self) -> Stat {
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            ctime: self.ctime_ms,
            mtime: self.mtime_ms,
            version: self.version,
            cversion: self.creates.wrapping_mul(2).wrapping_sub(self.children as i32),
            aversion: self.aversion,
            // The marks of containers and TTLs are hidden.
            ephemeral_owner: if life::is_session(self.owner) { self.owner } else { 0 },
            data_length: to_i32(self.data.len()),
            num_children: self.children as i32,
            pzxid: self.pzxid,
        }
    }
}

fn hash(path: &str) -> u64 {
    FxBuildHasher.hash_one(path)
}
