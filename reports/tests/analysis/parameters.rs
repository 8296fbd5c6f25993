//! The parameters of the cells of these tests.

use crate::*;

pub(crate) fn info(recipe: &str, groups: u32, hosts: u16, fault_kind: FaultKind) -> CellInfo {
    CellInfo {
        recipe: recipe.into(),
        declared: declared(recipe),
        fault: fault_kind.name().into(),
        fault_kind,
        groups: (0..groups).map(|g| format!("g{g}")).collect(),
        hosts: (0..hosts).map(|h| format!("h{h}")).collect(),
        candidates_per_group: u32::from(hosts),
        timeout_asked_ms: T,
        tick_ms: TICK,
        // Longer than the cell: a leader that writes once has written enough.
        work_interval_ms: 20_000,
        expect: Expect { fan_out: declared(recipe).map(|declared| declared.leader_wakes), ..Expect::default() },
        ..plain::info()
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
