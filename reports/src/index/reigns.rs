//! Whom ZooKeeper named as the owner of each lead, as the observer saw it.

use std::collections::BTreeMap;

use super::cell::Index;
use super::terms::Term;
use crate::stats::spans::{Span, union};
use hustings_record::{Event, Nanos};

/// From when to when, for certain, ZooKeeper named this owner.
#[derive(Clone, Copy, Debug)]
pub struct Reign {
    pub group: u32,
    pub span: Span,
    /// None: nobody.
    pub session: Option<i64>,
    pub czxid: Option<i64>,
}

/// When the observer had no connection.
#[must_use]
pub fn blind(index: &Index<'_>) -> Vec<Span> {
    let mut states: Vec<(Nanos, bool)> = Vec::new();
    for (_, event) in index.cell.events() {
        if let Event::ObserverState { t, connected } = event {
            states.push((*t, *connected));
        }
    }
    states.sort_unstable();
    let ends = states.iter().skip(1).map(|s| s.0).chain([index.span.1]);
    union(states.iter().zip(ends).filter(|(s, _)| !s.1).map(|(s, end)| (s.0, end)).collect())
}

/// When an owner was named, its session and its znode's czxid.
type Named = (Span, Option<i64>, Option<i64>);

/// In order of group and time.
#[must_use]
pub fn reigns(index: &Index<'_>) -> Vec<Reign> {
    let mut owners: BTreeMap<u32, Vec<Named>> = BTreeMap::new();
    for (_, event) in index.cell.events() {
        if let Event::Owner { from, to, group, session, czxid, .. } = event {
            owners.entry(*group).or_default().push(((*from, *to), *session, *czxid));
        }
    }
    let mut reigns = Vec::new();
    let until = index.observed_until();
    let watching = index.cell.events().find_map(|(_, event)| match event {
        Event::ObserverState { t, connected: true } => Some(*t),
        _ => None,
    });
    for (group, mut seen) in owners {
        // Of two at one instant the later one holds.
        seen.sort_by_key(|named| named.0);
        // Nobody owned the lead while the observer looked and saw no owner yet.
        if let (Some(since), Some(first)) =
            (watching, seen.first().map(|named| named.0.0).filter(|&t| Some(t) > watching))
        {
            reigns.push(Reign { group, span: (since, first), session: None, czxid: None });
        }
        let ends = seen.iter().skip(1).map(|s| s.0.0).chain([until]);
        for (&((_, since), session, czxid), end) in seen.iter().zip(ends) {
            reigns.push(Reign { group, span: (since, end.max(since)), session, czxid });
        }
    }
    reigns
}

impl Reign {
    /// Whether the owner is the candidate of this term, under its session.
    #[must_use]
    pub fn is_of(&self, term: &Term<'_>) -> bool {
        // The session alone does not tell: it may be shared, and its candidate may have stood before.
        self.session == Some(term.session) && self.czxid.is_none_or(|c| c == term.czxid)
    }
}
