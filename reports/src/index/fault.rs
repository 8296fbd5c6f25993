//! One fault of a record, with its verifications.

use std::collections::BTreeMap;

use super::verification::VerificationResult;
use crate::stats::spans::Span;
use hustings_record::{FaultKind, LeadLoss, Nanos, overran};

#[derive(Clone, Debug)]
pub struct Fault<'a> {
    pub id: u32,
    /// Its number in the cell's plan.
    pub planned: Option<u32>,
    pub kind: FaultKind,
    pub t: Nanos,
    pub intended: Nanos,
    pub for_ms: Option<u64>,
    pub hosts: &'a [u16],
    pub groups: &'a [u32],
    pub servers: &'a [u32],
    /// Sorted. All candidates of its hosts if the record names none.
    pub cands: Vec<u32>,
    /// Its hosts and those of its candidates: sorted, without duplicates.
    pub met: Vec<u16>,
    pub detail: &'a str,
    pub injected: Option<Box<VerificationResult<'a>>>,
    pub healed: Option<Box<VerificationResult<'a>>>,
    /// Where its end is not recorded: when its hosts or servers first did what they cannot do under it, by number.
    pub(super) recovered: BTreeMap<u32, Nanos>,
    /// From the order until it no longer acts, or the end of the cell if that is not known.
    pub active: Span,
    /// This fault explains losses until here: the sessions of its targets can have expired by then.
    pub explains_until: Nanos,
}

impl Fault<'_> {
    /// Verified to have taken effect.
    #[must_use]
    pub fn verified(&self) -> bool {
        self.injected.as_ref().is_some_and(|p| p.verified)
    }

    /// The spans in which it took effect and was healed, on this host. Without verifications, it takes effect at its
    /// order, and ends when the host recovered, or at `end`.
    #[must_use]
    pub(super) fn edges(&self, host: u16, end: Nanos) -> (Span, Span) {
        let times = |proof: &Option<Box<VerificationResult<'_>>>| proof.as_ref().map(|proof| (proof.from, proof.to));
        let over = self.recovered.get(&u32::from(host)).copied().unwrap_or(end);
        (times(&self.injected).unwrap_or((self.t, self.t)), times(&self.healed).unwrap_or((over, over)))
    }

    /// By when all of its targets had recovered, in an ensemble of so many servers. None: not all of them did.
    #[must_use]
    pub(super) fn recovered_by(&self, servers: u32) -> Option<Nanos> {
        let at = |target: u32| self.recovered.get(&target).copied();
        let times: Option<Vec<Nanos>> = if !self.kind.hits_servers() {
            self.hosts.iter().map(|&host| at(u32::from(host))).collect()
        } else if self.servers.is_empty() {
            (1..=servers).map(at).collect()
        } else {
            self.servers.iter().map(|&server| at(server)).collect()
        };
        times?.into_iter().max()
    }

    /// Whether it hits this server. A fault that names none hits all.
    #[must_use]
    pub fn hits_server(&self, server: u32) -> bool {
        self.kind.hits_servers() && (self.servers.is_empty() || self.servers.contains(&server))
    }

    /// Whether it may have acted at some moment of `span`.
    #[must_use]
    pub fn acts_in(&self, span: Span) -> bool {
        self.active.0 <= span.1 && span.0 <= self.active.1
    }

    /// Whether it can be the cause of an event at some time within `span`.
    #[must_use]
    pub fn explains(&self, span: Span) -> bool {
        self.t <= span.1 && span.0 <= self.explains_until
    }

    /// How long it was in effect: minimum and maximum. None: it is not healed, or not both ends are known.
    #[must_use]
    pub fn lasted(&self) -> Option<(Nanos, Nanos)> {
        let (began, ended) = self.injected.as_deref().zip(self.healed.as_deref())?;
        let facts = self.kind.facts();
        let span = (ended.from.saturating_sub(began.to), ended.to.saturating_sub(began.from));
        (facts.until_healed && !facts.waits_at_sync_point).then_some(span)
    }

    /// The minimum time that it lasted, and the planned milliseconds, if it lasted longer than planned.
    #[must_use]
    pub fn overrun(&self) -> Option<(Nanos, u64)> {
        let (lasted, planned_ms) = (self.lasted()?.0, self.for_ms?);
        overran(lasted, planned_ms).then_some((lasted, planned_ms))
    }

    /// When it no longer acts, and was observed to be healed.
    #[must_use]
    pub fn over(&self) -> Nanos {
        self.active.1.max(self.healed.as_ref().map_or(0, |healed| healed.to))
    }

    /// From the order until it no longer acts, was observed to be healed, and explains nothing any more.
    #[must_use]
    pub fn felt(&self) -> Span {
        (self.t, self.over().max(self.explains_until))
    }

    /// Whether a leader under it always loses that lead.
    #[must_use]
    pub fn always_costs_leads(&self) -> bool {
        matches!(self.kind.facts().leads, LeadLoss::Always | LeadLoss::Anew)
    }

    #[must_use]
    pub fn hits(&self, cand: u32) -> bool {
        self.cands.binary_search(&cand).is_ok()
    }
}
