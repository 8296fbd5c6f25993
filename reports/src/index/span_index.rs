//! Spans of time, indexed so that those of a given time are found without a scan of all.

use crate::stats::spans::Span;
use hustings_record::Nanos;
use hustings_record::numbers::to_u32;

#[derive(Clone, Copy, Debug)]
struct SpanIndexEntry {
    begun: Nanos,
    /// The latest end of this one and of all that began before it.
    reach: Nanos,
    place: u32,
    ended: Nanos,
}

/// In the order of their beginnings.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanIndex(Vec<SpanIndexEntry>);

impl SpanIndex {
    /// Indexes spans, each with its place.
    pub(crate) fn of(things: impl Iterator<Item = (usize, Span)>) -> Self {
        let entry = |(place, (begun, ended))| SpanIndexEntry { begun, reach: ended, place: to_u32(place), ended };
        let mut entries: Vec<SpanIndexEntry> = things.map(entry).collect();
        entries.sort_by_key(|entry| entry.begun);
        let mut reach = 0;
        for entry in &mut entries {
            reach = entry.ended.max(reach);
            entry.reach = reach;
        }
        Self(entries)
    }

    /// Places of those that overlap `span`, both ends included; the last that began comes first.
    pub(crate) fn within(&self, span: Span) -> impl Iterator<Item = usize> + use<'_> {
        let begun = &self.0[..self.0.partition_point(|entry| entry.begun <= span.1)];
        let lately = begun.iter().rev().take_while(move |entry| span.0 <= entry.reach);
        lately.filter(move |entry| span.0 <= entry.ended).map(|entry| entry.place as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_going_through_all_finds(
            things in prop::collection::vec((0_u64..50, 0_u64..20), 0..40),
            asked in (0_u64..60, 0_u64..10),
        ) {
            let things: Vec<Span> = things.into_iter().map(|(from, long)| (from, from + long)).collect();
            let span = (asked.0, asked.0 + asked.1);
            let mut found: Vec<usize> = SpanIndex::of(things.iter().copied().enumerate()).within(span).collect();
            found.sort_unstable();
            let all = things.iter().enumerate().filter(|(_, thing)| thing.0 <= span.1 && span.0 <= thing.1);
            prop_assert_eq!(found, all.map(|(place, _)| place).collect::<Vec<_>>());
        }
    }
}
