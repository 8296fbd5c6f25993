//! The owners of each lead that ZooKeeper named, as the observer saw them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::span_index::SpanIndex;
use super::terms::Term;
use crate::stats::spans::{Span, touches, union, without};
use hustings_record::{CellRecord, Event, LeadOwner, Nanos};

/// The span in which ZooKeeper certainly named this owner.
#[derive(Clone, Copy, Debug)]
pub struct OwnershipInterval {
    pub group: u32,
    pub span: Span,
    /// None: no owner.
    pub session: Option<i64>,
    pub czxid: Option<i64>,
}

#[derive(Default)]
pub struct OwnershipIntervals {
    /// What the observer saw, in order of group and time.
    pub seen: Vec<OwnershipInterval>,
    /// When it had no connection.
    pub blind: Vec<Span>,
    /// When its questions were not answered.
    pub missed: Vec<Nanos>,
    /// Number of groups on which it ever reported.
    pub groups: usize,
    /// By group: the range of its intervals in `seen`, and their places within it.
    lately: BTreeMap<u32, (Range<usize>, SpanIndex)>,
}

/// When an owner was named, its session and its znode's czxid.
type NamedOwner = (Span, Option<i64>, Option<i64>);

impl OwnershipIntervals {
    /// Owners until `until`, in a cell that ended at `end`.
    pub(super) fn new(cell: &CellRecord, until: Nanos, end: Nanos) -> Self {
        let mut owners: BTreeMap<u32, Vec<NamedOwner>> = BTreeMap::new();
        let mut states: Vec<(Nanos, bool)> = Vec::new();
        let mut missed: Vec<(u32, Nanos)> = Vec::new();
        let mut questions = Vec::new();
        for (_, event) in cell.events() {
            match event {
                Event::Owner(owner) => {
                    let LeadOwner { from, to, group, session, czxid, .. } = **owner;
                    owners.entry(group).or_default().push(((from, to), session, czxid));
                }
                Event::ObserverState { t, connected } => states.push((*t, *connected)),
                Event::ObserverMissed { t, group, .. } => {
                    questions.push(*t);
                    missed.extend(group.map(|group| (group, *t)));
                }
                _ => {}
            }
        }
        let watching = states.iter().find(|(_, connected)| *connected).map(|(t, _)| *t);
        let unknown = unknown(&missed, &owners, end);
        let (groups, blind) = (owners.len(), blind(states.clone(), end));
        let mut intervals = Self { groups, blind, missed: questions, ..Self::default() };
        for (group, mut named) in owners {
            let unknown = unknown.get(&group).map_or(&[][..], Vec::as_slice);
            // Of two reports at one instant the later one counts.
            named.sort_by_key(|named| named.0);
            // The lead had no owner while the observer watched and had not seen an owner yet.
            let first = named.first().map(|named| named.0.0);
            if let (Some(since), Some(first)) = (watching, first.filter(|&t| Some(t) > watching)) {
                let nobody = OwnershipInterval { group, span: (since, first), session: None, czxid: None };
                intervals.push(nobody, since, unknown);
            }
            let runs = || named.chunk_by(|a, b| a.2.is_some() && a.2 == b.2);
            let mut ends = runs().skip(1).filter_map(|run| run.first()).map(|next| next.0.0);
            for same in runs() {
                let (Some(first), Some(last)) = (same.first(), same.last()) else { continue };
                let &((_, since), session, czxid) = first;
                // A znode is created once. One that is named again existed, and was the first, all the time between.
                let end = ends.next().unwrap_or(until);
                let again = sighted(&states, last.0.1).min(end).max(last.0.1);
                let interval = OwnershipInterval { group, span: (since, end.max(again)), session, czxid };
                intervals.push(interval, again, unknown);
            }
        }
        let mut next = 0;
        for of_group in intervals.seen.chunk_by(|a, b| a.group == b.group) {
            let spans = of_group.iter().map(|interval| interval.span).enumerate();
            let range = next..next + of_group.len();
            next = range.end;
            intervals.lately.insert(of_group[0].group, (range, SpanIndex::of(spans)));
        }
        intervals
    }

    /// Adds the certain parts of an interval: all of it until `certain`, and then what the observer saw. `unknown`: when
    /// it did not know the group's owner, because a question about it was not answered; sorted and disjoint.
    fn push(&mut self, interval: OwnershipInterval, certain: Nanos, unknown: &[Span]) {
        let after = without((certain, interval.span.1), &self.blind);
        let seen = after.into_iter().flat_map(|span| without(span, unknown));
        let spans = union(std::iter::once((interval.span.0, certain)).chain(seen).collect());
        self.seen.extend(spans.into_iter().map(|span| OwnershipInterval { span, ..interval }));
    }

