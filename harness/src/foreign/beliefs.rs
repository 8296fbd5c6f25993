//! What a program believes: by its own reports, each of which is looked at before it is taken for one, or by its writes alone, from
//! the first of a token to the last. Both come out as the events by which candidates of this program tell of their terms.

use std::collections::BTreeMap;

use hustings_record::{Event, Grade, Misbehaviour, Nanos, RevokeReason, Token};

use super::intake::Said;
use super::message::FromProgram;
use crate::witness::EphemeralNode;

/// A leader that wrote nothing for so many of its intervals, and so long, is taken for one no more, where nobody says otherwise.
const SILENT_INTERVALS: u64 = 10;
const SILENT_NS: Nanos = 1_000_000_000;
/// Tokens of so many terms of a seat are remembered: writes of older ones are long answered.
const TERMS_KEPT: usize = 64;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct BeliefOutcome {
    pub(crate) events: Vec<Event>,
    /// The belief of a seat changed to this.
    pub(crate) belief: Option<(u32, Option<Token>)>,
}

/// Why something is not taken for what it says.
pub(crate) type Odd = (Misbehaviour, String);

/// What a seat holds as its connections show it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldZnodes {
    pub(crate) token: Token0,
    pub(crate) node: Option<String>,
}

impl HeldZnodes {
    /// That znode, or nothing that is known but the session.
    pub(crate) fn of(session: Option<i64>, node: Option<&EphemeralNode>) -> Self {
        let czxid = node.and_then(|node| node.czxid);
        let session = node.map(|node| node.session).or(session);
        Self { token: Token0 { czxid, session }, node: node.map(|node| node.name.clone()) }
    }
}

/// What a term rests on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TermBasis {
    pub(crate) token: Token,
    /// Name of its znode, where that is known.
    pub(crate) node: Option<String>,
}

impl From<HeldZnodes> for TermBasis {
    fn from(HeldZnodes { token, node }: HeldZnodes) -> Self {
        Self { token: token.known(), node }
    }
}

/// A token of which parts may not be known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Token0 {
    pub(crate) czxid: Option<i64>,
    pub(crate) session: Option<i64>,
}

impl Token0 {
    /// With a czxid of no znode, and session 0, for what nobody knows.
    pub(crate) fn known(self) -> Token {
        Token { czxid: self.czxid.unwrap_or(Token::UNKNOWN_CZXID), session: self.session.unwrap_or(0) }
    }
}

/// The terms of all seats of a program.
pub(crate) struct ProgramBeliefs {
    by: Grade,
    silent_ns: Nanos,
    /// What clocks may be off by.
    uncertain_ns: Nanos,
    seats: BTreeMap<u32, Terms>,
}

#[derive(Debug, Default)]
struct Terms {
    /// The number of the last term, and whether it goes on.
    last: u32,
    open: Option<TermBasis>,
    /// When the last one ended, at the latest.
    ended: Nanos,
    /// The last accepted write, where that is all that is known.
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
    /// `by`: reports, or effect.
    pub(crate) fn new(by: Grade, seats: impl Iterator<Item = u32>, every_ms: u64, uncertain_ns: Nanos) -> Self {
        let silent_ns = SILENT_NS + SILENT_INTERVALS * every_ms * 1_000_000;
        Self { by, silent_ns, uncertain_ns, seats: seats.map(|seat| (seat, Terms::default())).collect() }
    }

    /// By whose word they are known.
    pub(crate) fn by(&self) -> Grade {
        self.by
    }

