//! The harness itself does not keep up.

use super::*;
use crate::check::stalls::Stalls;

pub(in crate::mutations) const HARNESS_STALLS: Mutation = Mutation {
    name: "harness-stalls",
    about: "the coordinator does not run for half of T while a fault is measured",
    check: Stalls::NAME,
    verdict: Verdict::Inconclusive,
    one_by_one: true,
    sites: |scene| {
        SiteFilter::of(0..scene.index.faults.all.len(), "there is no fault during which a stall would matter")
            .only_if("the record has no coordinator", scene.coordinator().is_some())
            .sites()
    },
    edit,
};

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mut edits = Edits::default();
    if let (Some(&fault), Some(segment)) = (sites.first(), scene.coordinator()) {
        let from = scene.index.faults.all[fault].t;
        let to = from + scene.index.timeout_or_asked() / 2;
        edits.add(segment, to, Event::Stall { from, to, ran_ns: 0, program: false });
    }
    edits
}
