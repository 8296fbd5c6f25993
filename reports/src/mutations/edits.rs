//! What a mutation changes in the events of a cell.

use std::collections::BTreeMap;

use super::indexed_cell::MADE_UP_TERM;
use super::shift::shift;
use crate::index::{EnrolmentSpan, JudgedWrite};
use hustings_record::{CellRecord, Event, Nanos, SegmentRecord};

/// What becomes of an event.
pub(super) enum EventEdit {
    Keep,
    Drop,
    Replace(Event),
}

type Rule<'s> = Box<dyn Fn(usize, &SegmentRecord, &Event) -> EventEdit + 's>;
type Alteration<'s> = Box<dyn Fn(&mut Event) + 's>;

/// Changes to a cell: rules that every event goes through, and events that are added.
#[derive(Default)]
pub(super) struct Edits<'s> {
    rules: Vec<Rule<'s>>,
    /// The segment's place, the time that orders the event, and the event.
    added: Vec<(usize, Nanos, Event)>,
    /// Whether writes are renumbered and judged again, as if the resource had received the altered ones.
    reledger: bool,
    /// A start time, and the delay of everything from then on.
    later: Option<(Nanos, Nanos)>,
    /// Alterations of events after all other edits.
    last: Vec<Alteration<'s>>,
}

impl<'s> Edits<'s> {
    /// Applies this rule to every event, with the place of its segment.
    pub(super) fn rule(mut self, rule: impl Fn(usize, &SegmentRecord, &Event) -> EventEdit + 's) -> Self {
        self.rules.push(Box::new(rule));
        self
    }

    /// Drops the events that satisfy this predicate.
    pub(super) fn drop_if(self, is_gone: impl Fn(usize, &Event) -> bool + 's) -> Self {
        self.rule(move |place, _, event| if is_gone(place, event) { EventEdit::Drop } else { EventEdit::Keep })
    }

    /// Replaces the events for which `other` returns one.
    pub(super) fn replace(self, other: impl Fn(usize, &Event) -> Option<Event> + 's) -> Self {
        self.rule(move |place, _, event| other(place, event).map_or(EventEdit::Keep, EventEdit::Replace))
    }

    /// Adds an event to a segment, before the events that its writer wrote after `t`.
    pub(super) fn add(&mut self, segment: usize, t: Nanos, event: Event) {
        self.added.push((segment, t, event));
    }

    /// Adds a grant to a follower at `t`, by its own znode, beside the leader with `token`.
    pub(super) fn add_made_up_grant(
        &mut self,
        segment: usize,
        (t, cand): (Nanos, u32),
        stand: &EnrolmentSpan<'_>,
        token: i64,
    ) {
        let (session, node) = (stand.session, stand.node.unwrap_or("lock").to_owned());
        let (term, czxid) = (MADE_UP_TERM, stand.czxid.unwrap_or(token + 1));
        self.add(segment, t, Event::Grant { t, cand, session, term, czxid, node });
        self.add(segment, t, Event::Granted { t, cand, session, term });
    }

    /// Judges the altered writes as if the resource received them in the order of their times.
    pub(super) fn with_honest_ledgers(mut self) -> Self {
        self.reledger = true;
        self
    }

    /// Delays everything from `from` on by `by`.
    pub(super) fn later(mut self, (from, by): (Nanos, Nanos)) -> Self {
        self.later = Some((from, by));
        self
    }

    /// Alters events after all other edits.
    pub(super) fn after_ledgers(mut self, alter: impl Fn(&mut Event) + 's) -> Self {
        self.last.push(Box::new(alter));
        self
    }

