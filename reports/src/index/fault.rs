//! One fault of a record, with its proofs.

use super::proof::Proof;
use crate::stats::spans::Span;
use hustings_record::{FaultKind, Nanos};

#[derive(Clone, Debug)]
pub struct Fault<'a> {
    pub id: u32,
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
    /// Proven to have taken effect.
    #[must_use]
    pub fn verified(&self) -> bool {
        self.injected.as_ref().is_some_and(|p| p.verified)
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

    #[must_use]
    pub fn hits(&self, cand: u32) -> bool {
        self.cands.binary_search(&cand).is_ok()
    }
}
