//! Creates whose answer may be lost: when a group may hold a znode that its own candidate does not know of.
//!
//! A candidate creates its znode between the beginning of an incarnation and its enrolment, or its next enrolment under
//! the same session. If its connection was lost in that time, its process died or was stopped, or a fault held answers
//! back, the znode may exist before its owner knows. That ends when it enrols, for then it has found or removed the
//! znode, or else when its session has expired. A candidate that is ordered to resign before it has enrolled deletes a
//! znode that is not in the record.

use std::collections::BTreeMap;

use super::candidates::Candidates;
use super::fault::Fault;
use super::faults::Faults;
use super::notices::{Notice, Notices};
use super::presence::Presence;
use super::span_index::SpanIndex;
use super::time::EDGE_NS;
use super::writer_processes::WriterProcesses;
use crate::stats::spans::Span;
use hustings_record::{Departure, LeadLoss, Nanos, ProcessFate, SessionState, WatchEvent};

/// By group, the spans in which a candidate of it may have such a znode.
#[derive(Default)]
pub struct UnansweredCreates(BTreeMap<u32, SpanIndex>);

impl UnansweredCreates {
    /// For a cell that ended at `end`. `expires_by`: by when a session whose last message was at that time has expired.
    /// `back`: how long before it enrols again a candidate may have created its next znode under the same session.
    pub(super) fn new(
        (candidates, notices): (&Candidates<'_>, &Notices<'_>),
        presence: &Presence,
        faults: &Faults<'_>,
        lives: &WriterProcesses,
        (back, end): (Nanos, Nanos),
        expires_by: impl Fn(Nanos) -> Nanos,
    ) -> Self {
        let mut spans: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
        let deposed = deposed(candidates, notices, faults);
        for (&cand, candidate) in &candidates.all {
            let deaths =
                || lives.all.iter().filter(|life| life.host == Some(candidate.host)).filter_map(|life| life.died);
            for (session, gap, joined) in gaps((candidates, &deposed), presence, cand, (back, end)) {
                let died = deaths().filter(|died| died.1 >= gap.0 && died.0 <= gap.1).map(|died| died.1).max();
                let states = candidates.states.get(&session).map_or(&[][..], Vec::as_slice);
                let first = states.partition_point(|state| state.0 < gap.0);
                let within = states[first..].iter().take_while(|state| state.0 <= gap.1);
                let lost = within.filter(|state| state.1 != SessionState::Connected).map(|state| state.0).max();
                let holds_back = |facts: hustings_record::FaultFacts| {
                    facts.suppresses_watch_events || facts.waits_at_sync_point || facts.process == ProcessFate::Ended
                };
                let hit =
                    faults.on_cand_in(cand, gap).any(|fault| fault.acts_in(gap) && holds_back(fault.kind.facts()));
                if died.is_none() && lost.is_none() && !hit {
                    continue;
                }
                let last = died.max(lost).unwrap_or(gap.1);
                // A message that a link held back then arrives when the link is whole again.
                let holds = |fault: &&Fault<'_>| fault.kind.facts().cuts.is_some() && fault.acts_in((last, last));
                let arrives =
                    faults.on_cand_in(cand, (last, last)).filter(holds).map(Fault::over).fold(last, Nanos::max);
                let until = if joined && died.is_none() { gap.1 } else { expires_by(arrives) };
                spans.entry(candidate.group).or_default().push((gap.0, until.saturating_add(EDGE_NS)));
            }
            let unenrolled = deleted_unenrolled(candidates, deposed.get(&cand).map_or(&[], Vec::as_slice), cand);
            if !unenrolled.is_empty() {
                spans.entry(candidate.group).or_default().extend(unenrolled);
            }
        }
        Self(spans.into_iter().map(|(group, spans)| (group, SpanIndex::of(spans.into_iter().enumerate()))).collect())
    }

    /// Whether a candidate of the group may have a znode at some moment of `span` that it does not know of.
    #[must_use]
    pub fn possible(&self, group: u32, span: Span) -> bool {
        self.0.get(&group).is_some_and(|spans| spans.within(span).next().is_some())
    }
}

/// Whether a candidate that left in this way enrols again under the same session.
fn enrols_again_in_session(how: &Departure) -> bool {
    match how {
        Departure::Resigned { .. } | Departure::ElectionDeleted | Departure::Failed(_) => true,
        Departure::Stopped | Departure::SessionEnded(_) => false,
    }
}

/// By candidate: when another client may have deleted its znode, in order of time.
type ForeignDeletions = BTreeMap<u32, Vec<Nanos>>;

