//! Overlaps of the beliefs of one group, with each term cut to the pieces that count.

use super::cell::Index;
use super::terms::Term;
use crate::stats::spans::Span;
use crate::stats::{BeliefSpan, Overlap, sweep};

/// The pieces of a term that count.
pub(crate) type BeliefSpanSelector = fn(&Index<'_>, &Term<'_>) -> Vec<Span>;

impl Index<'_> {
    /// Overlaps of a group's terms, each cut to the pieces that count; `margin` as in [`sweep`].
    #[must_use]
    pub(crate) fn overlaps(&self, group: u32, margin: i64, cut: BeliefSpanSelector) -> Vec<Overlap> {
        let mut pieces = Vec::new();
        for &term in self.terms.of_group(group) {
            let who = self.terms.all[term].incarnation();
            let spans = cut(self, &self.terms.all[term]);
            pieces.extend(spans.into_iter().map(|(from, to)| BeliefSpan { from, to, who, term }));
        }
        sweep(&mut pieces, margin)
    }

    /// All definite overlaps of a group, including those of stopped processes.
    #[must_use]
    pub(crate) fn definite_overlaps(&self, group: u32) -> Vec<Overlap> {
        self.overlaps(group, -self.margin(), |_, term| term.definite().into_iter().collect())
    }

    /// ε, as a margin.
    #[must_use]
    pub(crate) fn margin(&self) -> i64 {
        i64::try_from(self.epsilon).unwrap_or(i64::MAX)
    }
}
