//! The faults of a cell's plan, each with its orders, or the reason why it was withheld.

use std::collections::BTreeMap;

use super::control_plane::PlacedEvent;
use super::faults::Faults;
use hustings_record::{Event, FaultIntent, Nanos, WithheldReason};

/// A planned fault.
#[derive(Debug)]
pub struct PlanEntry<'a> {
    pub intent: &'a FaultIntent,
    /// Places in the index's faults.
    pub orders: Vec<usize>,
    /// When it was withheld, and why.
    pub withheld: Option<(Nanos, WithheldReason)>,
}

impl PlanEntry<'_> {
    /// The record has neither an order nor a reason to withhold it.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.orders.is_empty() && self.withheld.is_none()
    }
}

/// The plan of a cell.
#[derive(Debug, Default)]
pub struct FaultPlan<'a> {
    /// By number. None: the record has no plan.
    pub faults: Option<BTreeMap<u32, PlanEntry<'a>>>,
    /// Places of faults that were ordered though the plan does not name them.
    pub strays: Vec<usize>,
}

impl<'a> FaultPlan<'a> {
    pub(super) fn new(few: &[PlacedEvent<'a>], faults: &Faults<'a>) -> Self {
        let (mut planned, mut withheld) = (None, Vec::new());
        for (_, event) in few {
            match event {
                Event::FaultPlan { faults, .. } => {
                    let all: &mut BTreeMap<u32, PlanEntry<'a>> = planned.get_or_insert_default();
                    let new = |intent: &'a FaultIntent| PlanEntry { intent, orders: Vec::new(), withheld: None };
                    all.extend(faults.iter().map(|intent| (intent.id, new(intent))));
                }
                Event::FaultWithheld { t, planned, why } => withheld.push((*planned, (*t, *why))),
                _ => {}
            }
        }
        let Some(mut all) = planned else { return Self::default() };
        for (id, why) in withheld {
            if let Some(planned) = all.get_mut(&id) {
                planned.withheld = Some(why);
            }
        }
        let mut strays = Vec::new();
        for (place, fault) in faults.all.iter().enumerate() {
            match fault.planned.and_then(|id| all.get_mut(&id)) {
                Some(planned) if planned.intent.kind == fault.kind => planned.orders.push(place),
                _ => strays.push(place),
            }
        }
        Self { faults: Some(all), strays }
    }

    /// Those that were withheld, in order of their numbers.
    pub fn withheld(&self) -> impl Iterator<Item = (&FaultIntent, Nanos, WithheldReason)> {
        let all = self.faults.iter().flat_map(BTreeMap::values);
        all.filter_map(|planned| planned.withheld.map(|(t, why)| (planned.intent, t, why)))
    }
}