    /// The altered cell.
    pub(super) fn apply(self, cell: &CellRecord) -> CellRecord {
        let Self { rules, mut added, reledger, later, last } = self;
        added.sort_by_key(|(segment, t, _)| (*segment, *t));
        let mut added_to: BTreeMap<usize, Vec<(Nanos, Event)>> = BTreeMap::new();
        for (segment, t, event) in added {
            added_to.entry(segment).or_default().push((t, event));
        }
        let segments = cell.segments.iter().enumerate().map(|(place, segment)| {
            let mut events: Vec<Event> =
                segment.events.iter().filter_map(|event| changed(&rules, place, segment, event)).collect();
            for (t, event) in added_to.remove(&place).into_iter().flatten() {
                let later = events.iter().rposition(|other| began(other).is_some_and(|began| began <= t));
                let end = events.iter().rposition(|other| matches!(other, Event::End { .. })).unwrap_or(events.len());
                events.insert(later.map_or(events.len(), |place| place + 1).min(end), event);
            }
            SegmentRecord { events, ..bare(segment) }
        });
        let mut altered = CellRecord { info: cell.info.clone(), complete: cell.complete, segments: segments.collect() };
        let events = |altered: &mut CellRecord, alter: &dyn Fn(&mut Event)| {
            altered.segments.iter_mut().flat_map(|segment| &mut segment.events).for_each(alter);
        };
        if let Some((from, by)) = later {
            events(&mut altered, &|event| shift(event, from, by));
        }
        if reledger {
            number_writes(&mut altered);
            judge_writes(&mut altered);
        }
        for alter in &last {
            events(&mut altered, alter);
        }
        altered
    }
}

fn changed(rules: &[Rule<'_>], place: usize, segment: &SegmentRecord, event: &Event) -> Option<Event> {
    let mut replaced: Option<Event> = None;
    for rule in rules {
        match rule(place, segment, replaced.as_ref().unwrap_or(event)) {
            EventEdit::Keep => {}
            EventEdit::Drop => return None,
            EventEdit::Replace(other) => replaced = Some(other),
        }
    }
    Some(replaced.unwrap_or_else(|| event.clone()))
}

/// The segment without its events.
fn bare(segment: &SegmentRecord) -> SegmentRecord {
    SegmentRecord {
        file: segment.file.clone(),
        writer: segment.writer.clone(),
        host: segment.host,
        generation: segment.generation,
        events: Vec::new(),
        torn: segment.torn.clone(),
    }
}

/// When the event was written, as far as its own times show.
fn began(event: &Event) -> Option<Nanos> {
    crate::index::last_time(event)
}

/// Numbers the writes of a cell in the order of their times, from the number that the first one had.
fn number_writes(cell: &mut CellRecord) {
    for segment in &mut cell.segments {
        let places: Vec<usize> =
            (0..segment.events.len()).filter(|&at| matches!(segment.events[at], Event::Write { .. })).collect();
        let mut writes: Vec<Event> = places.iter().map(|&at| segment.events[at].clone()).collect();
        let key = |event: &Event| match event {
            Event::Write { t, seq, .. } => (*t, *seq),
            _ => (0, 0),
        };
        let first = writes.iter().map(|write| key(write).1).min().unwrap_or(0);
        writes.sort_by_key(key);
        for (number, (&at, mut write)) in (first..).zip(places.iter().zip(writes)) {
            if let Event::Write { seq, .. } = &mut write {
                *seq = number;
            }
            segment.events[at] = write;
        }
    }
}

/// Records for each write how both ledgers judge it by its place in the order.
fn judge_writes(cell: &mut CellRecord) {
    let found: BTreeMap<u64, JudgedWrite> =
        crate::index::WriteIndex::of(cell).all().map(|work| (work.seq, work.found)).collect();
    for event in cell.segments.iter_mut().flat_map(|segment| &mut segment.events) {
        if let Event::Write { seq, unfenced_stale, fenced_rejected, fenced_stale, .. } = event
            && let Some(judged) = found.get(seq)
        {
            (*unfenced_stale, *fenced_rejected, *fenced_stale) = (judged.stale, judged.rejected, judged.past);
        }
    }
}
