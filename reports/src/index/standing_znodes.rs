//! Znodes that stand although their deletion was answered, by the observer and by the servers' own lists.

use super::candidates::Candidates;
use super::intervals::OwnershipIntervals;
use super::lists::{Lists, ROOT};
use super::verification_judge::ReleasedZnode;
use hustings_record::{CellInfo, Nanos};

/// What shows which znodes stand.
pub(super) struct ZnodeSightings<'i, 'a> {
    pub(super) info: &'i CellInfo,
    pub(super) candidates: &'i Candidates<'a>,
    pub(super) intervals: &'i OwnershipIntervals,
    pub(super) lists: &'i Lists,
    /// T.
    pub(super) timeout: Nanos,
}

impl ZnodeSightings<'_, '_> {
    /// What shows that this znode stands all the same, in words.
    pub(super) fn of(&self, znode: &ReleasedZnode<'_>) -> Option<String> {
        let group = self.candidates.all.get(&znode.cand)?.group;
        let node = znode.node;
        if self.owns(group, znode) {
            return Some(format!("{node} still owned the lead T after its deletion was answered"));
        }
        self.is_listed(group, znode).then(|| format!("all servers listed {node} after its deletion was answered"))
    }

    /// Whether ZooKeeper named it as the owner T later. A question that was not answered meanwhile leaves that open.
    fn owns(&self, group: u32, znode: &ReleasedZnode<'_>) -> bool {
        let at = znode.answered.saturating_add(self.timeout);
        self.intervals.at(group, at).is_some_and(|owner| {
            let is_open = self.intervals.missed.iter().any(|&missed| owner.span.0 <= missed && missed <= at);
            owner.session == Some(znode.session) && owner.czxid == Some(znode.czxid) && !is_open
        })
    }

    /// Whether all servers list it when the drain has ended. Only the names of znodes in a queue come once, and where
    /// they come again, the candidate says so.
    fn is_listed(&self, group: u32, znode: &ReleasedZnode<'_>) -> bool {
        let ReleasedZnode { cand, session, node, czxid, answered } = *znode;
        let (Some(listed), Some(name)) = (&self.lists.end, self.info.groups.get(group as usize)) else { return false };
        let is_there = listed.holds.ephemerals.get(&format!("{ROOT}{name}/{node}")) == Some(&session);
        let comes_once = self.candidates.enrolled_with(cand, node)
            && self.candidates.takes_name_again(cand, node, czxid, answered).is_none();
        is_there && comes_once && listed.dissent.is_empty() && answered < listed.asked.0
    }
}
