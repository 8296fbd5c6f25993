//! Orders that programs of others did not follow, as the record shows: no process beside them reports that.

use std::collections::BTreeMap;

use super::broken_rule::{BrokenRule, kept_from_it};
use crate::index::{Fault, Index, Term};
use crate::stats::spans::{Span, touches};
use hustings_record::numbers::nanos;
use hustings_record::words::duration;
use hustings_record::{
    Departure, Event, Evidence, FaultKind, Misbehaviour, Nanos, ORDER_AT_MOST, SessionEnd, SessionState,
};

/// A program may enrol again so much earlier than it is to, as a share of the pause: some runtimes count milliseconds, and their
/// timers fire a little early. The connections show the answer to the deletion before the program reads it, so that nothing else
/// shortens the pause.
const EARLY_SHARE: Nanos = 10;

/// All rules about orders that programs broke.
pub(super) fn broken(index: &Index<'_>) -> Vec<BrokenRule> {
    let orders: Vec<ResignOrder<'_, '_>> =
        index.faults.all.iter().filter_map(|fault| ResignOrder::of(index, fault)).collect();
    let enrolments = if orders.is_empty() { Enrolments::new() } else { enrolments(index) };
    let resigned = orders.iter().flat_map(|order| [order.ignored(), order.rejoined_early(&enrolments)]).flatten();
    index.faults.all.iter().flat_map(|fault| terminate_ignored(index, fault)).chain(resigned).collect()
}

/// Processes that were killed because they had not ended on SIGTERM.
fn terminate_ignored(index: &Index<'_>, fault: &Fault<'_>) -> Vec<BrokenRule> {
    let what = Misbehaviour::TerminateIgnored;
    let mut broken = Vec::new();
    let Some(proof) = &fault.injected else { return broken };
    let span = (proof.from, proof.to);
    for seen in &proof.seen {
        let Evidence::Processes { killed, .. } = seen else { continue };
        // A stopped process receives no signal.
        let could = |host: &u16| index.lives.runs_program(*host) && !touches(index.faults.stops_of(*host), span);
        broken.extend(killed.iter().copied().filter(could).map(|host| {
            let waited = duration(span.1.saturating_sub(span.0));
            BrokenRule {
                t: span.1,
                host: index.host_name(host),
                cand: None,
                what,
                text: format!("it was sent SIGTERM, had not ended after {waited}, and was killed"),
                kept: kept_from_it(index, Some(host), what, span),
            }
        }));
    }
    broken
}

/// When candidates were first observed to have which znode, in order of time.
type Enrolments<'a> = BTreeMap<u32, Vec<(Nanos, &'a str)>>;

fn enrolments<'a>(index: &Index<'a>) -> Enrolments<'a> {
    let mut all = Enrolments::new();
    for (_, event) in index.cell.events() {
        if let Event::Created { t, cand, node, .. } | Event::Joined { t, cand, node: Some(node), .. } = event {
            all.entry(*cand).or_default().push((*t, node.as_str()));
        }
    }
    all.values_mut().for_each(|times| times.sort_unstable());
    all
}

/// An order to resign to a program whose connections could be read.
struct ResignOrder<'i, 'a> {
    index: &'i Index<'a>,
    fault: &'i Fault<'a>,
    cand: u32,
    host: u16,
}

impl<'i, 'a> ResignOrder<'i, 'a> {
    fn of(index: &'i Index<'a>, fault: &'i Fault<'a>) -> Option<Self> {
        let &[cand] = fault.cands.as_slice() else { return None };
        let host = index.candidates.all.get(&cand)?.host;
        let is_read = index.lives.runs_program(host) && !index.unread.contains(&host);
        (fault.kind == FaultKind::Resign && is_read).then_some(Self { index, fault, cand, host })
    }

    /// The candidate's term, if it certainly led at this moment.
    fn term_at(&self, at: Nanos) -> Option<&'i Term<'a>> {
        let term = &self.index.terms.all[self.index.terms.held_by(self.cand, at)?];
        term.definite().filter(|certain| certain.0 <= at && at <= certain.1).map(|_| term)
    }

    /// Whether something else may have kept the candidate from following the order within `span`, or its session: another fault
    /// on it, a fault on servers, or the lack of a quorum.
    fn is_disturbed(&self, span: Span) -> bool {
        let is_other = |other: &Fault<'_>| other.id != self.fault.id && other.kind != FaultKind::Resign;
        self.index.faults.on_cand_in(self.cand, span).any(is_other) || self.index.servers_hit_within(span)
    }

