//! Notifications that candidates received from their watches, and the requests that followed.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Candidates;
use super::terms::{Ending, Terms};
use crate::stats::spans::Span;
use hustings_record::{CellRecord, Event, Nanos, RevokeReason, WatchEvent};

/// Longest time until a candidate that lost its lead is notified of its own znode's deletion, without delays.
const TOLD_NS: Nanos = 500_000_000;

/// A watch notified a candidate of a change of a znode.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    pub t: Nanos,
    pub cand: u32,
    pub session: i64,
    pub node: &'a str,
    pub kind: WatchEvent,
}

/// A candidate had handled its enrolment or a notification.
#[derive(Clone, Copy, Debug)]
pub struct HandledNotice {
    pub t: Nanos,
    pub session: i64,
    /// Those that it sent because of that.
    pub requests: u32,
}

#[derive(Default)]
pub struct Notices<'a> {
    /// All, by group and in order of time.
    by_group: BTreeMap<u32, Vec<Notice<'a>>>,
    /// Deletions by group and name of the znode, in order of time, without those that leaders received of their own.
    by_node: BTreeMap<(u32, &'a str), Vec<Notice<'a>>>,
    /// Times by candidate, in order; those of deletions separately.
    by_cand: BTreeMap<u32, Vec<Nanos>>,
    deletions: BTreeMap<u32, Vec<Nanos>>,
    /// By candidate, in order of time.
    handled: BTreeMap<u32, Vec<HandledNotice>>,
}

impl<'a> Notices<'a> {
    pub(super) fn new(cell: &'a CellRecord, candidates: &Candidates<'_>) -> Self {
        let mut notices = Self::default();
        for (_, event) in cell.events() {
            match event {
                Event::Notified { kind: WatchEvent::Ended(_), .. } => {}
                Event::Notified { t, cand, session, node, kind } => {
                    // The check of the record reports candidates that were never declared.
                    let group = candidates.all.get(cand).map_or(u32::MAX, |c| c.group);
                    let notice = Notice { t: *t, cand: *cand, session: *session, node, kind: *kind };
                    notices.by_group.entry(group).or_default().push(notice);
                    notices.by_cand.entry(*cand).or_default().push(*t);
                    if *kind == WatchEvent::Deleted {
                        // Most znodes are deleted once, and one candidate is notified.
                        let of_node = notices.by_node.entry((group, node));
                        of_node.or_insert_with(|| Vec::with_capacity(1)).push(notice);
                        notices.deletions.entry(*cand).or_default().push(*t);
                    }
                }
                Event::Settled { t, cand, session, requests } => {
                    let handled = HandledNotice { t: *t, session: *session, requests: *requests };
                    notices.handled.entry(*cand).or_default().push(handled);
                }
                _ => {}
            }
        }
        notices.by_group.values_mut().chain(notices.by_node.values_mut()).for_each(|n| n.sort_by_key(|n| n.t));
        notices.by_cand.values_mut().chain(notices.deletions.values_mut()).for_each(|n| n.sort_unstable());
        notices.handled.values_mut().for_each(|of_cand| of_cand.sort_by_key(|handled| handled.t));
        notices
    }

    /// Where every lead rests on a znode of the same name, only time identifies a candidate's notification about its
    /// own. It is the first of that name since its term began, until shortly after it or until the candidate left, and
    /// before it enrols again.
    pub(super) fn without_own(mut self, terms: &Terms<'a>, candidates: &Candidates<'_>) -> Self {
        let mut known: BTreeSet<(u32, i64, i64)> = BTreeSet::new();
        // Of several terms by one lock the last one counts.
        for term in terms.all.iter().rev().filter(|term| known.insert((term.cand, term.session, term.czxid))) {
            let Some(told) = self.by_node.get_mut(&(term.group, term.node)) else { continue };
            let stands = candidates.stands.get(&term.cand).map_or(&[][..], Vec::as_slice);
            let again = stands.get(stands.partition_point(|stand| stand.from <= term.grant));
            let left = candidates.departures.get(&term.cand).map_or(&[][..], Vec::as_slice);
            let resigned = term.ending == Ending::Revoked(RevokeReason::Resigned);
            let left = left.get(left.partition_point(|left| left.t < term.ended.0)).filter(|_| resigned);
            // A candidate that is stopped while it resigns is notified when it resumes, and only then leaves.
            let over = (term.ended.1 + TOLD_NS).max(left.map_or(0, |left| left.t));
            let until = again.map_or(over, |stand| over.min(stand.from - 1));
            let from = told.partition_point(|notice| notice.t < term.grant);
            let within = told[from..].iter().take_while(|notice| notice.t <= until);
            let own = |notice: &Notice<'_>| (notice.cand, notice.session) == (term.cand, term.session);
            if let Some(place) = within.into_iter().position(own) {
                told.remove(from + place);
            }
        }
        self
    }

