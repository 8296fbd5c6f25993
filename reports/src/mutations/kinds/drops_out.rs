//! A follower leaves its election and never comes back.

use super::*;
use crate::check::participation::Participation;
use crate::check::tolerance::recovery_deadline;
use hustings_record::numbers::to_u32;

pub(in crate::mutations) const DROPS_OUT: Mutation = Mutation::fails::<Participation>(
    "drops-out",
    "a candidate leaves its election and does not come back",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let Some(window) = scene.index.window() else {
        return Sites::Nowhere("the cell ended before its tear-down".into());
    };
    let at = window.0 + 1;
    let rejoins_after = scene.index.info.rejoin_after_ms.unwrap_or(0) * 1_000_000;
    let candidates = scene.index.candidates.all.keys().map(|&cand| cand as usize);
    SiteFilter::of(candidates, "there are no candidates")
        .only_if(
            "the measured window is too short: a candidate may be away for longer, with requests as slow as here",
            recovery_deadline(scene.index)(at) + rejoins_after < scene.end_of_whole_drain(),
        )
        .keep("every candidate led after the measuring began", |&cand| {
            let terms = scene.index.terms.by_cand.get(&to_u32(cand)).into_iter().flatten();
            terms.into_iter().all(|&term| scene.term(term).ended.1 < at)
        })
        .keep("every follower was hit, or its process died", |&cand| {
            let cand = to_u32(cand);
            let host = scene.index.candidates.all[&cand].host;
            let dead = scene.index.presence.dead.get(&host).is_some_and(|dead| dead.0 < window.1);
            !dead && scene.calm(cand, (at, at + 1)).is_some() && scene.index.faults.of_cand(cand).next().is_none()
        })
        .only_if(
            "servers were hit, or out",
            scene.index.faults.on_servers().next().is_none() && !scene.index.servers.out_within(window),
        )
        .sites()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let at = scene.index.window().map_or(0, |window| window.0) + 1;
    let mut edits = Edits::default();
    let gone = |cand: u32| sites.contains(&(cand as usize));
    for cand in sites.iter().map(|&cand| to_u32(cand)) {
        if let (Some(stand), Some(segment)) = (scene.index.candidates.standing(cand, at), scene.segment_at(cand, at)) {
            let how = Departure::Resigned { delete: Some((at, at)) };
            edits.add(segment, at, Event::Left { t: at, cand, session: stand.session, how });
        }
    }
    edits.later(scene.whole_drain()).drop_if(move |_, event| match event {
        Event::Incarnation { t, cand, .. }
        | Event::Joined { t, cand, .. }
        | Event::Created { t, cand, .. }
        | Event::Notified { t, cand, .. }
        | Event::Settled { t, cand, .. }
        | Event::Left { t, cand, .. } => *t > at && gone(*cand),
        _ => false,
    })
}
