//! The events of a cell, compared with the cell's parameters. No run writes a record in which they exclude each
//! other.

use std::collections::BTreeSet;

use crate::cell::CellInfo;
use crate::ensemble::EnsembleKind;
use crate::event::Event;
use crate::fault::FaultKind;
use crate::words::plural;

/// Parameters with the kinds of a cell's faults: of its own, and of the one that hits with it.
const OWN_KIND: &str = "fault.kind";
const OTHER_KIND: &str = "with.kind";

/// The groups, hosts and candidates that an event names by number, from 0.
#[derive(Default)]
struct NamedNumbers<'a> {
    groups: &'a [u32],
    hosts: &'a [u16],
    cands: &'a [u32],
}

/// The first fact in the events of a cell that its parameters exclude, in words.
pub(crate) fn contradiction<'a>(
    info: &CellInfo,
    events: impl Iterator<Item = &'a Event> + Clone,
    ensemble: EnsembleKind,
) -> Option<String> {
    events.clone().find_map(|event| beyond(info, event)).or_else(|| other_fault(info, events, ensemble))
}

/// A number of an event that is beyond those of the cell.
fn beyond(info: &CellInfo, event: &Event) -> Option<String> {
    if let Event::Session { timeout_ms: 0, .. } = event {
        return Some("a session has a timeout of 0 ms".to_owned());
    }
    let NamedNumbers { groups, hosts, cands } = named(event);
    let named = [
        ("group", "groups", info.groups.len() as u64, groups.iter().copied().max()),
        ("host", "hosts", info.hosts.len() as u64, hosts.iter().copied().max().map(u32::from)),
        ("candidate", "candidates", info.candidates(), cands.iter().copied().max()),
    ];
    named.into_iter().find_map(|(one, many, count, highest)| {
        let highest = highest.filter(|highest| u64::from(*highest) >= count)?;
        Some(format!("it has {}, and an event names {one} {highest}, counted from 0", plural(count, one, many)))
    })
}

/// Faults that are not the cell's, by its plan and its orders.
fn other_fault<'a>(info: &CellInfo, events: impl Iterator<Item = &'a Event>, ensemble: EnsembleKind) -> Option<String> {
    let own = info.fault_kind;
    let parameter = |name: &str| info.parameters.get(name).map(String::as_str);
    if let Some(other) = parameter(OWN_KIND).filter(|kind| *kind != own.name()) {
        return Some(format!("its fault is {own}, and by its parameters {other}"));
    }
    let (mut kinds, mut planned) = (BTreeSet::<FaultKind>::new(), false);
    for event in events {
        if let Event::FaultPlan { faults, .. } = event {
            kinds.extend(faults.iter().map(|fault| fault.kind));
            planned = true;
        } else if let Event::Fault(order) = event {
            kinds.insert(order.kind);
            planned |= order.planned.is_some();
        }
    }
    // A simulation may follow a schedule instead of a plan. Its faults are of any kind, and the cell's own is not among them.
    if kinds.is_empty() || !planned && ensemble == EnsembleKind::Simulated {
        return None;
    }
    if !kinds.contains(&own) {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        return Some(format!("its fault is {own}, and its events record {}", kinds.join(", ")));
    }
    // Without parameters, it is not recorded which other fault hits with the cell's own.
    let is_of_cell = |kind: FaultKind| kind == own || parameter(OTHER_KIND) == Some(kind.name());
    let other = kinds.iter().copied().find(|kind| !info.parameters.is_empty() && !is_of_cell(*kind))?;
    let with = parameter(OTHER_KIND).map_or_else(String::new, |with| format!(" with {with}"));
    Some(format!("its fault is {own}{with}, and its events record {other} too"))
}

/// The numbers that an event names. All are given by the coordinator.
fn named(event: &Event) -> NamedNumbers<'_> {
    use std::slice::from_ref;
    let nothing = NamedNumbers::default();
    match event {
        Event::Segment { host, .. } => NamedNumbers { hosts: host.as_slice(), ..nothing },
        Event::HostStarted { host, .. } | Event::HostEnded { host, .. } | Event::HostMemory { host, .. } => {
            NamedNumbers { hosts: from_ref(host), ..nothing }
        }
        Event::Candidate { cand, group, .. } => {
            NamedNumbers { groups: from_ref(group), cands: from_ref(cand), ..nothing }
        }
        Event::Incarnation { cand, .. }
        | Event::Joined { cand, .. }
        | Event::Created { cand, .. }
        | Event::Grant { cand, .. }
        | Event::Granted { cand, .. }
        | Event::Revoke { cand, .. }
        | Event::Notified { cand, .. }
        | Event::Settled { cand, .. }
        | Event::Left { cand, .. } => NamedNumbers { cands: from_ref(cand), ..nothing },
        Event::Fault(order) => NamedNumbers { groups: &order.groups, hosts: &order.hosts, cands: &order.cands },
        Event::Write { group, cand, host, .. } => {
            NamedNumbers { groups: from_ref(group), hosts: from_ref(host), cands: from_ref(cand) }
        }
        Event::Owner(owner) => NamedNumbers { groups: from_ref(&owner.group), ..nothing },
        Event::ObserverMissed { group, .. } => NamedNumbers { groups: group.as_slice(), ..nothing },
        // Notes and broken rules have the numbers that a program tells, and a refused fence has those of nobody.
        Event::Note { .. } | Event::Misbehaved { .. } | Event::Fence { .. } => nothing,
        Event::Stall { .. }
        | Event::Outage { .. }
        | Event::End { .. }
        | Event::Session { .. }
        | Event::State { .. }
        | Event::Program(_)
        | Event::Severed { .. }
        | Event::Unwitnessed { .. }
        | Event::Cell { .. }
        | Event::Phase { .. }
        | Event::FaultPlan { .. }
        | Event::FaultWithheld { .. }
        | Event::Verification(_)
        | Event::Servers { .. }
        | Event::ServerLoad { .. }
        | Event::Holdings { .. }
        | Event::ServerWatch { .. }
        | Event::ServerState { .. }
        | Event::ServerWatched { .. }
        | Event::ServerLooks { .. }
        | Event::LogClock { .. }
        | Event::WriteProbe { .. }
        | Event::WriteGap { .. }
        | Event::WritesAcknowledged { .. }
        | Event::WriteProbed { .. }
        | Event::ServerLog { .. }
        | Event::Floor { .. }
        | Event::FloorFailed { .. }
        | Event::ObserverState { .. }
        | Event::ObserverWeight(_)
        | Event::ObserverCount { .. } => nothing,
    }
}
