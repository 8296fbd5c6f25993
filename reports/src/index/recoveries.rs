//! Recoveries: the targets of a fault whose end is not recorded did what they cannot do under it. By then it had ended.

use std::collections::BTreeMap;

use super::control_plane::{PlacedEvent, hosts_of_programs};
use super::fault::Fault;
use super::time::last_time;
use hustings_record::{CellRecord, Event, EvidenceSource, Nanos, ProcessFate, SegmentRecord};

/// The first recovery of each target, by the number of its host or server. A fault that is healed needs none. Without a
/// verification, what follows the order may have come before the effect.
pub(super) fn of(fault: &Fault<'_>, cell: &CellRecord, few: &[PlacedEvent<'_>]) -> BTreeMap<u32, Nanos> {
    let (Some(injected), None) = (&fault.injected, &fault.healed) else { return BTreeMap::new() };
    let facts = fault.kind.facts();
    let seen = if facts.process == ProcessFate::Stopped {
        ran(fault, cell, few)
    } else if facts.withholds_effect {
        wrote(fault, cell)
    } else if facts.leaves.is_some() {
        served(few)
    } else {
        Vec::new()
    };
    let mut first: BTreeMap<u32, Nanos> = BTreeMap::new();
    for (target, t) in seen.into_iter().filter(|(_, t)| *t > injected.to) {
        let earliest = first.entry(target).or_insert(t);
        *earliest = t.min(*earliest);
    }
    first
}

/// When the processes of its hosts stamped something themselves: an event of their own, or a write. The process beside
/// a program is not stopped: there only the program's writes and its own reports of its terms count.
fn ran(fault: &Fault<'_>, cell: &CellRecord, few: &[PlacedEvent<'_>]) -> Vec<(u32, Nanos)> {
    let programs = hosts_of_programs(few);
    let mut seen = Vec::new();
    for segment in &cell.segments {
        let own = segment.host.filter(|host| fault.hosts.contains(host));
        let is_program = own.is_some_and(|host| programs.contains(&host));
        let reports = is_program && reports_terms(segment);
        for event in &segment.events {
            if let Event::Write { sent: Some(sent), host, .. } = event
                && fault.hosts.contains(host)
            {
                seen.push((u32::from(*host), *sent));
            }
            if let (Some(host), Some(t)) = (own, last_time(event))
                && (!is_program || reports && is_of_term(event))
            {
                seen.push((u32::from(host), t));
            }
        }
    }
    seen
}

/// Whether the terms in this segment are those that its program reports, with its own stamps.
fn reports_terms(segment: &SegmentRecord) -> bool {
    let reports = |event: &Event| matches!(event, Event::Program(program) if program.belief == EvidenceSource::Report);
    segment.events.iter().any(reports)
}

fn is_of_term(event: &Event) -> bool {
    matches!(event, Event::Grant { .. } | Event::Granted { .. } | Event::Revoke { .. })
}

/// When the resource took writes of its hosts.
fn wrote(fault: &Fault<'_>, cell: &CellRecord) -> Vec<(u32, Nanos)> {
    let taken = cell.events().filter_map(|(_, event)| {
        let Event::Write { t, host, .. } = event else { return None };
        fault.hosts.contains(host).then_some((u32::from(*host), *t))
    });
    taken.collect()
}

/// When servers began to say that they serve.
fn served(few: &[PlacedEvent<'_>]) -> Vec<(u32, Nanos)> {
    let serving = few.iter().filter_map(|(_, event)| {
        let Event::ServerState { to, server, state, .. } = event else { return None };
        state.serves().then_some((*server, *to))
    });
    serving.collect()
}