fn deposed(candidates: &Candidates<'_>, notices: &Notices<'_>, faults: &Faults<'_>) -> ForeignDeletions {
    let mut deposed = ForeignDeletions::new();
    let own =
        |notice: &&Notice<'_>| notice.kind == WatchEvent::Deleted && candidates.enrolled_with(notice.cand, notice.node);
    for notice in notices.all().filter(own) {
        deposed.entry(notice.cand).or_default().push(notice.t);
    }
    for (&group, cands) in &candidates.by_group {
        for fault in faults.of_group(group).filter(|fault| fault.kind.facts().leads == LeadLoss::Anew) {
            cands.iter().for_each(|&cand| deposed.entry(cand).or_default().push(fault.t));
        }
    }
    deposed.values_mut().for_each(|times| times.sort_unstable());
    deposed
}

/// When a candidate deleted a znode of its own with which it had never enrolled, since it was ordered to resign before.
/// From the sending of each deletion until the others have been notified.
fn deleted_unenrolled(candidates: &Candidates<'_>, deposed: &[Nanos], cand: u32) -> Vec<Span> {
    let stands = candidates.stands.get(&cand).map_or(&[][..], Vec::as_slice);
    let departures = candidates.departures.get(&cand).map_or(&[][..], Vec::as_slice);
    let lost = |span: Span| deposed.get(deposed.partition_point(|&t| t <= span.0)).is_some_and(|&t| t < span.1);
    let mut deleted = Vec::new();
    for (place, left) in departures.iter().enumerate() {
        let Departure::Resigned { delete: Some((sent, answered)) } = *left.how else { continue };
        let enrolled = stands[..stands.partition_point(|stand| stand.from <= sent)].last().map(|stand| stand.from);
        let before = place.checked_sub(1).map(|before| departures[before].t);
        if enrolled.is_none_or(|enrolled| before.is_some_and(|t| t >= enrolled) || lost((enrolled, sent))) {
            deleted.push((sent, answered.saturating_add(EDGE_NS)));
        }
    }
    deleted
}

/// When a candidate may have created a znode without having enrolled with it yet: the session, the time, and whether it
/// ended in an enrolment.
fn gaps(
    (candidates, deposed): (&Candidates<'_>, &ForeignDeletions),
    presence: &Presence,
    cand: u32,
    (back, end): (Nanos, Nanos),
) -> Vec<(i64, Span, bool)> {
    let stands = candidates.stands.get(&cand).map_or(&[][..], Vec::as_slice);
    let incarnations = presence.incarnations.get(&cand).map_or(&[][..], Vec::as_slice);
    let mut gaps = Vec::new();
    for (place, &(began, session)) in incarnations.iter().enumerate() {
        let over = incarnations.get(place + 1).map_or(end, |next| next.0);
        let first = stands.partition_point(|stand| stand.from < began);
        let own =
            stands[first..].iter().take_while(|stand| stand.from <= over).filter(|stand| stand.session == session);
        let joined: Vec<Nanos> = own.map(|stand| stand.from).collect();
        let Some(&enrolled) = joined.first() else {
            gaps.push((session, (began, over), false));
            continue;
        };
        gaps.push((session, (began, enrolled), true));
        gaps.extend(
            joined.windows(2).map(|pair| (session, (pair[0].max(pair[1].saturating_sub(back)), pair[1]), true)),
        );
        // It left, or its znode was deleted, and it was to enrol again under the same session, but never did.
        let last = joined.last().copied().unwrap_or(enrolled);
        let departures = candidates.departures.get(&cand).map_or(&[][..], Vec::as_slice);
        let next_departure = |since: Nanos, is_it: &dyn Fn(&Departure) -> bool| {
            let later = departures[departures.partition_point(|left| left.t < since)..].iter();
            later.filter(|left| left.session == session).find(|left| is_it(left.how))
        };
        let left = next_departure(last, &|how| enrols_again_in_session(how)).map(|left| left.t);
        // A candidate that is asked to stop deletes its znode itself.
        let goes = |t: Nanos| next_departure(t, &|_| true).is_some_and(|next| matches!(next.how, Departure::Stopped));
        let deposed = deposed.get(&cand).map_or(&[][..], Vec::as_slice);
        let gone = deposed[deposed.partition_point(|&t| t < last)..].iter().copied().take_while(|&t| t <= over);
        let since = left.into_iter().chain(gone.into_iter().find(|&t| !goes(t))).min();
        gaps.extend(since.map(|since| (session, (since, over), false)));
    }
    gaps
}