    /// Takes a report of a grant or a revoke that was there at `heard`.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn reported(
        &mut self,
        heard: Nanos,
        said: &FromProgram,
        held: &HeldZnodes,
    ) -> Result<BeliefOutcome, Odd> {
        match said {
            FromProgram::Grant { seat, term, t0, t1, node, token, session } => {
                let own = Token0 { czxid: token.or(held.token.czxid), session: session.or(held.token.session) };
                let lead = TermBasis { token: own.known(), node: node.clone().or_else(|| held.node.clone()) };
                self.granted(heard, *seat, *term, (*t0, *t1), lead)
            }
            FromProgram::Revoke { seat, term, t0, t1, reason } => {
                self.revoked(heard, *seat, *term, (*t0, *t1), reason.as_deref())
            }
            _ => Ok(BeliefOutcome::default()),
        }
    }

    fn granted(
        &mut self,
        heard: Nanos,
        seat: u32,
        term: u32,
        times: (Nanos, Nanos),
        lead: TermBasis,
    ) -> Result<BeliefOutcome, Odd> {
        self.in_time(heard, seat, times, "grant")?;
        let by_report = self.by == Grade::Report;
        let terms = self.of(seat)?;
        if terms.open.is_some() && by_report {
            return Err((
                Misbehaviour::UnknownTerm,
                format!("seat {seat} was granted term {term} within term {}", terms.last),
            ));
        }
        if term != terms.last + 1 && by_report {
            let text = format!("seat {seat} was granted term {term} after term {}", terms.last);
            return Err((Misbehaviour::UnknownTerm, text));
        }
        if !by_report {
            return Ok(BeliefOutcome::default());
        }
        terms.begin(term, lead.clone());
        let TermBasis { token: token @ Token { czxid, session }, node } = lead;
        let node = node.unwrap_or_default();
        let grant = Event::Grant { t: times.0, cand: seat, session, term, czxid, node };
        let granted = Event::Granted { t: times.1, cand: seat, session, term };
        Ok(BeliefOutcome { events: vec![grant, granted], belief: Some((seat, Some(token))) })
    }

    fn revoked(
        &mut self,
        heard: Nanos,
        seat: u32,
        term: u32,
        times: (Nanos, Nanos),
        reason: Option<&str>,
    ) -> Result<BeliefOutcome, Odd> {
        self.in_time(heard, seat, times, "revoke")?;
        let by_report = self.by == Grade::Report;
        let terms = self.of(seat)?;
        if !by_report {
            return Ok(BeliefOutcome::default());
        }
        let Some(TermBasis { token, .. }) = terms.open.take_if(|_| terms.last == term) else {
            let text = format!("seat {seat} ended term {term}, which it had not begun");
            return Err((Misbehaviour::UnknownTerm, text));
        };
        terms.ended = times.1;
        let (cand, session, reason) = (seat, token.session, meant(reason));
        let revoke = Event::Revoke { from: times.0, to: times.1, cand, session, term, reason };
        Ok(BeliefOutcome { events: vec![revoke], belief: Some((seat, None)) })
    }

    /// The times of a report: one after the other, after what was before, and not yet to come.
    fn in_time(&mut self, heard: Nanos, seat: u32, (t0, t1): (Nanos, Nanos), what: &str) -> Result<(), Odd> {
        let uncertain = self.uncertain_ns;
        let report = self.by == Grade::Report;
        let terms = self.of(seat)?;
        let odd = if t0 > t1 {
            Some("ends before it begins")
        } else if t1 > heard + uncertain {
            Some("has times that are still to come")
        } else if t0 + uncertain < terms.ended {
            Some("begins before the last one had ended")
        } else {
            None
        };
        match odd.filter(|_| report) {
            Some(how) => {
                Err((Misbehaviour::OutOfTime, format!("a {what} of seat {seat} {how}: {t0} to {t1}, heard at {heard}")))
            }
            None => Ok(()),
        }
    }

    fn of(&mut self, seat: u32) -> Result<&mut Terms, Odd> {
        let unknown = || (Misbehaviour::UnknownSeat, format!("it spoke of seat {seat}, which it was not given"));
        self.seats.get_mut(&seat).ok_or_else(unknown)
    }

    /// What a write rests on that says this of itself: what its own term rests on, where it says which, else what the seat holds.
    /// Its token is the one that it bears; one that it does not bear may be `told` of that znode since.
    pub(crate) fn written_by(
        &self,
        seat: u32,
        said: &Said,
        held: HeldZnodes,
        told: impl Fn(&str) -> Option<i64>,
    ) -> TermBasis {
        let terms = self.seats.get(&seat).filter(|_| self.by == Grade::Report);
        let of_term = terms.and_then(|terms| {
            let named = said.term.and_then(|term| terms.leads.iter().rev().find(|(known, _)| *known == term));
            named.map(|(_, lead)| lead.clone()).or_else(|| terms.open.clone())
        });
        let mut lead = of_term.unwrap_or_else(|| held.into());
        if !lead.token.is_ordered() {
            lead.token.czxid = lead.node.as_deref().and_then(told).unwrap_or(Token::UNKNOWN_CZXID);
        }
        lead.token.czxid = said.token.unwrap_or(lead.token.czxid);
        lead
    }

    /// Whether a write of this term may come now: its grant has to be there before.
    ///
    /// # Errors
    /// It has not.
    pub(crate) fn may_write(&self, seat: u32, term: Option<u32>) -> Result<(), Odd> {
        let (Some(terms), Some(term)) = (self.seats.get(&seat), term) else { return Ok(()) };
        if self.by == Grade::Report && term > terms.last {
            let text = format!("seat {seat} wrote in term {term}, whose grant it had not reported by then");
            return Err((Misbehaviour::UnknownTerm, text));
        }
        Ok(())
    }

    /// A seat wrote by this token at `t`, where nothing else tells what it believes.
    pub(crate) fn wrote(&mut self, t: Nanos, seat: u32, lead: &TermBasis) -> BeliefOutcome {
        let mut told = BeliefOutcome::default();
        if self.by == Grade::Report {
            return told;
        }
        let Some(terms) = self.seats.get_mut(&seat) else { return told };
        if terms.open.as_ref().is_none_or(|open| open.token != lead.token) {
            told.events.extend(terms.falls_silent(seat, t));
            let term = terms.last + 1;
            terms.begin(term, lead.clone());
            let TermBasis { token: token @ Token { czxid, session }, node } = lead.clone();
            let node = node.unwrap_or_default();
            told.events.push(Event::Grant { t, cand: seat, session, term, czxid, node });
            told.events.push(Event::Granted { t, cand: seat, session, term });
            told.belief = Some((seat, Some(token)));
        }
        terms.wrote = t;
        told
    }

    /// Ends the terms of those that wrote nothing for long, where nothing else tells what they believe.
    pub(crate) fn fall_silent(&mut self, now: Nanos) -> Vec<BeliefOutcome> {
        if self.by == Grade::Report {
            return Vec::new();
        }
        let silent = self.seats.iter_mut().filter(|(_, terms)| terms.wrote + self.silent_ns < now);
        silent
            .filter_map(|(&seat, terms)| {
                let revoke = terms.falls_silent(seat, now)?;
                Some(BeliefOutcome { events: vec![revoke], belief: Some((seat, None)) })
            })
            .collect()
    }
}

impl Terms {
    /// It believed until its last write for certain, and perhaps until now.
    fn falls_silent(&mut self, cand: u32, now: Nanos) -> Option<Event> {
        let TermBasis { token, .. } = self.open.take()?;
        self.ended = now;
        let (session, term, reason) = (token.session, self.last, RevokeReason::SteppedDown);
        Some(Event::Revoke { from: self.wrote, to: now, cand, session, term, reason })
    }
}

/// What the words of a program come to.
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
