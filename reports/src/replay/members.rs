//! Who of a group is shown: those that the story is about, whoever leads, and the first of the queue.

use std::collections::BTreeMap;

use super::model::ReplayMember;
use super::queue::Queue;
use crate::index::Index;

const CAST_MAX: usize = 10;

/// The candidates that are shown, by their places.
pub(super) struct ReplayMembers {
    pub(super) members: Vec<ReplayMember>,
    pub(super) others: u64,
    places: BTreeMap<u32, usize>,
}

impl ReplayMembers {
    /// `about`: who must be in it, the most important first.
    pub(super) fn new(index: &Index<'_>, group: u32, queue: &Queue<'_, '_>, about: &[u32]) -> Self {
        let order = queue.order();
        let leaders = index.terms.of_group(group).iter().map(|&term| index.terms.all[term].cand);
        let mut chosen: Vec<u32> = Vec::new();
        for cand in about.iter().copied().chain(leaders).chain(order.iter().copied()) {
            if chosen.len() < CAST_MAX && !chosen.contains(&cand) {
                chosen.push(cand);
            }
        }
        let shown = order.iter().filter(|cand| chosen.contains(cand));
        let member = |&cand: &u32| Some(ReplayMember { candidate: cand, host: index.candidates.all.get(&cand)?.host });
        let members: Vec<ReplayMember> = shown.filter_map(member).collect();
        let places = members.iter().enumerate().map(|(place, member)| (member.candidate, place)).collect();
        let others = order.len().saturating_sub(members.len()) as u64;
        Self { members, others, places }
    }

    pub(super) fn place(&self, cand: u32) -> Option<usize> {
        self.places.get(&cand).copied()
    }

    /// Those of them that are shown, by their places.
    pub(super) fn places(&self, cands: impl IntoIterator<Item = u32>) -> Vec<usize> {
        let mut places: Vec<usize> = cands.into_iter().filter_map(|cand| self.place(cand)).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}
