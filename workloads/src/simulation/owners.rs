//! Who owns the lead of each group, as the ensemble's leader has it: nobody is asked, so nothing is missed.

use std::collections::BTreeMap;

use super::witness::{By, Saw};
use super::world::World;
use crate::model::table::Table;
use crate::model::{Change, Zxid};
use crate::recipes::names;

/// The znodes that a lead can rest on, by group.
#[derive(Default)]
pub(super) struct Owners {
    /// Group by path. Looked up only, never walked.
    groups: Table<String, u32>,
    lock: bool,
    nodes: Vec<BTreeMap<Zxid, (String, i64)>>,
    owner: Vec<Option<Zxid>>,
}

impl Owners {
    /// `lock`: the lead rests on the lock, else on the oldest znode of the queue.
    pub(super) fn new(paths: &[String], lock: bool) -> Self {
        let groups = paths.iter().cloned().zip(0..).collect();
        Self { groups, lock, nodes: vec![BTreeMap::new(); paths.len()], owner: vec![None; paths.len()] }
    }

    /// Takes in what the ensemble committed.
    pub(super) fn take(&mut self, world: &World, zxid: Zxid, change: &Change) {
        let (Change::Created { path, .. } | Change::Deleted { path }) = change;
        let Some((parent, name)) = path.rsplit_once('/') else { return };
        let counts = if self.lock { name == names::LOCK } else { names::sequence(name).is_some() };
        let Some(&group) = self.groups.get(parent).filter(|_| counts) else { return };
        let nodes = &mut self.nodes[group as usize];
        match change {
            Change::Created { owner, .. } => _ = nodes.insert(zxid, (name.to_owned(), *owner)),
            Change::Deleted { .. } => nodes.retain(|_, (other, _)| other != name),
        }
        let first = nodes.first_key_value();
        let now = first.map(|(czxid, _)| *czxid);
        if now != self.owner[group as usize] {
            self.owner[group as usize] = now;
            let owner = first.map(|(czxid, (name, session))| (*session, name.clone(), *czxid));
            world.saw(By::Observer, Saw::Owner { group, owner });
        }
    }
}
