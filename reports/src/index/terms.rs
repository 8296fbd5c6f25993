//! Terms: every continuous belief "I lead this group", with the brackets of its beginning and its end.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Candidates;
use super::fault::Fault;
use super::writer_processes::WriterProcesses;
use super::znodes::Znodes;
use crate::stats::spans::{Span, union, without};
use hustings_record::{CellRecord, Event, Nanos, RevokeReason, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Revoked(RevokeReason),
    /// Its process died.
    Died,
    /// It still believed when its segment ended.
    Censored,
}

impl Ending {
    /// Whether the leader keeps its znode until its session ends.
    #[must_use]
    pub fn keeps_znode(self) -> bool {
        matches!(self, Self::Died | Self::Revoked(RevokeReason::SteppedDown))
    }
}

#[derive(Clone, Debug)]
pub struct Term<'a> {
    pub group: u32,
    pub cand: u32,
    pub host: u16,
    /// Place of its process among the lives.
    pub life: usize,
    pub session: i64,
    /// [`Token::UNKNOWN_CZXID`] where it is not recorded.
    pub czxid: i64,
    /// Name of the znode that the term rests on.
    pub node: &'a str,
    /// a⁻.
    pub grant: Nanos,
    /// a⁺; None where the record ends before it: such a term has no definite belief.
    pub granted: Option<Nanos>,
    /// [r⁻, r⁺]: r⁻ is as reported, or when it last sent a write by r⁺.
    pub ended: Span,
    /// r⁻ without its writes: as reported, or the last event of its process.
    pub reported_end: Nanos,
    pub ending: Ending,
}

impl Term<'_> {
    /// C = [a⁺, r⁻].
    #[must_use]
    pub fn definite(&self) -> Option<Span> {
        self.granted.map(|a| (a, self.ended.0)).filter(|c| c.0 < c.1)
    }

    /// P = [a⁻, r⁺].
    #[must_use]
    pub fn possible(&self) -> Span {
        (self.grant, self.ended.1.max(self.grant))
    }

    /// Whether its token is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        known(self.czxid).is_some()
    }

    /// Whether it certainly rests on another znode than `other`: then the lead of `other` was lost, whichever candidate
    /// has this one.
    #[must_use]
    pub fn rests_on_another_znode(&self, other: &Self) -> bool {
        self.is_known() && other.is_known() && self.czxid != other.czxid
    }

    /// Whether its znode was certainly created after that of `other`: then the leader of `other` should have stepped
    /// down.
    #[must_use]
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.rests_on_another_znode(other) && self.czxid > other.czxid
    }

    /// Whether this lead began after the fault, so that the fault cannot have cost it. The fault was verified and certainly
    /// over by then, and what the lead rests on did not exist before: its session. For a fault that always costs the lead, its
    /// znode suffices, or its grant if the candidate knew that it had lost the lead before.
    #[must_use]
    pub fn began_after(&self, fault: &Fault<'_>, candidates: &Candidates<'_>) -> bool {
        let over = fault.over();
        let healed = fault.healed.as_ref().is_none_or(|healed| healed.verified);
        let session = candidates.established.get(&self.session).copied();
        let lead = match (fault.always_costs_leads(), fault.kind.facts().defeats_client_checks) {
            (false, _) => None,
            (true, false) => Some(self.grant),
            (true, true) => known(self.czxid).and_then(|czxid| candidates.enrolled_since(self.cand, czxid)),
        };
        let is_new = [session, lead].into_iter().flatten().any(|since| over < since);
        fault.verified() && healed && over < self.grant && is_new
    }

    /// Whether the connections of its session are reported: no report of any is no connection. `unread` are the hosts of
    /// which not every connection could be decoded.
    #[must_use]
    pub fn is_read(&self, candidates: &Candidates<'_>, unread: &BTreeSet<u16>) -> bool {
        candidates.established.contains_key(&self.session) && !unread.contains(&self.host)
    }

    /// A candidate under one session.
    #[must_use]
    pub fn incarnation(&self) -> (u32, i64) {
        (self.cand, self.session)
    }
}

fn known(czxid: i64) -> Option<i64> {
    Some(czxid).filter(|czxid| *czxid != Token::UNKNOWN_CZXID)
}

#[derive(Default)]
pub struct Terms<'a> {
    pub all: Vec<Term<'a>>,
    /// Places in `all`, by group, in the order of a⁻.
    pub by_group: BTreeMap<u32, Vec<usize>>,
    /// Places in `all`, by candidate, in the order of a⁻.
    pub by_cand: BTreeMap<u32, Vec<usize>>,
    /// Places of those with a definite belief, by group, in the order of its end.
    over: BTreeMap<u32, Vec<usize>>,
    /// Grants of candidates that were never declared, and revokes or confirmations without a grant.
    pub odd: u64,
}

/// The segment, candidate, session and number of a term.
type Key = (usize, u32, i64, u32);

