//! A term is lost without a cause: the fault that cost it was never ordered.

use super::*;
use crate::check::handovers::Handovers;
use crate::check::stall_confounder::kept_from_contact;

pub(in crate::mutations) const LOSS_NOT_PLANNED: Mutation =
    Mutation::fails::<Handovers>("loss-not-planned", "a lead changes hands though no fault was ordered", sites, edit);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let index = scene.index;
    let alone = |loss: &usize| {
        let (loss, faults) = (&scene.losses()[*loss], &index.faults);
        let term = &index.terms.all[loss.term];
        let until = term.ended.1.max(loss.effect);
        let own = faults.all[loss.fault].id;
        let on_it = faults.of_cand(term.cand).filter(|fault| !term.began_after(fault, &index.candidates));
        let others = on_it.chain(faults.on_servers()).filter(|fault| fault.id != own);
        others.into_iter().all(|fault| !fault.explains((loss.effect, until)))
    };
    let stalled = |loss: &usize| {
        let (at, loser) = (scene.losses()[*loss].effect, scene.loser(*loss));
        index.confounding_stall(&[loser.host], (at, scene.granted(*loss).unwrap_or(at))).is_some()
            || [at, loser.ended.0, loser.ended.1].iter().any(|&at| kept_from_contact(index, loser.host, at).is_some())
    };
    // A record without any fault already shows that nothing was tried.
    scene
        .handovers()
        .only_if("unplanned handovers are allowed here", index.info.expect.unplanned == Expectation::None)
        .only_if("there is only one fault: without it the cell has none", index.faults.all.len() > 1)
        .keep("a process that stands still with no fault on it is a stall of the harness", |&loss| {
            scene.fault(loss).kind.facts().process != ProcessFate::Stopped
        })
        .keep("every lead was lost while another fault could have cost it", alone)
        .keep("a process stalled before every loss", |loss| !stalled(loss))
        .sites()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    // Only one fault is removed: the others remain as evidence that the cell did what it says.
    let forgotten: BTreeSet<u32> = sites.first().map(|&loss| scene.fault(loss).id).into_iter().collect();
    Edits::default().drop_if(move |_, event| match event {
        Event::Fault(order) => forgotten.contains(&order.id),
        Event::Verification(verification) => forgotten.contains(&verification.id),
        _ => false,
    })
}
