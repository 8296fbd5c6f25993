//! Handovers: every change of leader between incarnations, with the strike that it belongs to. What a zero stands on.

use super::cell::Index;
use super::terms::Term;
use super::writes::WriteKey;
use crate::stats::spans::{Span, total, without};
use hustings_record::Nanos;

/// What is independent of what: all that was planned for one moment is one strike, and what nobody planned is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strike {
    /// For when it was planned.
    Planned(Nanos),
    /// Place of the term that came of it.
    Unplanned(usize),
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
    pub strike: Strike,
}

impl Index<'_> {
    /// All of them, in order of group and time. A lead that the same incarnation took back had no rival and is none; what only
    /// an unproven fault could explain is left out: no receipt, no sample.
    #[must_use]
    pub fn handovers(&self) -> Vec<Handover> {
        let planned_for = |fault: usize| Strike::Planned(self.faults.all[fault].intended);
        let of = |term: usize| self.terms.all[term].incarnation();
        let planned = self
            .losses
            .completed()
            .map(|(loss, successor)| (loss.group, loss.term, successor, loss.effect, planned_for(loss.fault)));
        let unplanned = self.losses.unplanned.iter().map(|change| {
            (change.group, change.term, change.successor, change.at, Strike::Unplanned(change.successor))
        });
        let explained = self
            .losses
            .explained
            .iter()
            .map(|(change, fault)| (change.group, change.term, change.successor, change.at, planned_for(*fault)));
        let all = planned.filter(|h| of(h.1) != of(h.2)).chain(explained).chain(unplanned);
        let mut handovers: Vec<Handover> = all
            .map(|(group, lost, successor, from, strike)| {
                let granted = self.terms.all[successor].granted.unwrap_or(from);
                Handover { group, lost, successor, span: (from, granted.max(from)), strike }
            })
            .collect();
        handovers.sort_by_key(|h| (h.group, h.span.1, h.successor));
        handovers
    }

    /// Whether a process stalled for longer than T/10 in this handover: that nothing was seen in it says nothing.
    #[must_use]
    pub fn stalled_in(&self, handover: &Handover) -> bool {
        let hosts = [handover.lost, handover.successor].map(|term| self.terms.all[term].host);
        let limit = self.timeout_or_asked() / 10;
        self.lives.stalls_in(&hosts, handover.span).any(|stall| stall.own > limit && stall.host.is_some())
    }

    /// Whether whoever lost this lead could still write in the next term: its process lived on, and ran.
    #[must_use]
    pub fn left_a_rival(&self, handover: &Handover) -> bool {
        let (lost, next) = (&self.terms.all[handover.lost], &self.terms.all[handover.successor]);
        let dead_from = self.lives.all[lost.life].died.map_or(Nanos::MAX, |died| died.1);
        let until = next.ended.1.min(dead_from);
        total(&without((handover.span.1, until), self.faults.certain_stops_of(lost.host))) > 0
    }
}

/// Handovers by what a write tells of them.
pub struct Blamed<'h> {
    /// In order of group and time.
    handovers: &'h [Handover],
    by_loser: std::collections::BTreeMap<WriteKey, usize>,
}

impl<'h> Blamed<'h> {
    #[must_use]
    pub fn new(index: &Index<'_>, handovers: &'h [Handover]) -> Self {
        let key = |term: &Term<'_>| (term.cand, term.session, term.czxid);
        let by_loser = handovers.iter().enumerate().map(|(at, h)| (key(&index.terms.all[h.lost]), at)).collect();
        Self { handovers, by_loser }
    }

    /// The handover in which this writer lost its lead; else the group's last one by then. As a place among the handovers.
    #[must_use]
    pub fn by_write(&self, writer: WriteKey, group: u32, t: Nanos) -> Option<usize> {
        self.by_loser.get(&writer).copied().or_else(|| {
            let after = self.handovers.partition_point(|h| (h.group, h.span.1) <= (group, t));
            after.checked_sub(1).filter(|&last| self.handovers[last].group == group)
        })
    }
}
