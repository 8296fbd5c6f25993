//! Faults one by one: how long, how often, whom, and what only a slow link has.

use super::{HOUR_MS, add, within};
use crate::scenario::error::Problem;
use crate::scenario::fault::{FaultKind, FaultSpec, Target, TargetKind};

/// Whether a fault can be done as it is written, whatever the cell.
pub(super) fn check(name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    let kind = fault.kind;
    within(found, &key("repeat"), fault.repeat.into(), 1, 1_000);
    if let Some(every) = fault.every_ms {
        within(found, &key("every_ms"), every, 10, HOUR_MS);
    }
    if let Some(for_ms) = fault.for_ms {
        within(found, &key("for_ms"), for_ms, 1, HOUR_MS);
    }
    if fault.for_t.is_some_and(|for_t| !(for_t > 0.0 && for_t <= 100.0)) {
        add(found, &key("for_t"), "is out of bounds", "choose a number above 0, 100 at most");
    }
    if fault.for_ms.is_some() && fault.for_t.is_some() {
        add(found, &key("for_t"), "stands beside for_ms", "keep one of them");
    }
    let told = fault.for_ms.is_some() || fault.for_t.is_some();
    if kind.needs_duration() && !told {
        add(found, &key("for_ms"), format!("is missing: a {kind} lasts"), "say how long, with for_ms or for_t");
    }
    if told && !kind.takes_duration() {
        add(found, &key("for_ms"), format!("has no meaning for {kind}"), "leave it out");
    }
    if !kind.hits_servers() {
        target(name, fault, found);
    }
    let slow = [
        ("latency_ms", fault.latency_ms.is_some()),
        ("jitter_ms", fault.jitter_ms.is_some()),
        ("rate_kb", fault.rate_kb.is_some()),
        ("direction", fault.direction.is_some()),
    ];
    for (field, given) in slow {
        if given && kind != FaultKind::Slow {
            add(found, &key(field), format!("has no meaning for {kind}"), "leave it out, or use kind = \"slow\"");
        }
    }
    for (field, value, least, most) in [
        ("latency_ms", fault.latency_ms, 0, 60_000),
        ("jitter_ms", fault.jitter_ms, 0, 60_000),
        ("rate_kb", fault.rate_kb, 1, 10_000_000),
    ] {
        if let Some(value) = value {
            within(found, &key(field), value, least, most);
        }
    }
    if kind == FaultKind::Slow && fault.latency_ms.is_none() && fault.rate_kb.is_none() && fault.jitter_ms.is_none() {
        add(found, &key("latency_ms"), "is missing: nothing would be slow", "give latency_ms, jitter_ms or rate_kb");
    }
}

fn target(name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    let by_groups = matches!(fault.target(), Target::Leaders { .. } | Target::Followers { .. });
    let by_hosts = matches!(fault.target(), Target::Host { .. } | Target::HostLeadingMost { .. });
    if fault.groups.is_some() && !by_groups {
        add(
            found,
            &key("groups"),
            "has no meaning for this target",
            "use it with target = \"leaders\" or \"followers\"",
        );
    }
    if fault.hosts.is_some() && !by_hosts {
        let remedy = "use it with target = \"host\" or \"host-leading-most\"";
        add(found, &key("hosts"), "has no meaning for this target", remedy);
    }
    match (fault.share, fault.target) {
        (None, Some(TargetKind::Share)) => {
            add(found, &key("share"), "is missing", "say how much of all, for example 0.5")
        }
        (Some(share), Some(TargetKind::Share)) if !(share > 0.0 && share <= 1.0) => {
            add(found, &key("share"), format!("{share} is out of bounds"), "choose a number above 0, 1 at most");
        }
        (Some(_), target) if target != Some(TargetKind::Share) => {
            add(found, &key("share"), "has no meaning for this target", "use it with target = \"share\"");
        }
        _ => {}
    }
    if fault.groups == Some(0) || fault.hosts == Some(0) {
        add(found, &key("target"), "hits nobody", "let it hit 1 at least");
    }
}
