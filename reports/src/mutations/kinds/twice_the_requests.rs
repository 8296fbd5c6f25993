//! A notified candidate sends more requests than its recipe declares.

use super::*;
use crate::check::fan_out::FanOutSection;
use crate::check::request_limit::limit;

pub(in crate::mutations) const TWICE_THE_REQUESTS: Mutation = Mutation::fails::<FanOutSection>(
    "twice-the-requests",
    "a wake-up causes twice as many requests as the recipe declares at most",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let index = scene.index;
    let declared = index.info.requests_per_wake_max();
    let promised = u64::from(declared.unwrap_or(0));
    let limit = limit(index, promised);
    scene
        .handovers()
        .only_if("the recipe declares no number of requests", declared.is_some())
        .only_if("the recipe watches nothing", index.info.leader_wakes() != Some(FanOut::None))
        .keep("nobody was notified, or somebody of the group was hit, cut off, stalled or busy at the time", |&loss| {
            settled(scene, loss).is_some()
        })
        .keep("others went meanwhile, or settling took so long that it may ask again", |&loss| {
            let Some((cand, at)) = settled(scene, loss) else { return false };
            let woken = index.woken(&scene.losses()[loss]);
            let mut own = woken.iter().filter(|notice| notice.cand == cand);
            own.next().and_then(|notice| limit(notice, at)).is_some_and(|most| most < 2 * promised.max(1))
        })
        .sites()
}

/// The first watcher of the loss that settled with nothing else going on around it: candidate and time of settling.
fn settled(scene: &IndexedCell<'_>, loss: usize) -> Option<(u32, Nanos)> {
    let woken = scene.index.woken(&scene.losses()[loss]);
    let first = woken.first()?;
    let at = scene.index.notices.handled(first)?.t;
    scene.group_is_calm(loss, at).then_some((first.cand, at))
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let busy: BTreeSet<(u32, Nanos)> = sites.iter().filter_map(|&loss| settled(scene, loss)).collect();
    let most = scene.index.info.requests_per_wake_max().unwrap_or(1).max(1);
    let twice = most.saturating_mul(2);
    Edits::default().replace(move |_, event| match event {
        Event::Settled { t, cand, session, .. } if busy.contains(&(*cand, *t)) => {
            Some(Event::Settled { t: *t, cand: *cand, session: *session, requests: twice })
        }
        _ => None,
    })
}
