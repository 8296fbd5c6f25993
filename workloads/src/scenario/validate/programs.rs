//! External programs: their declarations, and the requirements of the cells that use them.

use super::add;
use crate::adapters::{ADAPTERS, Adapter};
use crate::faults::Moment;
use crate::recipes::{CandidateKind, LeadKind};
use crate::scenario::cell::Cell;
use crate::scenario::error::{Problem, nearest};
use crate::scenario::program::{ForeignSpec, says_where_to_write, unknown_placeholder, uses_placeholders};
use crate::scenario::schema::Scenario;
use hustings_record::SessionUse;

const NAME_MAX: usize = 60;

/// Whether entries of `[foreign]` are valid.
pub(super) fn check(scenario: &Scenario, found: &mut Vec<Problem>) {
    scenario.foreign.iter().for_each(|(name, spec)| entry(name, spec, found));
}

fn entry(name: &str, spec: &ForeignSpec, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("foreign.{name}{field}");
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.:".contains(c);
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) {
        let remedy = format!("use 1 to {NAME_MAX} of a-z, 0-9, -, _, . and :");
        add(found, &key(""), "is no name for a program", remedy);
    }
    match (&spec.adapter, spec.command.as_slice()) {
        (Some(_), [_, ..]) => add(found, &key(".command"), "stands beside an adapter", "leave one of them out"),
        (Some(adapter), []) => unknown(&key(".adapter"), "adapter", adapter, &shipped(), found),
        (None, []) => unknown(&key(""), "adapter", name, &shipped(), found),
        (None, [program, ..]) if program.trim().is_empty() => {
            add(found, &key(".command"), "names no program", "begin it with one, as in [\"python3\", \"mine.py\"]");
        }
        (None, [_, ..]) => {}
    }
    if let Some(what) = unknown_placeholder(&spec.command) {
        add(found, &key(".command"), what, "correct it; braces that are none keep off with a space, as in { print }");
    }
    if uses_placeholders(&spec.command) && !says_where_to_write(&spec.command) {
        let what = "tells the program its election, and not where to write";
        let remedy = "add {resource}, the URL to which it POSTs while it leads: a program that does not speak the protocol is judged \
                      by its writes";
        add(found, &key(".command"), what, remedy);
    }
    if let Some(lock) = &spec.lock {
        if spec.lead == Some(LeadKind::Queue) {
            let what = "names a lock, and the lead rests on a queue";
            add(found, &key(".lock"), what, "say lead = \"lock\", or leave it out");
        }
        if lock.is_empty() || lock.contains('/') {
            add(found, &key(".lock"), "is no name of a znode", "name a child of the group's znode, as in \"lock\"");
        }
    }
    if spec.leader_wakes.is_some() != spec.follower_wakes.is_some() {
        let what = "promises something of leaders or of followers alone";
        add(found, &key(".leader_wakes"), what, "say both leader_wakes and follower_wakes, or neither");
    }
    if spec.requests_per_wake_max.is_some() && spec.leader_wakes.is_none() {
        let what = "has no meaning without leader_wakes";
        add(found, &key(".requests_per_wake_max"), what, "say whom a loss wakes, too");
    }
    if let Some(watches) = spec.watches_max {
        match spec.declared().map(|declared| declared.watches_for_wake_ups()) {
            None => {
                add(found, &key(".watches_max"), "has no meaning without leader_wakes", "say whom a loss wakes, too");
            }
            Some(needed) if watches < needed => {
                let what = format!("is too small: for whom it says that a loss wakes, a candidate watches {needed}");
                add(found, &key(".watches_max"), &what, "make it larger, or leave it out");
            }
            Some(_) => {}
        }
    }
}

/// The names of the shipped adapters.
fn shipped() -> Vec<String> {
    ADAPTERS.iter().map(|adapter| adapter.name.to_owned()).collect()
}

/// Reports an unknown name.
fn unknown(key: &str, what: &str, name: &str, known: &[String], found: &mut Vec<Problem>) {
    if known.iter().any(|known| known == name) {
        return;
    }
    let hint = nearest(name, known).map(|nearest| format!("did you mean `{nearest}`? ")).unwrap_or_default();
    let remedy = format!("{hint}give a command, or one of {}", known.join(", "));
    add(found, key, format!("there is no {what} `{name}`"), remedy);
}

/// The requirements of a cell on its program.
pub(super) fn of_cell(scenario: &Scenario, cell: &Cell, found: &mut Vec<Problem>) {
    let CandidateKind::Foreign(name) = &cell.recipe else { return };
    let Some(program) = &cell.program else {
        if !scenario.foreign.contains_key(name) && Adapter::find(name).is_none() {
            let known: Vec<String> = scenario.foreign.keys().cloned().chain(shipped()).collect();
            unknown("election.recipe", "program", name, &known, found);
        }
        return;
    };
    if cell.candidates_per_group > u32::from(cell.hosts) {
        let what = format!("{} candidates a group on {} hosts", cell.candidates_per_group, cell.hosts);
        let remedy =
            format!("a program holds one candidate of a group: use {} hosts at least", cell.candidates_per_group);
        add(found, "election.candidates_per_group", what, remedy);
    }
    if cell.sessions == SessionUse::PerHost {
        let what = format!("`{}` opens its sessions itself", cell.recipe);
        add(found, "election.sessions", what, "leave it at \"per-candidate\"");
    }
    if !program.speaks() && cell.candidates() > u64::from(cell.hosts) {
        let what = format!("`{}` does not speak the protocol, and holds one candidate a host", cell.recipe);
        add(found, "election.groups", what, "use no more groups × candidates_per_group than hosts");
    }
    for (fault, spec) in cell.faults() {
        if spec.moment == Moment::Won {
            let what = format!("`{}` does not say when it has won", cell.recipe);
            add(found, &format!("faults.{fault}.moment"), what, "leave it out, or let a recipe stand");
        }
    }
}
