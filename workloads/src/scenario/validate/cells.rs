//! Checks of single cells that need the whole cell.

use super::{HOUR_MS, add, minority, programs, within};
use crate::faults::Fault;
use crate::recipes::RecipeKind;
use crate::scenario::cell::Cell;
use crate::scenario::error::Problem;
use crate::scenario::fault::FaultSpec;
use crate::scenario::plan;
use crate::scenario::schema::{Links, Scenario};
use hustings_record::FaultKind;
use hustings_record::FencingMethod;

const CANDIDATES_MAX: u64 = 1_000_000;

/// Whether a cell can run.
pub(super) fn check(scenario: &Scenario, cell: &Cell, found: &mut Vec<Problem>) {
    if cell.recipe.is_broken() && !scenario.allow_broken && !cell.self_test {
        let what = format!("`{}` is broken on purpose", cell.recipe);
        add(found, "election.recipe", what, "set allow_broken = true to run it all the same");
    }
    if cell.candidates() > CANDIDATES_MAX {
        let what = format!("{} candidates in all", cell.candidates());
        add(found, "election.candidates_per_group", what, format!("{CANDIDATES_MAX} at most"));
    }
    if cell.groups > 0 && cell.candidates() < cell.hosts.into() {
        let (hosts, candidates) = (cell.hosts, cell.candidates());
        let what = format!("{hosts} hosts for {candidates} candidates, and of a host without any nothing is seen");
        add(found, "election.hosts", what, format!("{candidates} at most, or more candidates"));
    }
    for (key, given, needed) in [
        ("election.group_names", scenario.election.group_names.len(), u64::from(cell.groups)),
        ("election.host_names", scenario.election.host_names.len(), u64::from(cell.hosts)),
    ] {
        if given > 0 && (given as u64) < needed {
            add(found, key, format!("{given} names for {needed}"), "give as many as there are, or none");
        }
    }
    if cell.witness && scenario.election.links == Links::Never {
        add(found, "election.links", "witness reads along on links", "use links = \"auto\"");
    }
    for (name, fault) in cell.faults() {
        if fault.kind().needs_links() && scenario.election.links == Links::Never {
            add(found, "election.links", format!("`{}` acts on links", fault.kind()), "use links = \"auto\"");
        }
        candidates(cell, name, fault, found);
    }
    if cell.expect.server_leader.is_some() && !cell.kinds().any(FaultKind::hits_servers) {
        let what = format!("nobody watches the servers under `{}`", cell.fault_name);
        add(found, "expect.server_leader", what, "say with when = { fault = … } which faults it is about");
    }
    for (place, entry) in scenario.expect.iter().enumerate().filter(|(_, entry)| entry.when.covers(cell)) {
        let key = format!("expect[{}].server_leader", place + 1);
        let leader = entry.server_leader.into_iter();
        leader.for_each(|leader| within(found, &key, leader.into(), 1, cell.servers.into()));
    }
    let one_host = cell.groups > 0 && cell.hosts < 2;
    if cell.fencing == FencingMethod::Kill && cell.recipe.own().is_some_and(RecipeKind::fences) && one_host {
        let remedy = "use 2 hosts at least, or fencing = \"resource\"";
        add(found, "election.fencing", "kill needs another host to kill", remedy);
    }
    programs::of_cell(scenario, cell, found);
    fan_out(scenario, cell, found);
    minority::check(cell, found);
    let measure = plan::plan(cell, 0).measure_ms;
    if measure > 24 * HOUR_MS {
        let (key, what) =
            (format!("faults.{}.repeat", cell.fault_name), format!("the faults take {} h", measure / HOUR_MS));
        add(found, &key, what, "24 h at most: repeat less");
    }
}

/// The recipe declares which others a loss wakes: a scenario may repeat that, but not contradict it.
fn fan_out(scenario: &Scenario, cell: &Cell, found: &mut Vec<Problem>) {
    let Some(declared) = cell.declares().map(|declared| declared.leader_wakes) else { return };
    for (place, entry) in scenario.expect.iter().enumerate().filter(|(_, entry)| entry.when.covers(cell)) {
        if let Some(expected) = entry.fan_out.filter(|expected| *expected != declared) {
            let key = format!("expect[{}].fan_out", place + 1);
            let what = format!("`{expected}` contradicts `{}`, which declares `{declared}`", cell.recipe);
            let remedy = "leave it out, since what the recipe declares is expected anyway, or say with \
                          when = { recipe = … } which recipes it is about";
            add(found, &key, what, remedy);
        }
    }
}

/// Faults on candidates need candidates, and data may be removed only where there are none.
fn candidates(cell: &Cell, name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let kind = fault.kind();
    if cell.groups == 0 && (kind.hits_candidates() || kind.hits_hosts()) {
        let what = format!("a {kind} hits candidates, and with 0 groups there are none");
        add(found, &format!("faults.{name}.kind"), what, "use a fault on servers, or election.groups = 1 at least");
    }
    let empties = matches!(&fault.fault, Fault::ServerRestartAll(restart) if restart.empty);
    if cell.groups > 0 && empties {
        let what = "would remove what the candidates stand on";
        add(found, &format!("faults.{name}.empty"), what, "leave it out, or use election.groups = 0");
    }
}
