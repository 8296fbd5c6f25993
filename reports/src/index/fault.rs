//! One fault of a record, with its proofs.

use super::proof::Proof;
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
    /// Sorted. All candidates of its hosts where the record names none.
    pub cands: Vec<u32>,
    /// Its hosts and those of its candidates: sorted, each once.
    pub met: Vec<u16>,
    pub detail: &'a str,
    pub injected: Option<Box<Proof<'a>>>,
    pub healed: Option<Box<Proof<'a>>>,
    /// From the order until it acts no longer, or the end of the cell where that is not known.
    pub active: Span,
    /// Losses until here are this fault's doing: its victims' sessions can have expired by then.
    pub explains_until: Nanos,
}

impl Fault<'_> {
    /// Verified to have taken effect.
    #[must_use]
    pub fn verified(&self) -> bool {
        self.injected.as_ref().is_some_and(|p| p.verified)
    }

    /// Between which times it took effect, and between which it was healed: from its order on where no receipt tells, and until
    /// `end`.
    #[must_use]
    pub(super) fn edges(&self, end: Nanos) -> (Span, Span) {
        let times = |proof: &Option<Box<Proof<'_>>>| proof.as_ref().map(|proof| (proof.from, proof.to));
        (times(&self.injected).unwrap_or((self.t, self.t)), times(&self.healed).unwrap_or((end, end)))
    }

    /// Whether it hits this server; a fault that names none hits them all.
    #[must_use]
    pub fn hits_server(&self, server: u32) -> bool {
        self.kind.hits_servers() && (self.servers.is_empty() || self.servers.contains(&server))
    }

    /// Whether it may have acted at some moment of `span`.
    #[must_use]
    pub fn acts_in(&self, span: Span) -> bool {
        self.active.0 <= span.1 && span.0 <= self.active.1
    }

    /// Whether what happened at some time within `span` can be its doing.
    #[must_use]
    pub fn explains(&self, span: Span) -> bool {
        self.t <= span.1 && span.0 <= self.explains_until
    }

    /// For how long it was in effect: for certain, and at most. None: it is not healed, or both ends are not known.
    #[must_use]
    pub fn lasted(&self) -> Option<(Nanos, Nanos)> {
        let (began, ended) = self.injected.as_deref().zip(self.healed.as_deref())?;
        let facts = self.kind.facts();
        let span = (ended.from.saturating_sub(began.to), ended.to.saturating_sub(began.from));
        (facts.until_healed && !facts.lies_in_wait).then_some(span)
    }

    /// For how long it lasted for certain, and the milliseconds that were planned, where it lasted longer than that.
    #[must_use]
    pub fn overrun(&self) -> Option<(Nanos, u64)> {
        let (lasted, planned_ms) = (self.lasted()?.0, self.for_ms?);
        overran(lasted, planned_ms).then_some((lasted, planned_ms))
    }

    /// When it acts no longer, and was seen to be healed.
    #[must_use]
    pub fn over(&self) -> Nanos {
        self.active.1.max(self.healed.as_ref().map_or(0, |healed| healed.to))
    }

    /// From the order until it acts no longer, is seen to be healed, and explains nothing any more.
    #[must_use]
    pub fn felt(&self) -> Span {
        (self.t, self.over().max(self.explains_until))
    }

    /// Whether whoever leads under it cannot but lose that lead.
    #[must_use]
    pub fn always_costs_leads(&self) -> bool {
        matches!(self.kind.facts().leads, LeadLoss::Always | LeadLoss::Anew)
    }

    #[must_use]
    pub fn hits(&self, cand: u32) -> bool {
        self.cands.binary_search(&cand).is_ok()
    }
}
