//! The beliefs of a program: from its own reports, which are validated first, or from its writes alone, from the first
//! write of a token to the last. Both become the events by which our own candidates report their terms.

use std::collections::BTreeMap;

use hustings_record::{Event, EvidenceSource, Misbehaviour, Nanos, RevokeReason, Token};

use super::intake::WriteStatement;
use super::message::FromProgram;
use crate::witness::EphemeralNode;

/// Without reports, a leader that wrote nothing for this many intervals plus this time no longer counts as a leader.
const SILENT_INTERVALS: u64 = 10;
const SILENT_NS: Nanos = 1_000_000_000;
/// Number of terms per slot whose tokens are kept: writes of older terms were answered long ago.
const TERMS_KEPT: usize = 64;

/// The result of a report or a write.
#[derive(Debug, Default)]
pub(crate) struct BeliefOutcome {
    pub(crate) events: Vec<Event>,
    /// A slot and its new belief.
    pub(crate) belief: Option<(u32, Option<Token>)>,
}

/// Why a report or write is rejected.
pub(crate) type ProtocolViolation = (Misbehaviour, String);

/// What a slot holds, as observed on its connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldZnodes {
    pub(crate) token: PartialToken,
    pub(crate) node: Option<String>,
}

impl HeldZnodes {
    /// That znode; without one, only the session is known.
    pub(crate) fn of(session: Option<i64>, node: Option<&EphemeralNode>) -> Self {
        let czxid = node.and_then(|node| node.czxid);
        let session = node.map(|node| node.session).or(session);
        Self { token: PartialToken { czxid, session }, node: node.map(|node| node.name.clone()) }
    }
}

/// The basis of a term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TermBasis {
    pub(crate) token: Token,
    /// Name of its znode, if known.
    pub(crate) node: Option<String>,
}

impl From<HeldZnodes> for TermBasis {
    fn from(HeldZnodes { token, node }: HeldZnodes) -> Self {
        Self { token: token.known(), node }
    }
}

/// A token with parts that may be unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartialToken {
    pub(crate) czxid: Option<i64>,
    pub(crate) session: Option<i64>,
}

impl PartialToken {
    /// Fills unknown parts: a czxid of no znode, and session 0.
    pub(crate) fn known(self) -> Token {
        Token { czxid: self.czxid.unwrap_or(Token::UNKNOWN_CZXID), session: self.session.unwrap_or(0) }
    }
}

/// The terms of all slots of a program.
pub(crate) struct ProgramBeliefs {
    by: EvidenceSource,
    silent_ns: Nanos,
    /// Clock uncertainty.
    uncertain_ns: Nanos,
    /// When the program had said hello: only then is it ordered to enrol.
    since: Nanos,
    slots: BTreeMap<u32, Terms>,
}

#[derive(Debug, Default)]
struct Terms {
    /// The number of the last term, and its basis while it continues.
    last: u32,
    open: Option<TermBasis>,
    /// Latest possible end of the last term.
    ended: Nanos,
    /// The last accepted write, if writes are the only evidence.
    wrote: Nanos,
    leads: Vec<(u32, TermBasis)>,
}

impl Terms {
    fn begin(&mut self, term: u32, lead: TermBasis) {
        self.leads.push((term, lead.clone()));
        (self.last, self.open) = (term, Some(lead));
        if self.leads.len() > TERMS_KEPT {
            self.leads.remove(0);
        }
    }
}

impl ProgramBeliefs {
    /// `by`: reports, or effect. `since`: when the program had said hello.
    pub(crate) fn new(
        by: EvidenceSource,
        slots: impl Iterator<Item = u32>,
        every_ms: u64,
        uncertain_ns: Nanos,
        since: Nanos,
    ) -> Self {
        let silent_ns = SILENT_NS + SILENT_INTERVALS * every_ms * 1_000_000;
        Self { by, silent_ns, uncertain_ns, since, slots: slots.map(|slot| (slot, Terms::default())).collect() }
    }

    /// The evidence grade of these beliefs.
    pub(crate) fn by(&self) -> EvidenceSource {
        self.by
    }

