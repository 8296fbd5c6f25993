//! A cell in the words of the record.

use std::collections::BTreeMap;

use hustings_reports::record::{CellInfo, Expect, Expectation, Fencing, LinkUse, SessionUse};
use hustings_workloads::scenario::{self, Cell};

use crate::coordinator::schedule::recorded;
use crate::links::Links;

/// The resolved parameters of a cell as the record keeps them.
pub(crate) fn cell(cell: &Cell, links: Option<&Links>) -> CellInfo {
    let mut extra = BTreeMap::new();
    extra.insert("fencing of the old active".to_owned(), cell.fencing.to_string());
    extra.insert("poll interval".to_owned(), format!("{} ms", cell.poll_interval_ms));
    for (name, ticks) in [("init_limit", cell.init_limit), ("sync_limit", cell.sync_limit)] {
        if let Some(ticks) = ticks {
            extra.insert(name.to_owned(), ticks.to_string());
        }
    }
    CellInfo {
        index: cell.index,
        name: cell.name.clone(),
        recipe: cell.recipe.to_string(),
        step_down: cell.step_down.to_string(),
        fault: cell.fault_name.clone(),
        fault_kind: recorded(cell.fault.kind),
        groups: cell.group_names.clone(),
        hosts: cell.host_names.clone(),
        candidates_per_group: cell.candidates_per_group,
        timeout_asked_ms: cell.session_timeout_ms,
        tick_ms: cell.tick_ms,
        servers: cell.servers,
        sessions: match cell.sessions {
            scenario::SessionUse::PerCandidate => SessionUse::PerCandidate,
            scenario::SessionUse::PerHost => SessionUse::PerHost,
        },
        links: match links {
            None => LinkUse::Direct,
            Some(links) if links.is_embedded() => LinkUse::Embedded,
            Some(_) => LinkUse::External,
        },
        fencing: match cell.resource {
            scenario::Resource::Fenced => Fencing::Fenced,
            scenario::Resource::Unfenced => Fencing::Unfenced,
        },
        work_interval_ms: cell.work_interval_ms,
        expect: expect(&cell.expect),
        mutant: cell.mutant,
        extra,
    }
}

fn expect(expect: &scenario::Expect) -> Expect {
    Expect {
        overlap: expectation(expect.overlap),
        overlap_of_t_max: expect.overlap_of_t_max,
        stale_writes: expectation(expect.stale_writes),
        unplanned: expectation(expect.unplanned),
        fan_out: expect.fan_out.map(|fan_out| fan_out.name().to_owned()),
        server_leader: expect.server_leader,
        because: expect.because.clone(),
    }
}

fn expectation(expectation: scenario::Expectation) -> Expectation {
    match expectation {
        scenario::Expectation::None => Expectation::None,
        scenario::Expectation::Some => Expectation::Some,
        scenario::Expectation::Any => Expectation::Any,
    }
}