    /// Whether the session's client was connected throughout `span`, or until it closed the session itself.
    fn is_connected(&self, session: i64, span: Span) -> bool {
        let candidates = &self.index.candidates;
        let states = candidates.states.get(&session).map_or(&[][..], Vec::as_slice);
        let mut within = states.iter().filter(|state| span.0 <= state.0 && state.0 <= span.1);
        let own = [SessionState::Connected, SessionState::Ended(SessionEnd::Closed)];
        candidates.established.contains_key(&session)
            && candidates.connected(session, span.0)
            && within.all(|state| own.contains(&state.1))
    }

    fn breaks(&self, t: Nanos, what: Misbehaviour, text: String, kept: Option<Nanos>) -> BrokenRule {
        BrokenRule { t, host: self.index.host_name(self.host), cand: Some(self.cand), what, text, kept }
    }

    /// A leader that could reach ZooKeeper gave no answer for as long as the harness waits.
    fn ignored(&self) -> Option<BrokenRule> {
        let proof = self.fault.injected.as_deref()?;
        let span = (proof.from, proof.to);
        let waited = span.1.saturating_sub(span.0);
        // Whatever else fails is reported at once.
        let is_unanswered = !proof.claimed && !proof.recorded() && waited >= nanos(ORDER_AT_MOST);
        let term = self.term_at(span.0).filter(|_| is_unanswered && span.1 <= self.index.observed_until())?;
        if !self.is_connected(term.session, span) || self.is_disturbed(span) {
            return None;
        }
        let what = Misbehaviour::ResignIgnored;
        let text = format!("it led, was ordered to resign, and had not answered after {}", duration(waited));
        Some(self.breaks(span.1, what, text, kept_from_it(self.index, Some(self.host), what, span)))
    }

    /// The candidate enrolled again before its pause was over. The pause counts from the answer to the deletion, as its
    /// connections show it. A leader may close its session in place of that: then it counts from there, or from its report if that
    /// is earlier.
    fn rejoined_early(&self, enrolments: &Enrolments<'_>) -> Option<BrokenRule> {
        let Self { index, fault, cand, host } = *self;
        let pause = index.info.rejoin_after_ms?.saturating_mul(1_000_000);
        let least = pause - pause / EARLY_SHARE;
        let proof = fault.injected.as_deref().filter(|proof| proof.verified && proof.recorded())?;
        let term = self.term_at(fault.t);
        let departures = index.candidates.departures.get(&cand).map_or(&[][..], Vec::as_slice);
        let left = departures[departures.partition_point(|left| left.t < fault.t)..].first();
        let (sent, answered, since) = match left.map(|left| (left.t, left.how)) {
            Some((_, Departure::Resigned { delete })) => delete.map(|(sent, answered)| (sent, answered, answered))?,
            Some((t, Departure::Stopped)) => term.map(|_| (fault.t, t.min(proof.to), fault.t))?,
            None => term.map(|_| (fault.t, proof.to, fault.t))?,
            Some((_, Departure::SessionEnded(_) | Departure::ElectionDeleted | Departure::Failed(_))) => return None,
        };
        // Who has not deleted its znode may create the next one beside it, which has another name.
        let is_next = |node: &str| term.is_some_and(|term| !term.node.is_empty() && term.node != node);
        let mut later = enrolments.get(&cand)?.iter().filter(|(at, _)| *at > since);
        let again = later.find(|(at, node)| *at > answered || is_next(node))?.0;
        let waited = again.saturating_sub(answered);
        // A process that is started again, and a candidate whose session has expired, enrol at once.
        let mut lives = index.lives.all.iter().filter(|life| life.host == Some(host));
        let is_new = lives.any(|life| fault.t < life.first && life.first <= again);
        let mut sessions = left.map(|left| left.session).into_iter().chain(term.map(|term| term.session));
        let has_expired = sessions.any(|session| index.candidates.expired_within(session, (fault.t, again)));
        if waited >= least || is_new || has_expired || self.is_disturbed((fault.t, again)) {
            return None;
        }
        let (waited_for, due) = (duration(waited), duration(pause));
        let text = match again > answered {
            true => format!("it enrolled again {waited_for} after its resignation was answered, and has to wait {due}"),
            false => format!("it enrolled again before its resignation was answered, and has to wait {due} after it"),
        };
        // A stall may have made the stamp of the answer late.
        let kept = index.lives.stalled_for(&[host], (sent, again));
        let kept = Some(kept).filter(|kept| waited.saturating_add(*kept) >= least);
        Some(self.breaks(again, Misbehaviour::RejoinedEarly, text, kept))
    }
}