    /// Handles a report of a grant or a revoke, received at `heard`.
    ///
    /// # Errors
    /// Why the report is invalid.
    pub(crate) fn reported(
        &mut self,
        heard: Nanos,
        said: &FromProgram,
        held: &HeldZnodes,
    ) -> Result<BeliefOutcome, ProtocolViolation> {
        match said {
            FromProgram::Grant { slot, term, t0, t1, node, token, session } => {
                // A program that names the placeholder does not know its token.
                let czxid = token.filter(|token| *token != Token::UNKNOWN_CZXID).or(held.token.czxid);
                let own = PartialToken { czxid, session: session.or(held.token.session) };
                let lead = TermBasis { token: own.known(), node: node.clone().or_else(|| held.node.clone()) };
                self.granted(heard, *slot, *term, (*t0, *t1), lead)
            }
            FromProgram::Revoke { slot, term, t0, t1, reason } => {
                self.revoked(heard, *slot, *term, (*t0, *t1), reason.as_deref())
            }
            _ => Ok(BeliefOutcome::default()),
        }
    }

    fn granted(
        &mut self,
        heard: Nanos,
        slot: u32,
        term: u32,
        times: (Nanos, Nanos),
        lead: TermBasis,
    ) -> Result<BeliefOutcome, ProtocolViolation> {
        self.in_time(heard, slot, times, "grant")?;
        let by_report = self.by == EvidenceSource::Report;
        let terms = self.of(slot)?;
        if terms.open.is_some() && by_report {
            return Err((
                Misbehaviour::UnknownTerm,
                format!("slot {slot} was granted term {term} within term {}", terms.last),
            ));
        }
        if term != terms.last + 1 && by_report {
            let text = format!("slot {slot} was granted term {term} after term {}", terms.last);
            return Err((Misbehaviour::UnknownTerm, text));
        }
        if !by_report {
            return Ok(BeliefOutcome::default());
        }
        terms.begin(term, lead.clone());
        let TermBasis { token: token @ Token { czxid, session }, node } = lead;
        let node = node.unwrap_or_default();
        let grant = Event::Grant { t: times.0, cand: slot, session, term, czxid, node };
        let granted = Event::Granted { t: times.1, cand: slot, session, term };
        Ok(BeliefOutcome { events: vec![grant, granted], belief: Some((slot, Some(token))) })
    }

    fn revoked(
        &mut self,
        heard: Nanos,
        slot: u32,
        term: u32,
        times: (Nanos, Nanos),
        reason: Option<&str>,
    ) -> Result<BeliefOutcome, ProtocolViolation> {
        self.in_time(heard, slot, times, "revoke")?;
        let by_report = self.by == EvidenceSource::Report;
        let terms = self.of(slot)?;
        if !by_report {
            return Ok(BeliefOutcome::default());
        }
        let Some(TermBasis { token, .. }) = terms.open.take_if(|_| terms.last == term) else {
            let text = format!("slot {slot} ended term {term}, which it had not begun");
            return Err((Misbehaviour::UnknownTerm, text));
        };
        terms.ended = times.1;
        let (cand, session, reason) = (slot, token.session, meant(reason));
        let revoke = Event::Revoke { from: times.0, to: times.1, cand, session, term, reason };
        Ok(BeliefOutcome { events: vec![revoke], belief: Some((slot, None)) })
    }

    /// Checks a report's times: in order, after the program's hello and the previous term, and not in the future.
    fn in_time(
        &mut self,
        heard: Nanos,
        slot: u32,
        (t0, t1): (Nanos, Nanos),
        what: &str,
    ) -> Result<(), ProtocolViolation> {
        let (uncertain, since) = (self.uncertain_ns, self.since);
        let report = self.by == EvidenceSource::Report;
        let terms = self.of(slot)?;
        let odd = if t0 > t1 {
            Some("ends before it begins")
        } else if t1 > heard + uncertain {
            Some("has times that are still to come")
        } else if t0 + uncertain < since {
            Some("has times before the program had said hello (is its clock CLOCK_MONOTONIC?)")
        } else if t0 + uncertain < terms.ended {
            Some("begins before the last one had ended")
        } else {
            None
        };
        match odd.filter(|_| report) {
            Some(how) => {
                Err((Misbehaviour::OutOfTime, format!("a {what} of slot {slot} {how}: {t0} to {t1}, heard at {heard}")))
            }
            None => Ok(()),
        }
    }

    fn of(&mut self, slot: u32) -> Result<&mut Terms, ProtocolViolation> {
        let unknown = || (Misbehaviour::UnknownSlot, format!("it spoke of slot {slot}, which it was not given"));
        self.slots.get_mut(&slot).ok_or_else(unknown)
    }

