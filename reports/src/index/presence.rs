//! Candidates between their znodes: their incarnations, and when they still had a notification or enrolment to handle.

use std::collections::BTreeMap;

use super::candidates::Candidates;
use super::writer_processes::WriterProcesses;
use crate::stats::spans::{Span, touches, union};
use hustings_record::{CellRecord, Event, Nanos};

#[derive(Default)]
pub struct Presence {
    /// When each incarnation of a candidate began, and its session, in order of time.
    pub incarnations: BTreeMap<u32, Vec<(Nanos, i64)>>,
    /// Spans from an enrolment or a notification of a candidate until it had handled that, or left.
    pub unsettled: BTreeMap<u32, Vec<Span>>,
    /// When each candidate was enrolled under a session that had not ended: sorted and disjoint.
    pub stood: BTreeMap<u32, Vec<Span>>,
    /// Hosts whose last process died, and when; true if the harness ended it on purpose.
    pub dead: BTreeMap<u16, (Nanos, bool)>,
}

impl Presence {
    /// Whether the candidate still had something to handle at some moment of `span`.
    #[must_use]
    pub fn is_unsettled(&self, cand: u32, span: Span) -> bool {
        self.unsettled.get(&cand).is_some_and(|spans| touches(spans, span))
    }

    pub(super) fn new(cell: &CellRecord, candidates: &Candidates<'_>, lives: &WriterProcesses, end: Nanos) -> Self {
        let mut presence = Self::default();
        // Whether the candidate has something to handle after the event.
        let mut moves: BTreeMap<u32, Vec<(Nanos, bool)>> = BTreeMap::new();
        for (_, event) in cell.events() {
            match event {
                Event::Incarnation { t, cand, session } => {
                    presence.incarnations.entry(*cand).or_default().push((*t, *session));
                }
                Event::Joined { t, cand, .. } | Event::Notified { t, cand, .. } => {
                    moves.entry(*cand).or_default().push((*t, true));
                }
                Event::Settled { t, cand, .. } | Event::Left { t, cand, .. } | Event::Granted { t, cand, .. } => {
                    moves.entry(*cand).or_default().push((*t, false));
                }
                _ => {}
            }
        }
        presence.incarnations.values_mut().for_each(|all| all.sort_unstable());
        for (cand, stands) in &candidates.stands {
            let until = |to: Nanos, session: i64| candidates.ended_at(session).map_or(to, |gone| to.min(gone));
            let stood = stands.iter().map(|stand| (stand.from, until(stand.to, stand.session).max(stand.from)));
            presence.stood.insert(*cand, union(stood.collect()));
        }
        for (cand, mut moves) in moves {
            moves.sort_by_key(|what| what.0);
            let stands = candidates.stands.get(&cand).map_or(&[][..], Vec::as_slice);
            presence.unsettled.insert(
                cand,
                unsettled(&moves, |t| {
                    let last = stands[..stands.partition_point(|stand| stand.from <= t)].last();
                    last.map_or(end, |stand| stand.to)
                }),
            );
        }
        for life in lives.all.iter().filter(|life| life.host.is_some()) {
            let host = life.host.unwrap_or_default();
            let later = lives.all.iter().any(|other| other.host == life.host && other.generation > life.generation);
            if let Some(died) = life.died.filter(|_| !later) {
                presence.dead.insert(host, (died.0, life.killed));
            }
        }
        presence
    }
}

/// From each move with something to handle to the next one without, but at most as long as the candidate was enrolled.
fn unsettled(moves: &[(Nanos, bool)], enrolled_until: impl Fn(Nanos) -> Nanos) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut since: Option<Nanos> = None;
    for &(t, has_consequences) in moves {
        match (since, has_consequences) {
            (None, true) => since = Some(t),
            (Some(from), _) if enrolled_until(from) < t => {
                spans.push((from, enrolled_until(from)));
                since = has_consequences.then_some(t);
            }
            (Some(from), false) => {
                spans.push((from, t));
                since = None;
            }
            (Some(_), true) | (None, false) => {}
        }
    }
    spans.extend(since.map(|from| (from, enrolled_until(from).max(from))));
    spans
}
