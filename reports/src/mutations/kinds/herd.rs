//! A herd: all candidates are notified of every loss, although the recipe promises fewer.

use super::*;
use crate::check::fan_out::FanOutSection;

/// From one notification to the next.
const STEP_NS: Nanos = 20_000;
/// From its notification until each has settled.
const SETTLES_NS: Nanos = 500_000;

pub(in crate::mutations) const HERD: Mutation =
    Mutation::fails::<FanOutSection>("herd", "everybody is notified of a leader's loss", sites, edit);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let wakes = scene.index.info.leader_wakes();
    scene
        .handovers()
        .only_if("the recipe promises no fan-out", wakes.is_some())
        .only_if("the recipe has everybody notified", wakes != Some(FanOut::AllOthers))
        .keep("no lead was lost by somebody whose znode is known", |&loss| !scene.loser(loss).node.is_empty())
        .keep("nobody else of the group was connected and undisturbed", |&loss| !idle(scene, loss).is_empty())
        .sites()
}

/// Candidates that the loss need not wake, but that are woken here: enrolled, connected and at rest.
fn idle(scene: &IndexedCell<'_>, loss: usize) -> Vec<u32> {
    let Some(at) = notified_at(scene, loss) else { return Vec::new() };
    let (lost, next) = (scene.loser(loss), scene.successor(loss).map(|next| next.cand));
    let around = (scene.losses()[loss].effect.saturating_sub(CALM_NS), at + CALM_NS);
    let others = scene.calm_others(lost.group, lost.cand, around).into_iter().map(|(cand, _)| cand);
    let at_rest = |cand: &u32| !scene.index.presence.is_unsettled(*cand, around);
    others.filter(|cand| Some(*cand) != next).filter(at_rest).collect()
}

/// The first notification of the loss, or else the next grant.
fn notified_at(scene: &IndexedCell<'_>, loss: usize) -> Option<Nanos> {
    let first = scene.index.woken(&scene.losses()[loss]).first().map(|notice| notice.t);
    first.or_else(|| scene.successor(loss).map(|next| next.grant))
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mut edits = Edits::default();
    for &loss in sites {
        let (lost, Some(at)) = (scene.loser(loss), notified_at(scene, loss)) else { continue };
        for (step, cand) in (1..).zip(idle(scene, loss)) {
            let t = at + step * STEP_NS;
            let (Some(stand), Some(segment)) = (scene.index.candidates.standing(cand, t), scene.segment_at(cand, t))
            else {
                continue;
            };
            let (session, node) = (stand.session, lost.node.to_owned());
            edits.add(segment, t, Event::Notified { t, cand, session, node, kind: WatchEvent::Deleted });
            edits.add(segment, t + SETTLES_NS, Event::Settled { t: t + SETTLES_NS, cand, session, requests: 1 });
        }
    }
    edits
}
