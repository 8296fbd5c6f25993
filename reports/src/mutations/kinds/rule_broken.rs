//! A program breaks a rule by which it takes part.

use super::*;
use crate::check::programs::Programs;

pub(in crate::mutations) const RULE_BROKEN: Mutation = Mutation::fails::<Programs>(
    "rule-broken",
    "a program says what is no message",
    |scene| SiteFilter::of(hosts(scene), "no external program takes part").sites(),
    edit,
);

/// Places of the segments in which a program introduced itself.
fn hosts(scene: &IndexedCell<'_>) -> impl Iterator<Item = usize> {
    let introduces = |event: &Event| matches!(event, Event::Program(_));
    (0..scene.cell.segments.len()).filter(move |&at| scene.cell.segments[at].events.iter().any(introduces))
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mut edits = Edits::default();
    for &segment in sites {
        let t = scene.index.observed_until();
        let text = "a line that is no message".to_owned();
        edits.add(segment, t, Event::Misbehaved { t, cand: None, since: None, what: Misbehaviour::Garbage, text });
    }
    edits
}
