//! A notified follower never settles: its watch is not armed again.

use super::*;
use crate::check::participation::Participation;
use hustings_record::numbers::to_u32;

pub(in crate::mutations) const NEVER_SETTLES: Mutation = Mutation::fails::<Participation>(
    "never-settles",
    "a follower is notified, and never waits with a watch again",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let Some(window) = scene.index.window() else {
        return Sites::Nowhere("the cell ended before its tear-down".into());
    };
    let settled = |&cand: &usize| last_settled(scene, to_u32(cand));
    let long = 7 * scene.index.timeout_or_asked() / 5 + 4_000_000_000;
    SiteFilter::of(scene.index.candidates.all.keys().map(|&cand| cand as usize), "there are no candidates")
        .keep("nobody settled after a notification and remained a follower", |cand| settled(cand).is_some())
        .keep("the window ended too soon after every such moment", |cand| {
            settled(cand).is_some_and(|(notified, _)| notified + long < scene.end_of_whole_drain())
        })
        .keep("a fault came after every such moment", |cand| {
            let from = settled(cand).map_or(0, |settled| settled.0);
            scene.calm(to_u32(*cand), (from, window.1.saturating_sub(1))).is_some()
        })
        .sites()
}

/// The last time that the candidate was notified and then settled as a follower; it did nothing after that until the tear-down.
fn last_settled(scene: &IndexedCell<'_>, cand: u32) -> Option<(Nanos, Nanos)> {
    let index = scene.index;
    let until = index.observed_until();
    let handled = index.notices.all_handled(cand);
    let last = handled[..handled.partition_point(|handled| handled.t < until)].last()?.t;
    let spans = index.presence.unsettled.get(&cand)?;
    let span = spans.iter().find(|span| span.1 == last && span.0 < last)?;
    let joined = index.candidates.stands.get(&cand)?.iter().any(|stand| stand.from == span.0);
    let granted =
        index.terms.by_cand.get(&cand).into_iter().flatten().any(|&term| index.terms.all[term].grant >= span.0);
    let busy_later = spans.iter().any(|later| later.0 > last && later.0 < until);
    (!joined && !granted && !busy_later).then_some(*span)
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let until = scene.index.observed_until();
    let candidates = sites.iter().map(|&cand| to_u32(cand));
    let dropped: BTreeMap<u32, Nanos> =
        candidates.filter_map(|cand| Some((cand, last_settled(scene, cand)?.0))).collect();
    Edits::default().later(scene.whole_drain()).drop_if(move |_, event| match event {
        Event::Settled { t, cand, .. } => dropped.get(cand).is_some_and(|from| t >= from && *t < until),
        _ => false,
    })
}
