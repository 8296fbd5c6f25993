//! A watcher that the loss must wake is not notified.

use super::*;
use crate::check::fan_out::FanOutSection;
use crate::index::{EDGE_NS, is_gone_by_the_successor};

pub(in crate::mutations) const NOTIFICATION_MISSED: Mutation = Mutation::fails::<FanOutSection>(
    "notification-missed",
    "a candidate that watched the lost leader is not notified",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let wakes = scene.index.info.leader_wakes();
    scene
        .handovers()
        .only_if("the recipe promises no fan-out", wakes.is_some())
        .only_if("the recipe watches nothing", wakes != Some(FanOut::None))
        .keep("nobody was notified", |&loss| missed(scene, loss).is_some())
        .keep("nothing but the notification tells that the znode has gone", |&loss| {
            is_gone_by_the_successor(scene.index, &scene.losses()[loss])
        })
        .keep("the measured time was over before everybody can have been told", |&loss| {
            let known = scene.granted(loss).unwrap_or(Nanos::MAX);
            scene.losses()[loss].until >= known.saturating_add(EDGE_NS)
        })
        .keep("somebody of every group was hit, cut off, stalled or busy at the time", |&loss| {
            missed(scene, loss).is_some_and(|(_, at)| scene.group_is_calm(loss, at))
        })
        .sites()
}

/// The last watcher that was notified of the loss: candidate and time.
fn missed(scene: &IndexedCell<'_>, loss: usize) -> Option<(u32, Nanos)> {
    let woken = scene.index.woken(&scene.losses()[loss]);
    woken.last().map(|notice| (notice.cand, notice.t))
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let dropped: BTreeSet<(u32, Nanos)> = sites.iter().filter_map(|&loss| missed(scene, loss)).collect();
    Edits::default().drop_if(move |_, event| match event {
        Event::Notified { t, cand, kind: WatchEvent::Deleted, .. } => dropped.contains(&(*cand, *t)),
        _ => false,
    })
}
