//! A program breaks a rule by which it takes part.

use crate::check::Section as _;
use crate::check::programs::Programs;
use crate::mutations::edits::Edits;
use crate::mutations::mutation::Mutation;
use crate::mutations::scene::Scene;
use crate::mutations::sites::Sieve;
use crate::verdict::Verdict;
use hustings_record::{Event, Misbehaviour};

pub(in crate::mutations) const RULE_BROKEN: Mutation = Mutation {
    name: "rule-broken",
    about: "a program says what is no message",
    check: Programs::NAME,
    verdict: Verdict::Fail,
    one_by_one: true,
    sites: |scene| Sieve::of(hosts(scene), "no external program takes part").sites(),
    edit,
};

/// Places of the segments in which a program introduced itself.
fn hosts(scene: &Scene<'_>) -> impl Iterator<Item = usize> {
    let introduces = |event: &Event| matches!(event, Event::Program(_));
    (0..scene.cell.segments.len()).filter(move |&at| scene.cell.segments[at].events.iter().any(introduces))
}

fn edit<'s>(scene: &'s Scene<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mut edits = Edits::default();
    for &segment in sites {
        let t = scene.index.observed_until();
        let text = "a line that is no message".to_owned();
        edits.add(segment, t, Event::Misbehaved { t, cand: None, what: Misbehaviour::Garbage, text });
    }
    edits
}
