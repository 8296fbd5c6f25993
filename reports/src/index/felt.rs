//! What a stall of the harness may have brought about, and for how long after it.

use std::collections::BTreeSet;

use super::cell::Index;
use super::lives::Stall;
use crate::stats::spans::Span;
use hustings_record::Nanos;

/// What a stall may have cost is over so many T after it.
const FELT_T: Nanos = 2;

impl Index<'_> {
    /// The longest stall of these hosts, or of a process that is no host, that is longer than T/10 and of which something in
    /// `span` may have come: a session that is not served for long enough is given up, whoever is to blame.
    #[must_use]
    pub fn felt_stall<'s>(&'s self, hosts: &[u16], span: Span) -> Option<&'s Stall> {
        let timeout = self.timeout_or_asked();
        let before = (span.0.saturating_sub(FELT_T * timeout), span.1);
        self.lives.stalls_in(hosts, before).filter(|stall| stall.own > timeout / 10).max_by_key(|stall| stall.own)
    }

    /// The same of all hosts of a group.
    #[must_use]
    pub fn felt_stall_of_group(&self, group: u32, span: Span) -> Option<&Stall> {
        let cands = self.candidates.of_group(group).iter();
        let hosts: BTreeSet<u16> = cands.filter_map(|cand| Some(self.candidates.all.get(cand)?.host)).collect();
        self.felt_stall(&hosts.into_iter().collect::<Vec<_>>(), span)
    }
}
