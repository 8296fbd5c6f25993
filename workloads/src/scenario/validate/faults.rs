//! Checks of single faults: duration, repetitions, target, and the parameters of a slow link.

use super::{HOUR_MS, add, within};
use crate::faults::{Fault, FaultDuration, LinkSlowdown, Moment};
use crate::scenario::error::Problem;
use crate::scenario::fault::{FaultSpec, Target, TargetKind};
use crate::scenario::raw_fault_spec;
use hustings_record::FaultKind;

/// At this rate no link on one machine is slowed any more; the limits of Toxiproxy's attributes are far higher.
const RATE_MAX_KB: u64 = 10_000_000;

/// A shorter step is within the error of reading a wall clock; a longer one, a year, is unrealistic.
pub(in crate::scenario) const STEP_MIN_MS: u64 = 2_000;
const STEP_MAX_MS: u64 = 31_536_000_000;

/// Whether a fault is valid as written, independent of the cell.
pub(super) fn check(name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    let kind = fault.kind();
    within(found, &key("repeat"), fault.repeat.into(), 1, 1_000);
    if let Some(every) = fault.every_ms {
        within(found, &key("every_ms"), every, 10, HOUR_MS);
    }
    for misplaced in &fault.misplaced {
        let takers: Vec<String> = raw_fault_spec::kinds_taking(misplaced).map(|kind| format!("\"{kind}\"")).collect();
        let remedy = match takers.as_slice() {
            [only] => format!("leave it out, or use kind = {only}"),
            _ => "leave it out".to_owned(),
        };
        add(found, &key(misplaced), format!("has no meaning for {kind}"), remedy);
    }
    if let Some(told) = fault.fault.told() {
        duration(name, kind, told, found);
    }
    if !kind.hits_servers() {
        target(name, fault, found);
    }
    if fault.moment == Moment::Won && !kind.takes_hosts_out() {
        let remedy = "leave it out, or use a kind that takes a host out: crash, pause or a partition";
        add(found, &key("moment"), format!("has no meaning for {kind}"), remedy);
    }
    if let Fault::Slow { how, .. } = &fault.fault {
        slow(name, how, found);
    }
    if let Fault::ClockStep { how, .. } = &fault.fault
        && !(STEP_MIN_MS..=STEP_MAX_MS).contains(&how.step_ms.unsigned_abs())
    {
        let what = format!("{} is out of bounds", how.step_ms);
        add(found, &key("step_ms"), what, format!("choose {STEP_MIN_MS} to {STEP_MAX_MS}, with or without a sign"));
    }
}

fn duration(name: &str, kind: FaultKind, told: &FaultDuration, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    if let Some(for_ms) = told.for_ms {
        within(found, &key("for_ms"), for_ms, 1, HOUR_MS);
    }
    if told.for_t.is_some_and(|for_t| !(for_t > 0.0 && for_t <= 100.0)) {
        add(found, &key("for_t"), "is out of bounds", "choose a number above 0, 100 at most");
    }
    if told.for_ms.is_some() && told.for_t.is_some() {
        add(found, &key("for_t"), "stands beside for_ms", "keep one of them");
    }
    if kind.needs_duration() && told.is_missing() {
        add(found, &key("for_ms"), format!("is missing: a {kind} lasts"), "say how long, with for_ms or for_t");
    }
}

fn slow(name: &str, how: &LinkSlowdown, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    within(found, &key("latency_ms"), how.latency_ms, 0, 60_000);
    within(found, &key("jitter_ms"), how.jitter_ms, 0, 60_000);
    if let Some(rate) = how.rate_kb {
        within(found, &key("rate_kb"), rate, 1, RATE_MAX_KB);
    }
    if how.is_nothing() {
        let remedy = "give latency_ms, jitter_ms or rate_kb, above 0";
        add(found, &key("latency_ms"), "is missing: nothing would be slow", remedy);
    }
}

fn target(name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    let by_groups = matches!(fault.target(), Target::Leaders { .. } | Target::Followers { .. });
    let by_hosts = matches!(fault.target(), Target::Host { .. } | Target::HostLeadingMost { .. });
    if fault.groups.is_some() && !by_groups {
        let remedy = "use it with target = \"leaders\" or \"followers\"";
        add(found, &key("groups"), "has no meaning for this target", remedy);
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