    /// In order of time.
    #[must_use]
    pub fn of_group(&self, group: u32) -> &[OwnershipInterval] {
        self.lately.get(&group).map_or(&[], |(range, _)| &self.seen[range.clone()])
    }

    /// Those that overlap `span`; the last one first.
    pub fn within(&self, group: u32, span: Span) -> impl Iterator<Item = &OwnershipInterval> {
        let of_group = self.lately.get(&group).into_iter();
        of_group.flat_map(move |(range, lately)| lately.within(span).map(|place| &self.seen[range.start + place]))
    }

    /// The owner of this group's lead at `t`, as far as it was observed.
    #[must_use]
    pub fn at(&self, group: u32, t: Nanos) -> Option<&OwnershipInterval> {
        let intervals = self.of_group(group);
        intervals[..intervals.partition_point(|interval| interval.span.0 <= t)]
            .last()
            .filter(|interval| t <= interval.span.1)
    }

    /// Until when ZooKeeper last named the znode of this term as the owner for certain, and from when on it named
    /// another one, or none.
    #[must_use]
    pub fn displaced(&self, term: &Term<'_>) -> Option<Span> {
        let of_group = self.of_group(term.group).iter().filter(|_| term.is_known());
        let named = of_group.clone().filter(|interval| interval.is_of(term)).map(|interval| interval.span.1).max()?;
        let others = of_group.filter(|interval| !interval.is_of(term) && named <= interval.span.0);
        Some((named, others.map(|interval| interval.span.0).min()?))
    }

    /// When the znode of the next owner after `since` went, as far as it certainly existed until then. It is another
    /// one than that with this czxid.
    #[must_use]
    pub fn next_gone(&self, group: u32, czxid: i64, since: Nanos) -> Option<Nanos> {
        let after = self.of_group(group).iter().filter(|interval| since < interval.span.1);
        let others = after.filter(|interval| interval.czxid.is_some_and(|other| other != czxid));
        let next = others.clone().next()?.czxid;
        others.filter(|interval| interval.czxid == next).map(|interval| interval.span.1).max()
    }

    /// Whether the observer was connected throughout, and had an answer to each of its questions.
    #[must_use]
    pub fn saw_all(&self, span: Span) -> bool {
        !touches(&self.blind, span) && !self.missed.iter().any(|&t| span.0 <= t && t <= span.1)
    }
}

/// Owners are read again with the watch for changes armed. A reading at `t` holds until the observer reports that it is
/// connected again, if that is its next report.
fn sighted(states: &[(Nanos, bool)], t: Nanos) -> Nanos {
    let before = states.iter().filter(|state| state.0 < t).max();
    let next = states.iter().filter(|state| state.0 >= t).min();
    match (before, next) {
        (Some((_, false)), Some((sees, true))) => *sees,
        _ => t,
    }
}

fn blind(mut states: Vec<(Nanos, bool)>, end: Nanos) -> Vec<Span> {
    states.sort_unstable();
    let ends = states.iter().skip(1).map(|s| s.0).chain([end]);
    union(states.iter().zip(ends).filter(|(s, _)| !s.1).map(|(s, end)| (s.0, end)).collect())
}

/// From an unanswered question about a group until its owner is reported again.
fn unknown(missed: &[(u32, Nanos)], owners: &BTreeMap<u32, Vec<NamedOwner>>, end: Nanos) -> BTreeMap<u32, Vec<Span>> {
    let mut spans: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    for &(group, t) in missed {
        let told = owners.get(&group).into_iter().flatten().map(|named| named.0.1).filter(|&told| told > t);
        spans.entry(group).or_default().push((t, told.min().unwrap_or(end)));
    }
    spans.into_iter().map(|(group, spans)| (group, union(spans))).collect()
}

impl OwnershipInterval {
    /// Whether the owner is the candidate of this term, under its session.
    #[must_use]
    pub fn is_of(&self, term: &Term<'_>) -> bool {
        // The session alone is not enough: it may be shared, and its candidate may have enrolled before.
        self.session == Some(term.session) && self.czxid.is_none_or(|c| c == term.czxid || !term.is_known())
    }
}
