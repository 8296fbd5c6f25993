//! What no recipe can promise: for a moment after it was stopped a process acts as before, and so does a candidate whose session
//! was ended by force until its client can have heard of it. Each excuse is one term's, begins with its cause, and ends soon.

use super::cell::Index;
use super::fault::Fault;
use super::felt::FELT_T;
use super::terms::Term;
use super::writes::Work;
use crate::stats::spans::{Span, union, without};
use hustings_record::Nanos;

/// Why a lead that is over may go on for a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excuse {
    /// The process was stopped, and has just been woken.
    Waking,
    /// The ensemble ended the session, or took the znode, by force, and its client cannot have heard of it yet.
    Forced,
}

impl Index<'_> {
    /// What excuses all of these times, of which these terms were part; `None` where nothing does.
    #[must_use]
    pub fn excuse(&self, spans: &[Span], terms: &[&Term<'_>]) -> Option<Excuse> {
        let waking: Vec<Span> = terms.iter().flat_map(|term| self.wakings(term)).collect();
        let forced = terms.iter().flat_map(|term| self.forced(term)).chain(waking.iter().copied());
        let forced = union(forced.collect());
        let waking = union(waking);
        let within = |excused: &[Span]| !excused.is_empty() && spans.iter().all(|&s| without(s, excused).is_empty());
        if within(&waking) { Some(Excuse::Waking) } else { within(&forced).then_some(Excuse::Forced) }
    }

    /// What excuses a write: the cause must be its own candidate's, in the very term that it is of.
    #[must_use]
    pub fn excuse_of_write(&self, work: &Work) -> Option<Excuse> {
        let of_cand = self.terms.by_cand.get(&work.cand).into_iter().flatten().map(|&place| &self.terms.all[place]);
        let of_it = |term: &&Term<'_>| (term.session, term.czxid) == (work.session, work.czxid);
        let terms: Vec<&Term<'_>> = of_cand.filter(of_it).collect();
        self.excuse(&[(work.t, work.t + 1)], &terms)
    }

    /// From each time at which its process was stopped in this term until its client must have looked around after its waking. A
    /// stop before the term counts too if the session was there: what its client was told of its own znode may be from before the
    /// stop.
    fn wakings(&self, term: &Term<'_>) -> impl Iterator<Item = Span> {
        let mut sessions = self.presence.incarnations.get(&term.cand).into_iter().flatten();
        let began = sessions.find(|began| began.1 == term.session);
        let from = began.map_or(term.grant, |began| began.0.min(term.grant));
        let stops = self.faults.stops_of(term.host).iter().filter(move |stop| from <= stop.0);
        stops.map(|stop| (stop.0, stop.1 + self.unheard(term, (stop.1, stop.1))))
    }

    /// When the process of this term stalled of its own accord for longer than T/10; and, if it `wakes`, until its client must have
    /// looked around after that, as after a stop by order.
    pub(crate) fn stalled(&self, term: &Term<'_>, wakes: bool) -> Vec<Span> {
        let limit = self.stall_limit();
        // What is over longer before it means nothing to it.
        let since = term.grant.saturating_sub(FELT_T * self.timeout_or_asked());
        let stalls = self.lives.stalls_in(std::slice::from_ref(&term.host), (since, term.ended.1));
        let own = stalls.filter(|stall| stall.own > limit && stall.host.is_some());
        own.map(|stall| {
            let woken = if wakes { self.unheard(term, (stall.to, stall.to)) } else { 0 };
            (stall.from, stall.to.saturating_add(woken))
        })
        .collect()
    }

    /// From each order to end this term by force, with its session or its znode, until its client must have heard of it.
    fn forced(&self, term: &Term<'_>) -> impl Iterator<Item = Span> {
        let by_force = |fault: &&Fault<'_>| fault.kind.hits_candidates() && fault.kind.facts().outwits_recipes;
        let of_cand = self.faults.of_cand(term.cand).filter(by_force);
        // It stood when that was ordered, or came to stand while it was under way.
        let ends_it = |fault: &&Fault<'_>| {
            let stood = self.candidates.standing(term.cand, fault.t);
            let closed = fault.injected.as_ref().map_or(fault.t, |proof| proof.to);
            stood.is_some_and(|stood| stood.session == term.session)
                || self.candidates.stands_anew_under(term.cand, term.session, (fault.t, closed))
        };
        of_cand.filter(ends_it).map(|fault| {
            let closed = fault.injected.as_ref().map_or(fault.t, |proof| proof.to);
            (fault.t, closed + self.unheard(term, (fault.t, closed)))
        })
    }

    /// For how long a client may not hear what has become of its session: T/5 while its server lags; T/2 more where nothing gets
    /// through, for it has to wait for 2/5 of T in vain, and so does a server that is cut off.
    fn unheard(&self, term: &Term<'_>, over: Span) -> Nanos {
        let t = self.timeout_or_asked();
        if self.is_deaf(term, (over.0, over.1 + t / 2)) { t / 5 + t / 2 } else { t / 5 }
    }

    /// Whether the candidate of this term was behind a bad link within `span`, or servers were hit.
    fn is_deaf(&self, term: &Term<'_>, span: Span) -> bool {
        let bad = |fault: &Fault<'_>| {
            let facts = fault.kind.facts();
            let link = fault.kind.needs_links() && facts.until_healed && fault.met.contains(&term.host);
            (link || fault.kind.hits_servers()) && fault.acts_in(span)
        };
        self.faults.all.iter().any(bad)
    }
}
