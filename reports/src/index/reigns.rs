//! Whom ZooKeeper named as the owner of each lead, as the observer saw it.

use std::collections::BTreeMap;

use super::terms::Term;
use crate::stats::spans::{Span, union, without};
use hustings_record::{CellRecord, Event, Nanos};

/// From when to when, for certain, ZooKeeper named this owner.
#[derive(Clone, Copy, Debug)]
pub struct Reign {
    pub group: u32,
    pub span: Span,
    /// None: nobody.
    pub session: Option<i64>,
    pub czxid: Option<i64>,
}

#[derive(Default)]
pub struct Reigns {
    /// What the observer saw, in order of group and time.
    pub seen: Vec<Reign>,
    /// When it had no connection.
    pub blind: Vec<Span>,
    /// Of how many groups it ever said anything.
    pub groups: usize,
}

/// When an owner was named, its session and its znode's czxid.
type Named = (Span, Option<i64>, Option<i64>);

impl Reigns {
    /// Owners until `until`, in a cell that ended at `end`.
    pub(super) fn new(cell: &CellRecord, until: Nanos, end: Nanos) -> Self {
        let mut owners: BTreeMap<u32, Vec<Named>> = BTreeMap::new();
        let mut states: Vec<(Nanos, bool)> = Vec::new();
        for (_, event) in cell.events() {
            match event {
                Event::Owner { from, to, group, session, czxid, .. } => {
                    owners.entry(*group).or_default().push(((*from, *to), *session, *czxid));
                }
                Event::ObserverState { t, connected } => states.push((*t, *connected)),
                _ => {}
            }
        }
        let watching = states.iter().find(|(_, connected)| *connected).map(|(t, _)| *t);
        let mut reigns = Self { groups: owners.len(), blind: blind(states, end), ..Self::default() };
        for (group, mut named) in owners {
            // Of two at one instant the later one holds.
            named.sort_by_key(|named| named.0);
            // Nobody owned the lead while the observer looked and saw no owner yet.
            let first = named.first().map(|named| named.0.0);
            if let (Some(since), Some(first)) = (watching, first.filter(|&t| Some(t) > watching)) {
                reigns.push(Reign { group, span: (since, first), session: None, czxid: None });
            }
            let ends = named.iter().skip(1).map(|named| named.0.0).chain([until]);
            for (&((_, since), session, czxid), end) in named.iter().zip(ends) {
                reigns.push(Reign { group, span: (since, end.max(since)), session, czxid });
            }
        }
        reigns
    }

    fn push(&mut self, reign: Reign) {
        self.seen.extend(without(reign.span, &self.blind).into_iter().map(|span| Reign { span, ..reign }));
    }

    /// In order of time.
    #[must_use]
    pub fn of_group(&self, group: u32) -> &[Reign] {
        let first = self.seen.partition_point(|reign| reign.group < group);
        let last = self.seen.partition_point(|reign| reign.group <= group);
        &self.seen[first..last]
    }

    /// Who owned the lead of this group at `t`, as far as that was seen.
    #[must_use]
    pub fn at(&self, group: u32, t: Nanos) -> Option<&Reign> {
        let reigns = self.of_group(group);
        reigns[..reigns.partition_point(|reign| reign.span.0 <= t)].last().filter(|reign| t <= reign.span.1)
    }
}

fn blind(mut states: Vec<(Nanos, bool)>, end: Nanos) -> Vec<Span> {
    states.sort_unstable();
    let ends = states.iter().skip(1).map(|s| s.0).chain([end]);
    union(states.iter().zip(ends).filter(|(s, _)| !s.1).map(|(s, end)| (s.0, end)).collect())
}

impl Reign {
    /// Whether the owner is the candidate of this term, under its session.
    #[must_use]
    pub fn is_of(&self, term: &Term<'_>) -> bool {
        // The session alone does not tell: it may be shared, and its candidate may have stood before.
        self.session == Some(term.session) && self.czxid.is_none_or(|c| c == term.czxid)
    }
}
