//! The parameters of the sample's cells.

use hustings_record::{CellInfo, Expect, FaultKind, Fencing, FencingMethod, LinkUse, SessionUse};

pub(super) fn info(index: u32, recipe: &str, step_down: &str, fault: FaultKind, candidates: u32) -> CellInfo {
    CellInfo {
        index,
        name: format!("{index:02}-{recipe}-{step_down}-{fault}"),
        repetition: None,
        contest: None,
        recipe: recipe.into(),
        declared: None,
        step_down: Some(step_down.parse().unwrap_or_default()),
        fault: fault.name().into(),
        fault_kind: fault,
        groups: (0..20).map(|i| format!("election-{i:04}")).collect(),
        hosts: (0..5).map(|i| format!("host-{i}")).collect(),
        candidates_per_group: candidates,
        timeout_asked_ms: 6_000,
        tick_ms: 200,
        servers: 3,
        own_servers: true,
        sessions: SessionUse::PerCandidate,
        links: LinkUse::Embedded,
        fencing: Fencing::Fenced,
        work_interval_ms: 20,
        expect: Expect::default(),
        self_test: false,
        must_show: Vec::new(),
        fencing_method: FencingMethod::Resource,
        poll_interval_ms: 200,
        rejoin_after_ms: None,
        init_limit: None,
        sync_limit: None,
        parameters: Default::default(),
    }
}
