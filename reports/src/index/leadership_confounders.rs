//! Behaviour that no recipe can prevent: a process acts as before for a moment after a stop, and so does a candidate
//! after a forced session end, until its client can be notified. Each excuse covers one term, begins with its cause,
//! and ends soon.

use super::cell::Index;
use super::fault::Fault;
use super::stall_effects::STALL_EFFECT_T;
use super::terms::Term;
use super::writes::ResourceWrite;
use crate::stats::spans::{Span, union, without};
use hustings_record::Nanos;

/// Why a candidate may act as leader for a moment after its lead is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadershipConfounder {
    /// The process was stopped, and has just resumed.
    Waking,
    /// The ensemble ended the session, or deleted the znode, by force, and the client cannot have been notified yet.
    Forced,
}

impl Index<'_> {
    /// The excuse that covers all of these spans, in which these terms took part; `None` if there is none. Of two terms,
    /// one that ZooKeeper alone named as the owner in these spans led rightly: what held it up excuses nothing.
    #[must_use]
    pub fn leadership_confounder(&self, spans: &[Span], terms: &[&Term<'_>]) -> Option<LeadershipConfounder> {
        let at_fault = terms.iter().filter(|term| terms.len() == 1 || !self.alone_owned(term, spans));
        let waking: Vec<Span> = at_fault.clone().flat_map(|term| self.wakings(term)).collect();
        let forced = at_fault.flat_map(|term| self.forced(term)).chain(waking.iter().copied());
        let forced = union(forced.collect());
        let waking = union(waking);
        let within = |excused: &[Span]| !excused.is_empty() && spans.iter().all(|&s| without(s, excused).is_empty());
        if within(&waking) {
            Some(LeadershipConfounder::Waking)
        } else {
            within(&forced).then_some(LeadershipConfounder::Forced)
        }
    }

    /// Whether ZooKeeper named the owner in these spans, and it was always this term's.
    fn alone_owned(&self, term: &Term<'_>, spans: &[Span]) -> bool {
        let mut named = spans.iter().flat_map(|&span| self.intervals.within(term.group, span)).peekable();
        named.peek().is_some() && named.all(|interval| interval.is_of(term))
    }

    /// The excuse for a write: its cause must hit the write's own candidate, in the term that the write belongs to.
    #[must_use]
    pub fn write_confounder(&self, work: &ResourceWrite) -> Option<LeadershipConfounder> {
        let of_cand = self.terms.by_cand.get(&work.cand).into_iter().flatten().map(|&place| &self.terms.all[place]);
        let of_it = |term: &&Term<'_>| (term.session, term.czxid) == (work.session, work.czxid);
        let terms: Vec<&Term<'_>> = of_cand.filter(of_it).collect();
        self.leadership_confounder(&[(work.t, work.t + 1)], &terms)
    }

    /// From each stop of the process in this term until its client must have checked its state after resuming. A stop
    /// before the term counts too if the session existed: notifications about its own znode may be from before the
    /// stop.
    fn wakings(&self, term: &Term<'_>) -> impl Iterator<Item = Span> {
        let mut sessions = self.presence.incarnations.get(&term.cand).into_iter().flatten();
        let began = sessions.find(|began| began.1 == term.session);
        let from = began.map_or(term.grant, |began| began.0.min(term.grant));
        let stops = self.faults.stops_of(term.host).iter().filter(move |stop| from <= stop.0);
        stops.map(|stop| (stop.0, stop.1 + self.unheard(term, (stop.1, stop.1))))
    }

    /// When the process of this term stalled by itself for longer than T/10. If `wakes`, the span lasts until its
    /// client must have checked its state, as after an ordered stop.
    pub(crate) fn stalled(&self, term: &Term<'_>, wakes: bool) -> Vec<Span> {
        let limit = self.stall_limit();
        // A stall that ended longer before the term does not affect it.
        let since = term.grant.saturating_sub(STALL_EFFECT_T * self.timeout_or_asked());
        let stalls = self.lives.stalls_in(std::slice::from_ref(&term.host), (since, term.ended.1));
        let own = stalls.filter(|stall| stall.own > limit && stall.host.is_some());
        own.map(|stall| {
            let woken = if wakes { self.unheard(term, (stall.to, stall.to)) } else { 0 };
            (stall.from, stall.to.saturating_add(woken))
        })
        .collect()
    }

    /// From each order to end this term by force, with its session or its znode, until its client must have been
    /// notified.
    fn forced(&self, term: &Term<'_>) -> impl Iterator<Item = Span> {
        let by_force = |fault: &&Fault<'_>| fault.kind.hits_candidates() && fault.kind.facts().defeats_client_checks;
        let of_cand = self.faults.of_cand(term.cand).filter(by_force);
        // It was enrolled when the fault was ordered, or enrolled while the fault was under way.
        let ends_it = |fault: &&Fault<'_>| {
            let stood = self.candidates.standing(term.cand, fault.t);
            let closed = fault.injected.as_ref().map_or(fault.t, |proof| proof.to);
            stood.is_some_and(|stood| stood.session == term.session)
                || self.candidates.enrols_again_under(term.cand, term.session, (fault.t, closed))
        };
        of_cand.filter(ends_it).map(|fault| {
            let closed = fault.injected.as_ref().map_or(fault.t, |proof| proof.to);
            (fault.t, closed + self.unheard(term, (fault.t, closed)))
        })
    }

    /// How long a client may not learn the fate of its session: T/5 while its server lags. T/2 more if nothing gets
    /// through: the client waits for 2/5 of T in vain, and so does a server that is cut off.
    fn unheard(&self, term: &Term<'_>, over: Span) -> Nanos {
        let t = self.timeout_or_asked();
        if self.is_deaf(term, (over.0, over.1 + t / 2)) { t / 5 + t / 2 } else { t / 5 }
    }

    /// Whether the candidate of this term was behind a bad link within `span`, or a fault hit servers.
    fn is_deaf(&self, term: &Term<'_>, span: Span) -> bool {
        let bad = |fault: &Fault<'_>| {
            let facts = fault.kind.facts();
            let link = fault.kind.needs_links() && facts.until_healed && fault.met.contains(&term.host);
            (link || fault.kind.hits_servers()) && fault.acts_in(span)
        };
        self.faults.all.iter().any(bad)
    }
}