impl<'a> Terms<'a> {
    pub(super) fn new(
        cell: &'a CellRecord,
        (candidates, znodes): (&Candidates<'_>, &Znodes<'_>),
        lives: &WriterProcesses,
        end: Nanos,
    ) -> Self {
        let mut terms = Self::default();
        let mut open: BTreeMap<Key, usize> = BTreeMap::new();
        for (place, segment) in cell.segments.iter().enumerate() {
            let Some(host) = segment.host else { continue };
            let life = &lives.all[place];
            let (ended, ending) = match (life.died, life.end) {
                (Some(died), _) => (died, Ending::Died),
                (None, Some(t)) => ((t, t), Ending::Censored),
                (None, None) => ((life.last, end), Ending::Censored),
            };
            for event in &segment.events {
                let Event::Grant { t, cand, session, term, czxid, node } = event else { continue };
                let Some(candidate) = candidates.all.get(cand) else {
                    terms.odd += 1;
                    continue;
                };
                open.insert((place, *cand, *session, *term), terms.all.len());
                terms.all.push(Term {
                    group: candidate.group,
                    cand: *cand,
                    host,
                    life: place,
                    session: *session,
                    czxid: known(*czxid).or_else(|| znodes.named(*session, node)).unwrap_or(*czxid),
                    node,
                    grant: *t,
                    granted: None,
                    ended: (ended.0.max(*t), ended.1.max(*t)),
                    reported_end: life.last.min(ended.0).max(*t),
                    ending,
                });
            }
            for event in &segment.events {
                terms.close(&open, place, event);
            }
        }
        for (place, term) in terms.all.iter().enumerate() {
            terms.by_group.entry(term.group).or_default().push(place);
            terms.by_cand.entry(term.cand).or_default().push(place);
        }
        for places in terms.by_group.values_mut().chain(terms.by_cand.values_mut()) {
            places.sort_by_key(|&p| (terms.all[p].grant, terms.all[p].granted));
        }
        terms.believed_while_writing(cell);
        for (&group, places) in &terms.by_group {
            let mut over: Vec<usize> = places.iter().copied().filter(|&p| terms.all[p].definite().is_some()).collect();
            over.sort_by_key(|&p| terms.all[p].ended.0);
            terms.over.insert(group, over);
        }
        terms
    }

    /// A leader that sends a write believes then, whenever it says that it ceased to.
    fn believed_while_writing(&mut self, cell: &CellRecord) {
        for event in cell.segments.iter().flat_map(|segment| &segment.events) {
            let Event::Write { sent: Some(sent), cand, session, .. } = event else { continue };
            let Some(place) = self.held_by(*cand, *sent) else { continue };
            let term = &mut self.all[place];
            if term.session == *session {
                term.ended.0 = term.ended.0.max(*sent);
            }
        }
    }

    fn close(&mut self, open: &BTreeMap<Key, usize>, segment: usize, event: &Event) {
        let (key, part) = match event {
            Event::Granted { t, cand, session, term } => ((segment, *cand, *session, *term), Ok(*t)),
            Event::Revoke { from, to, cand, session, term, reason } => {
                ((segment, *cand, *session, *term), Err((*from, *to, *reason)))
            }
            _ => return,
        };
        let Some(&place) = open.get(&key) else {
            self.odd += 1;
            return;
        };
        match part {
            Ok(granted) => self.all[place].granted = Some(granted),
            Err((from, to, reason)) => {
                self.all[place].ended = (from, to.max(from));
                self.all[place].reported_end = from;
                self.all[place].ending = Ending::Revoked(reason);
            }
        }
    }

    #[must_use]
    pub fn of_group(&self, group: u32) -> &[usize] {
        self.by_group.get(&group).map_or(&[], Vec::as_slice)
    }

    /// Whether a term of the group began between these times, neither included.
    #[must_use]
    pub fn granted_between(&self, group: u32, (from, to): Span) -> bool {
        let places = self.of_group(group);
        let later = &places[places.partition_point(|&p| self.all[p].grant <= from)..];
        later.first().is_some_and(|&p| self.all[p].grant < to)
    }

    /// The group's last term with a definite belief that had ended by `at`.
    #[must_use]
    pub fn last_over(&self, group: u32, at: Nanos) -> Option<&Term<'a>> {
        let over = self.over.get(&group)?;
        over[..over.partition_point(|&p| self.all[p].ended.0 <= at)].last().map(|&p| &self.all[p])
    }

    /// The parts of `window` in which no candidate of the group certainly believed.
    #[must_use]
    pub fn leaderless(&self, group: u32, window: Span) -> Vec<Span> {
        without(window, &self.led(group))
    }

    /// When some candidate of the group certainly believed: sorted and disjoint.
    #[must_use]
    pub fn led(&self, group: u32) -> Vec<Span> {
        union(self.of_group(group).iter().filter_map(|&place| self.all[place].definite()).collect())
    }

    /// The candidate's last term that began by `at`, if it may have lasted until then.
    #[must_use]
    pub fn held_by(&self, cand: u32, at: Nanos) -> Option<usize> {
        let places = self.by_cand.get(&cand)?;
        let last = places.partition_point(|&p| self.all[p].grant <= at);
        places[..last].last().copied().filter(|&p| at <= self.all[p].ended.1)
    }
}