    /// All of them, in no order of time.
    pub fn all(&self) -> impl Iterator<Item = &Notice<'a>> {
        self.by_group.values().flatten()
    }

    /// All of a group, in order of time.
    #[must_use]
    pub fn of_group(&self, group: u32) -> &[Notice<'a>] {
        self.by_group.get(&group).map_or(&[], Vec::as_slice)
    }

    /// Notifications within `window`, both ends included, that this znode was deleted; in order of time.
    #[must_use]
    pub fn of(&self, group: u32, node: &'a str, window: Span) -> &[Notice<'a>] {
        let Some(notices) = self.by_node.get(&(group, node)) else { return &[] };
        let first = notices.partition_point(|n| n.t < window.0);
        let last = notices.partition_point(|n| n.t <= window.1);
        &notices[first..last.max(first)]
    }

    /// Whatever the candidate handled, in order of time.
    #[must_use]
    pub fn all_handled(&self, cand: u32) -> &[HandledNotice] {
        self.handled.get(&cand).map_or(&[], Vec::as_slice)
    }

    /// When the candidate had handled this notification. A session that ended before that has handled none.
    #[must_use]
    pub fn handled(&self, notice: &Notice<'_>) -> Option<HandledNotice> {
        let all = self.all_handled(notice.cand);
        let mut since = all[all.partition_point(|handled| handled.t < notice.t)..].iter();
        since.find(|handled| handled.session == notice.session).copied()
    }

    /// Whether the candidate was notified of a deletion within `window`, both ends included.
    #[must_use]
    pub fn notified_within(&self, cand: u32, window: Span) -> bool {
        let told = self.deletions.get(&cand).map_or(&[][..], Vec::as_slice);
        told.get(told.partition_point(|&t| t < window.0)).is_some_and(|&t| t <= window.1)
    }

    /// Whether the candidate was notified of anything within `window`, without its ends.
    #[must_use]
    pub fn notified_between(&self, cand: u32, window: Span) -> bool {
        let told = self.by_cand.get(&cand).map_or(&[][..], Vec::as_slice);
        told.get(told.partition_point(|&t| t <= window.0)).is_some_and(|&t| t < window.1)
    }

    /// Whether the candidate was notified of another znode of its group than this one within `window`, both ends
    /// included.
    #[must_use]
    pub fn notified_of_another(&self, group: u32, cand: u32, node: &str, window: Span) -> bool {
        let notices = self.of_group(group);
        let from = notices.partition_point(|notice| notice.t < window.0);
        let mut within = notices[from..].iter().take_while(|notice| notice.t <= window.1);
        within.any(|notice| notice.cand == cand && notice.node != node)
    }

    /// Whether at `at` the candidate had not yet handled its last notification, or its enrolment at `stood`: its watch
    /// may not have been armed.
    #[must_use]
    pub fn busy(&self, cand: u32, stood: Nanos, at: Nanos) -> bool {
        let told = self.by_cand.get(&cand).map_or(&[][..], Vec::as_slice);
        let last = told[..told.partition_point(|&t| t < at)].last().map_or(stood, |&t| t.max(stood));
        let handled = self.all_handled(cand);
        handled.get(handled.partition_point(|handled| handled.t < last)).is_none_or(|handled| handled.t > at)
    }
}