    /// The basis of a write. It is the basis of the named term, else of the open term, else what the slot holds. A
    /// token that the write carries takes precedence. If the token is otherwise unknown, `told` may know that of the
    /// znode by now.
    pub(crate) fn written_by(
        &self,
        slot: u32,
        said: &WriteStatement,
        held: HeldZnodes,
        told: impl Fn(&str) -> Option<i64>,
    ) -> TermBasis {
        let terms = self.slots.get(&slot).filter(|_| self.by == EvidenceSource::Report);
        let of_term = terms.and_then(|terms| {
            let named = said.term.and_then(|term| terms.leads.iter().rev().find(|(known, _)| *known == term));
            named.map(|(_, lead)| lead.clone()).or_else(|| terms.open.clone())
        });
        let mut lead = of_term.unwrap_or_else(|| held.into());
        if !lead.token.is_ordered() {
            lead.token.czxid = lead.node.as_deref().and_then(told).unwrap_or(Token::UNKNOWN_CZXID);
        }
        // No znode has a negative czxid: a program that names one does not know it.
        lead.token.czxid = said.token.filter(|token| *token >= 0).unwrap_or(lead.token.czxid);
        lead
    }

    /// Whether a write of this term is valid now: its grant must have been reported before.
    ///
    /// # Errors
    /// It was not.
    pub(crate) fn may_write(&self, slot: u32, term: Option<u32>) -> Result<(), ProtocolViolation> {
        let (Some(terms), Some(term)) = (self.slots.get(&slot), term) else { return Ok(()) };
        if self.by == EvidenceSource::Report && term > terms.last {
            let text = format!("slot {slot} wrote in term {term}, whose grant it had not reported by then");
            return Err((Misbehaviour::UnknownTerm, text));
        }
        Ok(())
    }

    /// Notes a slot's write with this token at `t`, if writes are the only evidence.
    pub(crate) fn wrote(&mut self, t: Nanos, slot: u32, lead: &TermBasis) -> BeliefOutcome {
        let mut told = BeliefOutcome::default();
        if self.by == EvidenceSource::Report {
            return told;
        }
        let Some(terms) = self.slots.get_mut(&slot) else { return told };
        if terms.open.as_ref().is_none_or(|open| open.token != lead.token) {
            told.events.extend(terms.falls_silent(slot, t));
            let term = terms.last + 1;
            terms.begin(term, lead.clone());
            let TermBasis { token: token @ Token { czxid, session }, node } = lead.clone();
            let node = node.unwrap_or_default();
            told.events.push(Event::Grant { t, cand: slot, session, term, czxid, node });
            told.events.push(Event::Granted { t, cand: slot, session, term });
            told.belief = Some((slot, Some(token)));
        }
        terms.wrote = t;
        told
    }

    /// Ends the terms of slots without recent writes, if writes are the only evidence.
    pub(crate) fn fall_silent(&mut self, now: Nanos) -> Vec<BeliefOutcome> {
        if self.by == EvidenceSource::Report {
            return Vec::new();
        }
        let silent = self.slots.iter_mut().filter(|(_, terms)| terms.wrote + self.silent_ns < now);
        silent
            .filter_map(|(&slot, terms)| {
                let revoke = terms.falls_silent(slot, now)?;
                Some(BeliefOutcome { events: vec![revoke], belief: Some((slot, None)) })
            })
            .collect()
    }
}

impl Terms {
    /// The slot believed until its last write for certain, and possibly until now.
    fn falls_silent(&mut self, cand: u32, now: Nanos) -> Option<Event> {
        let TermBasis { token, .. } = self.open.take()?;
        self.ended = now;
        let (session, term, reason) = (token.session, self.last, RevokeReason::SteppedDown);
        Some(Event::Revoke { from: self.wrote, to: now, cand, session, term, reason })
    }
}

/// Maps a program's reason to a category.
fn meant(reason: Option<&str>) -> RevokeReason {
    let words = reason.unwrap_or_default().to_lowercase();
    let has = |any: &[&str]| any.iter().any(|word| words.contains(word));
    if has(&["resign", "stop"]) {
        RevokeReason::Resigned
    } else if has(&["expired", "session ended", "lost"]) {
        RevokeReason::SessionEnded
    } else {
        RevokeReason::SteppedDown
    }
}

#[cfg(test)]
mod tests;
