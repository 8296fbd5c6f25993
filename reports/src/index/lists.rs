//! The servers' own lists of sessions, ephemeral znodes and watches, at both edges of the measured window.

use std::collections::BTreeMap;

use hustings_record::{Event, Holdings, WindowEdge};

use super::control_plane::PlacedEvent;
use crate::stats::spans::Span;

/// Parent of the elections.
pub(crate) const ROOT: &str = "/election/";

/// The combined lists of all servers at one edge.
#[derive(Clone, Debug, Default)]
pub struct CombinedLists {
    /// From the first question to the last answer.
    pub asked: Span,
    pub holds: Holdings,
    /// Servers that disagree with most.
    pub dissent: Vec<u32>,
    /// Sessions that some servers list and others do not, with those that do.
    pub contested: BTreeMap<i64, Vec<u32>>,
}

/// None: the servers were not asked, or did not answer.
#[derive(Default)]
pub struct Lists {
    pub begin: Option<CombinedLists>,
    pub end: Option<CombinedLists>,
}

impl Lists {
    pub(super) fn new(few: &[PlacedEvent<'_>]) -> Self {
        let listed = |edge: WindowEdge| {
            let told = few.iter().filter_map(|(_, event)| {
                let Event::Holdings { from, to, at, servers, holds } = event else { return None };
                (*at == edge).then_some(((*from, *to), &servers[..], &**holds))
            });
            CombinedLists::by(&told.collect::<Vec<_>>())
        };
        Self { begin: listed(WindowEdge::Begin), end: listed(WindowEdge::End) }
    }
}

impl CombinedLists {
    /// Servers that give the same answer share one event.
    fn by(told: &[(Span, &[u32], &Holdings)]) -> Option<Self> {
        let &(mut asked, mut most, _) = told.first()?;
        for (span, servers, _) in told {
            asked = (asked.0.min(span.0), asked.1.max(span.1));
            if servers.len() > most.len() {
                most = servers;
            }
        }
        let mut listed = Self { asked, ..Self::default() };
        for (_, servers, holds) in told {
            listed.holds.add(holds);
            listed.dissent.extend(servers.iter().filter(|server| !most.contains(server)));
            for &session in &holds.sessions {
                listed.contested.entry(session).or_default().extend(*servers);
            }
        }
        let all: usize = told.iter().map(|(_, servers, _)| servers.len()).sum();
        listed.contested.retain(|_, servers| servers.len() < all);
        Some(listed)
    }
}
