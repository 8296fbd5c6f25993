//! A follower is notified although no candidate has left.

use super::*;
use crate::check::fan_out::FanOutSection;

const SETTLES_NS: Nanos = 1_000_000;
/// Calm required in the group before and, below, after.
const BEFORE_NS: Nanos = 2_000_000_000;
const AFTER_NS: Nanos = 400_000_000;

pub(in crate::mutations) const NOTIFIED_FOR_NOTHING: Mutation = Mutation::fails::<FanOutSection>(
    "notified-for-nothing",
    "followers are notified of changed children while nobody goes",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    SiteFilter::of(0..scene.index.terms.all.len(), "nobody ever led")
        .only_if("the recipe promises no fan-out", scene.index.info.leader_wakes().is_some())
        .keep("no group was undisturbed for 2 s after the last change in it", |&place| moment(scene, place).is_some())
        .sites()
}

/// A time without activity in the group.
fn moment(scene: &IndexedCell<'_>, place: usize) -> Option<Nanos> {
    let term = scene.term(place);
    let at = scene.quiet_in_term(place, BEFORE_NS, AFTER_NS)?;
    let around = (at.saturating_sub(BEFORE_NS), at + AFTER_NS);
    let hit = scene.index.faults.of_group(term.group).any(|fault| fault.explains(around));
    let noticed =
        scene.index.notices.of_group(term.group).iter().any(|notice| around.0 <= notice.t && notice.t <= around.1);
    (!hit && !noticed && !scene.calm_others(term.group, term.cand, around).is_empty()).then_some(at)
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mut edits = Edits::default();
    for &place in sites {
        let (term, Some(t)) = (scene.term(place), moment(scene, place)) else { continue };
        for (cand, stand) in scene.calm_others(term.group, term.cand, (t.saturating_sub(BEFORE_NS), t + AFTER_NS)) {
            let Some(segment) = scene.segment_at(cand, t) else { continue };
            let (session, node, kind) = (stand.session, String::new(), WatchEvent::ChildrenChanged);
            edits.add(segment, t, Event::Notified { t, cand, session, node, kind });
            edits.add(segment, t + SETTLES_NS, Event::Settled { t: t + SETTLES_NS, cand, session, requests: 1 });
        }
    }
    edits
}
