//! The events of a cell, compared with the cell's parameters and with each other. No run writes a record in which they
//! exclude each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::cell::CellInfo;
use crate::ensemble::EnsembleKind;
use crate::event::Event;
use crate::fault::{FaultKind, ProcessFate, VerificationStage};
use crate::named_numbers::{NamedNumbers, named};
use crate::placement::{SegmentEvents, misplaced};
use crate::verification::FaultOrder;
use crate::words::plural;

/// Parameters with the kinds of a cell's faults: of its own, and of the one that hits with it.
const OWN_KIND: &str = "fault.kind";
const OTHER_KIND: &str = "with.kind";

/// The first fact in the events of a cell that its parameters or other events exclude, in words.
pub(crate) fn contradiction(info: &CellInfo, segments: &[SegmentEvents<'_>], ensemble: EnsembleKind) -> Option<String> {
    let events = segments.iter().flat_map(|(_, events)| *events);
    let first = events.clone().find_map(|event| beyond(info, event));
    let first = first.or_else(|| segments.iter().find_map(|segment| out_of_place(info, segment)));
    let first = first.or_else(|| other_fault(info, events.clone(), ensemble));
    let first = first.or_else(|| unplanned(events.clone()));
    let first = first.or_else(|| ordered_twice(events.clone()));
    first.or_else(|| unended(events)).or_else(|| misplaced(info, segments))
}

/// A number of an event that is beyond those of the cell.
fn beyond(info: &CellInfo, event: &Event) -> Option<String> {
    if let Event::Session { timeout_ms: 0, .. } = event {
        return Some("a session has a timeout of 0 ms".to_owned());
    }
    let NamedNumbers { groups, hosts, cands, servers } = named(event);
    let named = [
        ("group", "groups", info.groups.len() as u64, groups.iter().copied().max()),
        ("host", "hosts", info.hosts.len() as u64, hosts.iter().copied().max().map(u32::from)),
        ("candidate", "candidates", info.candidates(), cands.iter().copied().max()),
    ];
    let first = named.into_iter().find_map(|(one, many, count, highest)| {
        let highest = highest.filter(|highest| u64::from(*highest) >= count)?;
        Some(format!("it has {}, and an event names {one} {highest}, counted from 0", plural(count, one, many)))
    });
    first.or_else(|| {
        let other = servers.into_iter().find(|server| !(1..=info.servers).contains(server))?;
        let count = plural(info.servers.into(), "server", "servers");
        Some(format!("it has {count}, and an event names server {other}, counted from 1"))
    })
}

/// An event at a place in its segment where no writer of any version writes it. Times are no measure of that: some
/// events are written long after what they tell. Earlier versions wrote a few events behind the end of a segment.
fn out_of_place(info: &CellInfo, (host, events): &SegmentEvents<'_>) -> Option<String> {
    let (mut ended, mut acted) = (false, BTreeSet::<u32>::new());
    for (place, event) in events.iter().enumerate() {
        if place > 0 && matches!(event, Event::Segment { .. }) {
            return Some("one of its segments begins twice".to_owned());
        }
        if let Event::Cell { info: told, .. } = event
            && (place != 1 || **told != *info)
        {
            return Some("its parameters are recorded twice, or not at the beginning".to_owned());
        }
        if ended && begins(event) {
            return Some("one of its segments goes on behind its end".to_owned());
        }
        ended |= matches!(event, Event::End { .. });
        if host.is_none() {
            continue;
        }
        // A host states its candidates before it lets any of them do anything.
        if let Event::Candidate { cand, .. } = event {
            if acted.contains(cand) {
                return Some(format!("candidate {cand} acts before its host has it"));
            }
        } else {
            acted.extend(named(event).cands);
        }
    }
    None
}

/// Whether a host or a part of a cell begins here: a writer that has ended writes no such event.
fn begins(event: &Event) -> bool {
    matches!(event, Event::Candidate { .. } | Event::Phase { .. } | Event::FaultPlan { .. })
}

/// A fault that was ordered or withheld as planned, and is not in the cell's plan.
fn unplanned<'a>(mut events: impl Iterator<Item = &'a Event> + Clone) -> Option<String> {
    let plans = events
        .clone()
        .filter_map(|event| if let Event::FaultPlan { faults, .. } = event { Some(faults) } else { None });
    let plan: BTreeMap<u32, FaultKind> = plans.flatten().map(|fault| (fault.id, fault.kind)).collect();
    events.find_map(|event| {
        let (id, ordered) = if let Event::Fault(order) = event {
            (order.planned?, Some(order.kind))
        } else if let Event::FaultWithheld { planned, .. } = event {
            (*planned, None)
        } else {
            return None;
        };
        let Some(own) = plan.get(&id) else {
            return Some(format!("an event names fault {id} of a plan, and no plan has it"));
        };
        let other = ordered.filter(|kind| kind != own)?;
        Some(format!("fault {id} of its plan is {}, and {} was ordered", own.noun(), other.noun()))
    })
}

/// A number that two orders bear: what is verified by that number, and what follows of it, would belong to either.
fn ordered_twice<'a>(mut events: impl Iterator<Item = &'a Event>) -> Option<String> {
    let mut orders = BTreeSet::<u32>::new();
    events.find_map(|event| {
        let Event::Fault(order) = event else { return None };
        (!orders.insert(order.id)).then(|| format!("two orders are fault {}", order.id))
    })
}

/// A fault whose verification says that processes ended, where no end of one of them is recorded.
fn unended<'a>(mut events: impl Iterator<Item = &'a Event> + Clone) -> Option<String> {
    let (mut ended, mut orders) = (BTreeSet::<u16>::new(), BTreeMap::<u32, &FaultOrder>::new());
    for event in events.clone() {
        if let Event::HostEnded { host, .. } = event {
            ended.insert(*host);
        } else if let Event::Fault(order) = event
            && order.kind.facts().process == ProcessFate::Ended
        {
            orders.insert(order.id, order);
        }
    }
    events.find_map(|event| {
        let Event::Verification(told) = event else { return None };
        let order = orders.get(&told.id).filter(|_| told.verified && told.stage == VerificationStage::Injected)?;
        let host = order.hosts.iter().find(|host| !ended.contains(host))?;
        let (id, kind) = (order.id, order.kind.noun());
        Some(format!("fault {id}, {kind}, is verified, and no end of the process of host {host} is recorded"))
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
