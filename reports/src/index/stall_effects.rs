//! Possible effects of a stall of the harness, and how long they last.

use std::collections::BTreeSet;

use super::cell::Index;
use super::notices::Notice;
use super::time::EDGE_NS;
use super::writer_processes::Stall;
use crate::stats::spans::{Span, total, union, within};
use hustings_record::Nanos;

/// The effects of a stall end this many T after it.
pub(super) const STALL_EFFECT_T: Nanos = 2;

impl Index<'_> {
    /// A stall of the harness that is longer than this, T/10, counts as a possible cause of observations.
    #[must_use]
    pub fn stall_limit(&self) -> Nanos {
        self.timeout_or_asked() / 10
    }

    /// Neither side gives up a session that is silent for less than this. It is T less these: 2/5 of T until our client
    /// misses its server, 3/20 between its pings, two checks of its clock. Half a tick is for followers, which hold
    /// touches so long. A client that misses its server after 2/3 T and pings every T/3 is silent for T/3 at least.
    #[must_use]
    pub fn session_ends_after(&self) -> Nanos {
        (7 * self.timeout_or_asked() / 20).saturating_sub(self.tick / 2)
    }

    /// Longest time that a session outlives its last touch: T, rounded up to a tick, plus half a tick until a follower
    /// forwards it.
    #[must_use]
    pub fn session_expiry(&self) -> Nanos {
        self.timeout_or_asked() + 3 * self.tick / 2
    }

    /// The effects of a stall, and those of a change that a stall delays, are over after this time: 2 T.
    #[must_use]
    pub fn stall_effect(&self) -> Nanos {
        STALL_EFFECT_T * self.timeout_or_asked()
    }

    /// The shortest time after which a session may have ended whose client reported that its connection was lost. Clients
    /// of external programs may ping every T/3 and miss their server only after 2/3 T.
    #[must_use]
    pub fn session_ends_after_loss(&self) -> Nanos {
        if self.lives.has_programs() { 0 } else { self.session_ends_after() }
    }

    /// Whether any process had a stall longer than T/10.
    #[must_use]
    pub fn has_stalled(&self) -> bool {
        self.lives.stalls.iter().any(|stall| stall.own > self.stall_limit())
    }

    /// Whether servers were hit, or had no quorum, at some moment of `span`, or that may still have effects then.
    #[must_use]
    pub fn servers_hit_within(&self, span: Span) -> bool {
        self.faults.on_servers().any(|fault| fault.explains(span)) || self.servers.out_within(span)
    }

    /// The longest stall over T/10 of these hosts, or of a process that is no host, that may have caused something in
    /// `span`. A session that is not served for long enough is given up, whichever process stalled.
    #[must_use]
    pub fn confounding_stall<'s>(&'s self, hosts: &[u16], span: Span) -> Option<&'s Stall> {
        self.confounding_stall_where(hosts, span, |_| true)
    }

    /// The longest such stall of those that `explains` takes for a cause.
    #[must_use]
    pub fn confounding_stall_where<'s>(
        &'s self,
        hosts: &[u16],
        span: Span,
        explains: impl Fn(&Stall) -> bool,
    ) -> Option<&'s Stall> {
        self.confounding_stalls(hosts, span).filter(|stall| explains(stall)).max_by_key(|stall| stall.own)
    }

    /// For how long, within `span`, a process of these hosts or one that is no host stalled, or a thread of a server was given no
    /// processor.
    #[must_use]
    pub fn not_running(&self, hosts: &[u16], span: Span) -> Nanos {
        let stalls = self.lives.stall_spans(hosts, span);
        let waits = self.servers.waits.iter().copied();
        total(&within(&union(stalls.into_iter().chain(waits).collect()), span))
    }

    /// All such stalls; the last one first.
    fn confounding_stalls<'s, 'h>(
        &'s self,
        hosts: &'h [u16],
        span: Span,
    ) -> impl Iterator<Item = &'s Stall> + use<'s, 'h> {
        let limit = self.stall_limit();
        let before = (span.0.saturating_sub(self.stall_effect()), span.1);
        self.lives.stalls_in(hosts, before).filter(move |stall| stall.own > limit)
    }

    /// The longest such stall of all hosts of a group.
    #[must_use]
    pub fn confounding_stall_of_group(&self, group: u32, span: Span) -> Option<&Stall> {
        self.confounding_stall(&self.hosts_of_group(group), span)
    }

    /// All such stalls of all hosts of a group, by their beginning.
    #[must_use]
    pub fn confounding_stalls_of_group(&self, group: u32, span: Span) -> Vec<&Stall> {
        let mut stalls: Vec<&Stall> = self.confounding_stalls(&self.hosts_of_group(group), span).collect();
        stalls.reverse();
        stalls
    }

    /// When hosts of a group, or processes that are no host, stalled at some moment of `span`: sorted and disjoint.
    #[must_use]
    pub fn own_stalls_of_group(&self, group: u32, span: Span) -> Vec<Span> {
        self.lives.stall_spans(&self.hosts_of_group(group), span)
    }

    /// The longest stall beyond T/10 of a host of this group, or of a process that is no host, that overlaps `span`.
    #[must_use]
    pub fn stall_within(&self, group: u32, span: Span) -> Option<&Stall> {
        let limit = self.stall_limit();
        let hosts = self.hosts_of_group(group);
        let stalls = self.lives.stalls_in(&hosts, span).filter(|stall| stall.own > limit);
        stalls.max_by_key(|stall| stall.own)
    }

    /// Since when the candidate's process was stopped, or messages to it were held back, at some moment of `span`.
    #[must_use]
    pub fn deafened_since(&self, cand: u32, span: Span) -> Option<Nanos> {
        let stops = self.faults.stops_of_cand(&self.candidates, cand).iter();
        let stopped = stops.filter(|stop| stop.0 <= span.1 && span.0 <= stop.1).map(|stop| stop.0);
        let kept = self
            .faults
            .on_cand_in(cand, span)
            .filter(|fault| fault.kind.facts().suppresses_watch_events && fault.acts_in(span));
        stopped.chain(kept.map(|fault| fault.t)).min()
    }

    /// When the server may have sent a notification: messages wait while the candidate cannot receive them.
    #[must_use]
    pub fn sent_within(&self, notice: &Notice<'_>) -> Span {
        let shortly = (notice.t.saturating_sub(EDGE_NS), notice.t);
        (self.deafened_since(notice.cand, shortly).unwrap_or(notice.t).min(notice.t), notice.t)
    }

    fn hosts_of_group(&self, group: u32) -> Vec<u16> {
        let cands = self.candidates.of_group(group).iter();
        let hosts: BTreeSet<u16> = cands.filter_map(|cand| Some(self.candidates.all.get(cand)?.host)).collect();
        hosts.into_iter().collect()
    }
}
