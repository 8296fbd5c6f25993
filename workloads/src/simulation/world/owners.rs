//! The owner of each group's lead, from the ensemble leader's commits: no requests are needed, so nothing is missed.

use std::collections::BTreeMap;

use hustings_record::{Event, LeadOwner, Nanos};

use crate::model::table::Table;
use crate::model::{ZnodeChange, Zxid};
use crate::recipes::names;

/// The znodes that a lead can rest on, by group.
#[derive(Default)]
pub(crate) struct Owners {
    /// Group by path. Used only for look-ups, never iterated.
    groups: Table<String, u32>,
    lock: bool,
    nodes: Vec<BTreeMap<Zxid, (String, i64)>>,
    owner: Vec<Option<Zxid>>,
}

impl Owners {
    /// `lock`: the lead rests on the lock, else on the oldest znode of the queue.
    pub(crate) fn new(paths: Vec<String>, lock: bool) -> Self {
        let (nodes, owner) = (vec![BTreeMap::new(); paths.len()], vec![None; paths.len()]);
        Self { groups: paths.into_iter().zip(0..).collect(), lock, nodes, owner }
    }

    /// Takes in a committed change. Returns the event of a new owner.
    pub(crate) fn take(&mut self, t: Nanos, zxid: Zxid, change: &ZnodeChange) -> Option<Event> {
        let (ZnodeChange::Created { path, .. } | ZnodeChange::Deleted { path }) = change;
        let (parent, name) = path.rsplit_once('/')?;
        let counts = if self.lock { name == names::LOCK } else { names::sequence(name).is_some() };
        let &group = self.groups.get(parent).filter(|_| counts)?;
        let nodes = &mut self.nodes[group as usize];
        match change {
            ZnodeChange::Created { owner, .. } => _ = nodes.insert(zxid, (name.to_owned(), *owner)),
            ZnodeChange::Deleted { .. } => nodes.retain(|_, (other, _)| other != name),
        }
        let first = nodes.first_key_value();
        let czxid = first.map(|(czxid, _)| *czxid);
        if std::mem::replace(&mut self.owner[group as usize], czxid) == czxid {
            return None;
        }
        let (session, node) = first.map(|(_, (name, session))| (*session, name.clone())).unzip();
        Some(Event::Owner(Box::new(LeadOwner { from: t, to: t, group, session, node, czxid })))
    }
}
