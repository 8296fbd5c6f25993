//! The record itself is not whole: a segment does not end in order.

use super::*;
use crate::check::records::RecordContents;

pub(in crate::mutations) const SEGMENT_CUT: Mutation = Mutation {
    name: "segment-cut",
    about: "a segment of the record does not end in order, though its writer was not killed",
    check: RecordContents::NAME,
    verdict: Verdict::Inconclusive,
    one_by_one: true,
    sites: |scene| {
        let ended = |at: &usize| scene.cell.segments[*at].ended().is_some();
        let is_hit = |at: &usize| {
            let host = scene.cell.segments[*at].host;
            let mut ends = scene.index.faults.all.iter().filter(|f| f.kind.facts().process == ProcessFate::Ended);
            host.is_some_and(|host| ends.any(|fault| fault.hosts.contains(&host)))
        };
        SiteFilter::of((0..scene.cell.segments.len()).filter(ended), "no segment ends in order")
            .keep("a fault ended each of these processes", |at| !is_hit(at))
            .sites()
    },
    edit,
};

fn edit<'s>(_: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let cut = sites.first().copied();
    Edits::default().drop_if(move |segment, event| Some(segment) == cut && matches!(event, Event::End { .. }))
}
