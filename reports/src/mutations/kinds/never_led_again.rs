//! A group is never led again after it has lost its leader.

use super::*;
use crate::check::liveness::LeaderlessTime;
use crate::check::tolerance::recovery_deadline;

pub(in crate::mutations) const NEVER_LED_AGAIN: Mutation = Mutation::fails::<LeaderlessTime>(
    "never-led-again",
    "nobody leads a group again after it has lost its leader",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let over = scene.index.faults.all.iter().map(|fault| fault.over()).max().unwrap_or(0);
    let recovery_deadline = recovery_deadline(scene.index);
    scene
        .handovers()
        .only_if("the cell ended before its tear-down", scene.index.window().is_some())
        .keep("an earlier leader believed until the end", |&loss| {
            scene.believed_until(loss) < scene.index.observed_until()
        })
        .keep("the longest drain ends before a group has to be led again, with requests as slow as here", |&loss| {
            let lost = over.max(scene.losses()[loss].effect).max(scene.believed_until(loss));
            recovery_deadline(lost) < scene.end_of_whole_drain()
        })
        .sites()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    // By group: no grant comes from this moment on.
    let mut from: BTreeMap<u32, Nanos> = BTreeMap::new();
    for &loss in sites {
        let (group, at) = (scene.losses()[loss].group, scene.losses()[loss].effect);
        let at = at.max(scene.loser(loss).grant + 1);
        from.entry(group).and_modify(|first| *first = at.min(*first)).or_insert(at);
    }
    let of_group = |cand: u32| scene.index.candidates.all.get(&cand).map(|candidate| candidate.group);
    let mut gone: Vec<&Term> = scene.index.terms.all.iter().collect();
    gone.retain(|term| from.get(&term.group).is_some_and(|&from| term.grant >= from));
    let owner = |term: &Term| (term.life, term.cand, term.session);
    gone.sort_unstable_by_key(|term| owner(term));
    let any = move |segment: usize, cand: u32, session: i64, is_meant: &dyn Fn(&Term) -> bool| {
        let first = gone.partition_point(|term| owner(term) < (segment, cand, session));
        let of_owner = gone[first..].iter().take_while(|term| owner(term) == (segment, cand, session));
        of_owner.into_iter().any(|term| is_meant(term))
    };
    Edits::default()
        .drop_if(move |segment, event| match event {
            Event::Grant { t, cand, session, .. } => any(segment, *cand, *session, &|term| term.grant == *t),
            Event::Granted { t, cand, session, .. } => any(segment, *cand, *session, &|term| term.granted == Some(*t)),
            Event::Revoke { from, to, cand, session, .. } => {
                any(segment, *cand, *session, &|term| term.ended == (*from, *to))
            }
            Event::Write { t, cand, .. } => {
                of_group(*cand).and_then(|group| from.get(&group)).is_some_and(|from| t >= from)
            }
            _ => false,
        })
        .later(scene.whole_drain())
        .with_honest_ledgers()
}
