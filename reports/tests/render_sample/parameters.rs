//! The parameters of the sample's cells.

use super::plain;
use hustings_record::{CellInfo, FaultKind, LinkUse};

pub(super) fn info(index: u32, recipe: &str, step_down: &str, fault: FaultKind, candidates: u32) -> CellInfo {
    CellInfo {
        index,
        name: format!("{index:02}-{recipe}-{step_down}-{fault}"),
        recipe: recipe.into(),
        step_down: Some(step_down.parse().unwrap_or_default()),
        fault: fault.name().into(),
        fault_kind: fault,
        groups: (0..20).map(|i| format!("election-{i:04}")).collect(),
        hosts: (0..5).map(|i| format!("host-{i}")).collect(),
        candidates_per_group: candidates,
        timeout_asked_ms: 6_000,
        tick_ms: 200,
        links: LinkUse::Embedded,
        work_interval_ms: 20,
        ..plain::info()
    }
}
