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
        self.felt_stalls(hosts, span).max_by_key(|stall| stall.own)
    }

    /// All that are like that, by their beginning.
    fn felt_stalls<'s, 'h>(&'s self, hosts: &'h [u16], span: Span) -> impl Iterator<Item = &'s Stall> + use<'s, 'h> {
        let timeout = self.timeout_or_asked();
        let before = (span.0.saturating_sub(FELT_T * timeout), span.1);
        self.lives.stalls_in(hosts, before).filter(move |stall| stall.own > timeout / 10)
    }

    /// The longest of all hosts of a group.
    #[must_use]
    pub fn felt_stall_of_group(&self, group: u32, span: Span) -> Option<&Stall> {
        self.felt_stall(&self.hosts_of_group(group), span)
    }

    /// All of all hosts of a group, by their beginning.
    #[must_use]
    pub fn felt_stalls_of_group(&self, group: u32, span: Span) -> Vec<&Stall> {
        self.felt_stalls(&self.hosts_of_group(group), span).collect()
    }

    fn hosts_of_group(&self, group: u32) -> Vec<u16> {
        let cands = self.candidates.of_group(group).iter();
        let hosts: BTreeSet<u16> = cands.filter_map(|cand| Some(self.candidates.all.get(cand)?.host)).collect();
        hosts.into_iter().collect()
    }
}
