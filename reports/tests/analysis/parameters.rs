//! The parameters of the cells of these tests.

use hustings_record::*;

use crate::builder::{T, TICK};

pub(crate) fn info(recipe: &str, groups: u32, hosts: u16, fault_kind: FaultKind) -> CellInfo {
    CellInfo {
        index: 0,
        name: "cell".into(),
        repetition: None,
        contest: None,
        recipe: recipe.into(),
        declared: declared(recipe),
        step_down: Some(StepDown::OnDisconnect),
        fault: fault_kind.name().into(),
        fault_kind,
        groups: (0..groups).map(|g| format!("g{g}")).collect(),
        hosts: (0..hosts).map(|h| format!("h{h}")).collect(),
        candidates_per_group: u32::from(hosts),
        timeout_asked_ms: T,
        tick_ms: TICK,
        servers: 3,
        own_servers: true,
        sessions: SessionUse::PerCandidate,
        links: LinkUse::Direct,
        fencing: Fencing::Fenced,
        // Longer than the cell: a leader that writes once has written enough.
        work_interval_ms: 20_000,
        expect: Expect { fan_out: declared(recipe).map(|declared| declared.leader_wakes), ..Expect::default() },
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

fn declared(recipe: &str) -> Option<Declaration> {
    let (leader_wakes, follower_wakes, requests) = match recipe {
        "predecessor-watch" => (FanOut::One, FanOut::One, 2),
        "naive" => (FanOut::AllOthers, FanOut::None, 2),
        "lock-race" => (FanOut::AllOthers, FanOut::None, 4),
        "poll-race" => (FanOut::None, FanOut::None, 0),
        _ => return None,
    };
    Some(Declaration { leader_wakes, follower_wakes, requests_per_wake_max: Some(requests), watches_max: None })
}
