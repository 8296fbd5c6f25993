//! Who watches whom, by definition: a recipe whose leader's loss wakes one has everybody watch the znode before its own; one
//! that wakes all others has everybody watch the znode that the lead rests on.

use super::model::WatchedNode;
use crate::index::{Index, QueuePlace};
use hustings_record::{FanOut, Nanos, WatchEvent};

/// By when each znode of a group is known to have gone, in the order of the queue. None: it is not.
pub(super) struct Queue<'i, 'a> {
    index: &'i Index<'a>,
    group: u32,
    known: Vec<(&'i QueuePlace<'a>, Option<Nanos>)>,
}

impl<'i, 'a> Queue<'i, 'a> {
    pub(super) fn new(index: &'i Index<'a>, group: u32) -> Self {
        let places = index.places.of_group(group).iter();
        let known = places.map(|place| (place, gone(index, place))).collect();
        Self { index, group, known }
    }

    /// Candidates in the order in which they first stood; all of the group, where there is no queue.
    pub(super) fn order(&self) -> Vec<u32> {
        let all = self.index.candidates.of_group(self.group).iter().copied();
        let mut order: Vec<u32> = Vec::new();
        for cand in self.known.iter().map(|(place, _)| place.cand).chain(all) {
            if !order.contains(&cand) {
                order.push(cand);
            }
        }
        order
    }

    /// Whose znode has this name at `at`.
    pub(super) fn owner(&self, node: &str, at: Nanos) -> Option<u32> {
        let mut named = self.known.iter().filter(|(place, _)| place.node == node && place.from <= at);
        named.next_back().map(|(place, _)| place.cand)
    }

    /// Whom the candidate watches that waits at `at`. None: nobody, for it is the one that leads or is to lead.
    pub(super) fn watched(&self, cand: u32, at: Nanos, member: impl Fn(u32) -> Option<usize>) -> Option<WatchedNode> {
        let shown = |of: u32| member(of).map_or(WatchedNode::Another, WatchedNode::Member);
        let Some(wakes) = self.index.info.leader_wakes() else { return Some(WatchedNode::Another) };
        if wakes == FanOut::None {
            return Some(WatchedNode::Nothing);
        }
        if self.known.is_empty() {
            let owner = self.holder(at);
            return (owner != Some(cand)).then(|| owner.map_or(WatchedNode::Another, shown));
        }
        let there: Vec<&QueuePlace<'_>> = self.there(at).collect();
        let Some(own) = there.iter().rposition(|place| place.cand == cand) else { return Some(WatchedNode::Another) };
        let target = if wakes == FanOut::One { own.checked_sub(1)? } else { 0 };
        (target != own).then(|| shown(there[target].cand))
    }

    /// The znodes that stood at `at` and are not known to have gone.
    pub(super) fn there(&self, at: Nanos) -> impl DoubleEndedIterator<Item = &'i QueuePlace<'a>> {
        let there =
            self.known.iter().filter(move |(place, gone)| place.from <= at && gone.is_none_or(|gone| gone > at));
        there.map(|(place, _)| *place)
    }

    /// Who has the one lock that all compete for: whoever leads, or is the next to do so, for it leads by a lock that was there.
    fn holder(&self, at: Nanos) -> Option<u32> {
        let mut terms = self.index.terms.of_group(self.group).iter().map(|&place| &self.index.terms.all[place]);
        terms.find(|term| at <= term.ended.1).map(|term| term.cand)
    }
}

/// The first that tells that the znode is gone: a watcher, the answer to its deletion, or that no session lives so long.
fn gone(index: &Index<'_>, place: &QueuePlace<'_>) -> Option<Nanos> {
    let told = index.notices.of_group(place.group).iter();
    let mut told = told.filter(|n| n.kind == WatchEvent::Deleted && n.node == place.node && n.t >= place.from);
    told.next().map(|notice| notice.t).into_iter().chain(place.gone_by).min()
}
