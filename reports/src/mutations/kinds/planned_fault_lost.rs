//! The plan and the orders of a cell differ: a planned fault vanishes, or one is ordered that was not planned.

use super::faults_denied::FAULT_UNVERIFIED;
use super::*;
use hustings_record::numbers::to_u32;

pub(in crate::mutations) const PLANNED_FAULT_LOST: Mutation = Mutation {
    name: "planned-fault-lost",
    about: "a planned fault vanishes: it is neither ordered nor withheld",
    sites: |scene| SiteFilter::of(planned(scene), "the record does not tell the plan of this cell").sites(),
    edit: |scene, sites| {
        let gone = numbers(sites);
        let is_gone = |planned: Option<u32>| planned.is_some_and(|id| gone.contains(&id));
        let faults = scene.index.faults.all.iter();
        let orders: Vec<u32> = faults.filter(|fault| is_gone(fault.planned)).map(|fault| fault.id).collect();
        Edits::default().drop_if(move |_, event| match event {
            Event::Fault(order) => orders.contains(&order.id),
            Event::Verification(verification) => orders.contains(&verification.id),
            Event::FaultWithheld { planned, .. } => gone.contains(planned),
            _ => false,
        })
    },
    ..FAULT_UNVERIFIED
};

pub(in crate::mutations) const FAULT_NOT_OF_PLAN: Mutation = Mutation {
    name: "fault-not-of-plan",
    about: "a fault was ordered that the plan does not name",
    edit: |_, sites| {
        let gone = numbers(sites);
        Edits::default().replace(move |_, event| {
            let Event::FaultPlan { t, faults } = event else { return None };
            let faults = faults.iter().filter(|fault| !gone.contains(&fault.id)).cloned().collect();
            Some(Event::FaultPlan { t: *t, faults })
        })
    },
    ..PLANNED_FAULT_LOST
};

/// Numbers of planned faults.
fn planned(scene: &IndexedCell<'_>) -> impl Iterator<Item = usize> {
    scene.index.plan.faults.iter().flat_map(|faults| faults.keys()).map(|&id| id as usize)
}

fn numbers(sites: &[usize]) -> Vec<u32> {
    sites.iter().map(|&id| to_u32(id)).collect()
}
