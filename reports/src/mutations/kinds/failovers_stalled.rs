//! The harness did not run through most of every failover.

use super::*;
use crate::check::failover::Failover;
use crate::index::LossOutcome;

pub(in crate::mutations) const FAILOVERS_STALLED: Mutation = Mutation {
    name: "failovers-stalled",
    about: "the coordinator did not run through most of every failover, so that none has a latency",
    check: Failover::NAME,
    verdict: Verdict::Inconclusive,
    one_by_one: false,
    sites: |scene| {
        let measured = scene.losses().iter().filter(|loss| loss.outcome != LossOutcome::Survived).count();
        let most = 2 * scene.handed_over().len() > measured;
        scene
            .handovers()
            .only_if(
                "most lost leads were taken back by those who had lost them, or were not taken over by the end",
                most,
            )
            .only_if("the record has no coordinator", scene.coordinator().is_some())
            .sites()
    },
    edit,
};

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mut edits = Edits::default();
    for &loss in sites {
        if let (Some(to), Some(segment)) = (scene.granted(loss), scene.coordinator()) {
            let from = scene.losses()[loss].effect.min(to);
            edits.add(segment, to, Event::Stall { from, to, ran_ns: 0, program: false });
        }
    }
    edits
}
