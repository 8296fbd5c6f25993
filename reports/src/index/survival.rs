//! The faults that a leader survived: they do not explain later changes of its lead.

use super::candidates::Candidates;
use super::fault::Fault;
use super::intervals::{OwnershipInterval, OwnershipIntervals};
use super::terms::Term;
use hustings_record::Nanos;
use std::collections::BTreeSet;

pub(super) struct Survival<'i, 'a> {
    pub(super) candidates: &'i Candidates<'a>,
    pub(super) intervals: &'i OwnershipIntervals,
    /// Hosts of which not every connection could be decoded.
    pub(super) unread: &'i BTreeSet<u16>,
    /// T.
    pub(super) timeout: Nanos,
}

impl Survival<'_, '_> {
    /// Whether the leader survived the fault by `at`. The fault was over, the leader still believed with its session
    /// connected, and ZooKeeper named it as owner after the fault. No leader survives a fault that always costs the
    /// lead.
    pub(super) fn outlived(&self, fault: &Fault<'_>, term: &Term<'_>, at: Nanos) -> bool {
        let believed = term.granted.is_some_and(|granted| granted <= at) && at <= term.ended.0;
        let over = fault.over();
        believed
            && over <= at
            && !fault.always_costs_leads()
            && term.is_read(self.candidates, self.unread)
            && self.candidates.connected(term.session, at)
            && self.owned(term, over, at)
    }

    /// From when on the fault no longer explains a loss of this lead: when its effects have ended, or when the leader
    /// was observed to have survived it by T/2. That is longer than a client takes to miss its server. `None`: the lead
    /// ended before that, or the fault always costs it, however long its leader goes on believing.
    pub(super) fn outlived_at(&self, fault: &Fault<'_>, term: &Term<'_>) -> Option<Nanos> {
        if fault.always_costs_leads() {
            return None;
        }
        let settled = term.granted.map(|granted| granted.max(fault.over().saturating_add(self.timeout / 2)));
        let settled = settled.filter(|&at| at < fault.explains_until && self.outlived(fault, term, at));
        settled
            .or_else(|| Some(fault.explains_until).filter(|&until| term.ended.0 > until && !self.is_over(term, until)))
    }

    /// Whether the lead had gone by `at`, even if still believed: ZooKeeper had named its owner, and then another one
    /// or none.
    pub(super) fn is_over(&self, term: &Term<'_>, at: Nanos) -> bool {
        let intervals = self.intervals.of_group(term.group);
        let is_own = |interval: &&OwnershipInterval| interval.czxid == Some(term.czxid);
        // An owner that is named from that very moment on was not the owner before it.
        let before = intervals[..intervals.partition_point(|interval| interval.span.0 < at)].last();
        let now = before.filter(|interval| at <= interval.span.1);
        now.is_some_and(|now| !is_own(&now)) && intervals.iter().filter(is_own).any(|interval| interval.span.1 < at)
    }

    /// Whether ZooKeeper named the lead's own znode at some time from `since` on, and no other owner after it until
    /// `at`.
    fn owned(&self, term: &Term<'_>, since: Nanos, at: Nanos) -> bool {
        let last = self.intervals.within(term.group, (since, at)).next();
        last.is_some_and(|interval| interval.czxid == Some(term.czxid))
    }
}
