//! Handovers: every change of leader between incarnations, with its injection. Every count of zero states how many
//! there were.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::Index;
use super::stall_effects::STALL_EFFECT_T;
use super::terms::Term;
use super::writes::WriteKey;
use crate::stats::spans::{Span, total, without};
use hustings_record::Nanos;

/// The unit of independence: all faults planned for one moment are one injection. Unplanned changes are one injection
/// while each comes within T of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Injection {
    /// The time for which it was planned.
    Planned(Nanos),
    /// When the first of the leads that belong together was lost.
    Unplanned(Nanos),
}

/// The lead went from one incarnation to another.
#[derive(Clone, Copy, Debug)]
pub struct Handover {
    pub group: u32,
    /// Places of the terms.
    pub lost: usize,
    pub successor: usize,
    /// From the lead's loss to the next grant.
    pub span: Span,
    pub injection: Injection,
}

impl Index<'_> {
    /// All of them, in order of group and time. A lead that the same incarnation took back had no rival and is left
    /// out. So is a change that only an unverified fault could explain.
    #[must_use]
    pub fn handovers(&self) -> Vec<Handover> {
        let planned_for = |fault: usize| Injection::Planned(self.faults.all[fault].intended);
        let of = |term: usize| self.terms.all[term].incarnation();
        let planned = self
            .losses
            .completed()
            .map(|(loss, successor)| (loss.group, loss.term, successor, loss.effect, planned_for(loss.fault)));
        let together = chained(self.losses.unplanned.iter().map(|change| change.at), self.timeout_or_asked());
        let unplanned = self.losses.unplanned.iter().map(|change| {
            (change.group, change.term, change.successor, change.at, Injection::Unplanned(together[&change.at]))
        });
        let explained = self
            .losses
            .explained
            .iter()
            .map(|(change, fault)| (change.group, change.term, change.successor, change.at, planned_for(*fault)));
        let all = planned.chain(explained).chain(unplanned).filter(|h| of(h.1) != of(h.2));
        let mut handovers: Vec<Handover> = all
            .map(|(group, lost, successor, from, injection)| {
                let granted = self.terms.all[successor].granted.unwrap_or(from);
                Handover { group, lost, successor, span: (from, granted.max(from)), injection }
            })
            .collect();
        handovers.sort_by_key(|h| (h.group, h.span.1, h.successor));
        handovers
    }

    /// Whether a stall longer than T/10 hides this handover. When the successor was granted its term, the loser did not
    /// run or had just resumed. Or a stall of the successor's process may have delayed that grant.
    #[must_use]
    pub fn stalled_in(&self, handover: &Handover) -> bool {
        let [lost, next] = [handover.lost, handover.successor].map(|term| &self.terms.all[term]);
        let granted = handover.span.1;
        let since = handover.span.0.max(granted.saturating_sub(STALL_EFFECT_T * self.timeout_or_asked()));
        let slept = self.stalled(lost, true).into_iter().any(|stall| stall.0 <= granted && granted <= stall.1);
        slept || self.stalled(next, false).into_iter().any(|stall| stall.0 <= granted && since <= stall.1)
    }

    /// Whether the loser could still believe, and write, in the next term: its process had not ended, and ran.
    #[must_use]
    pub fn left_a_rival(&self, handover: &Handover) -> bool {
        let (lost, next) = (&self.terms.all[handover.lost], &self.terms.all[handover.successor]);
        let dead_from = self.lives.all[lost.life].died.map_or(Nanos::MAX, |died| died.1);
        let until = next.ended.1.min(dead_from);
        total(&without((handover.span.1, until), self.faults.certain_stops_of(lost.host))) > 0
    }
}

/// For each of these moments the first of its chain: in a chain, each comes at most `apart` after the one before.
fn chained(moments: impl Iterator<Item = Nanos>, apart: Nanos) -> BTreeMap<Nanos, Nanos> {
    let mut firsts: BTreeMap<Nanos, Nanos> = BTreeMap::new();
    for at in moments.collect::<BTreeSet<Nanos>>() {
        let before = firsts.last_key_value().filter(|(last, _)| at - **last <= apart).map(|(_, &first)| first);
        firsts.insert(at, before.unwrap_or(at));
    }
    firsts
}

/// Handovers, looked up by a write.
pub struct HandoverLookup<'h> {
    /// In order of group and time.
    handovers: &'h [Handover],
    by_loser: BTreeMap<WriteKey, usize>,
}

impl<'h> HandoverLookup<'h> {
    #[must_use]
    pub fn new(index: &Index<'_>, handovers: &'h [Handover]) -> Self {
        let key = |term: &Term<'_>| (term.cand, term.session, term.czxid);
        let by_loser = handovers.iter().enumerate().map(|(at, h)| (key(&index.terms.all[h.lost]), at)).collect();
        Self { handovers, by_loser }
    }

    /// The handover in which this writer lost its lead; else the group's last one by then. As a place among the
    /// handovers.
    #[must_use]
    pub fn by_write(&self, writer: WriteKey, group: u32, t: Nanos) -> Option<usize> {
        self.by_loser.get(&writer).copied().or_else(|| {
            let after = self.handovers.partition_point(|h| (h.group, h.span.1) <= (group, t));
            after.checked_sub(1).filter(|&last| self.handovers[last].group == group)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_hang_together_as_long_as_none_comes_much_later_than_the_one_before() {
        let chained = chained([30, 10, 12, 15, 31, 10].into_iter(), 4);
        assert_eq!(chained.into_iter().collect::<Vec<_>>(), [(10, 10), (12, 10), (15, 10), (30, 30), (31, 30)]);
    }
}
