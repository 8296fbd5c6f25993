//! Cells one by one: what only the whole of a cell can tell.

use super::{HOUR_MS, add, minority};
use crate::plan;
use crate::recipes::RecipeKind;
use crate::scenario::cell::Cell;
use crate::scenario::error::Problem;
use crate::scenario::fault::{FaultKind, FaultSpec};
use crate::scenario::schema::{FencingMethod, Links, Scenario};

const CANDIDATES_MAX: u64 = 1_000_000;

/// Whether a cell can be run.
pub(super) fn check(scenario: &Scenario, cell: &Cell, found: &mut Vec<Problem>) {
    if cell.recipe.is_broken() && !scenario.allow_broken && !cell.mutant {
        let what = format!("`{}` is broken on purpose", cell.recipe);
        add(found, "election.recipe", what, "set allow_broken = true to run it all the same");
    }
    if cell.candidates() > CANDIDATES_MAX {
        let what = format!("{} candidates in all", cell.candidates());
        add(found, "election.candidates_per_group", what, format!("{CANDIDATES_MAX} at most"));
    }
    for (key, given, needed) in [
        ("election.group_names", scenario.election.group_names.len(), u64::from(cell.groups)),
        ("election.host_names", scenario.election.host_names.len(), u64::from(cell.hosts)),
    ] {
        if given > 0 && (given as u64) < needed {
            add(found, key, format!("{given} names for {needed}"), "give as many as there are, or none");
        }
    }
    for (name, fault) in cell.faults() {
        if fault.kind.needs_links() && scenario.election.links == Links::Never {
            add(found, "election.links", format!("`{}` acts on links", fault.kind), "use links = \"auto\"");
        }
        candidates(cell, name, fault, found);
    }
    if cell.expect.server_leader.is_some() && !cell.kinds().any(FaultKind::hits_servers) {
        let what = format!("nobody watches the servers under `{}`", cell.fault_name);
        add(found, "expect.server_leader", what, "say with when = { fault = … } which faults it is about");
    }
    let one_host = cell.groups > 0 && cell.hosts < 2;
    if cell.fencing == FencingMethod::Kill && cell.recipe == RecipeKind::LockRace && one_host {
        add(
            found,
            "election.fencing",
            "kill needs another host to kill",
            "use 2 hosts at least, or fencing = \"resource\"",
        );
    }
    minority::check(cell, found);
    let measure = plan::plan(cell, 0).measure_ms;
    if measure > 24 * HOUR_MS {
        add(
            found,
            &format!("faults.{}.repeat", cell.fault_name),
            format!("the faults take {} h", measure / HOUR_MS),
            "24 h at most: repeat less",
        );
    }
}

/// Faults on candidates need some, and data is removed only where there are none.
fn candidates(cell: &Cell, name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let servers_alone = fault.kind == FaultKind::None || fault.kind.hits_servers();
    if cell.groups == 0 && !servers_alone {
        let what = format!("a {} hits candidates, and with 0 groups there are none", fault.kind);
        add(found, &format!("faults.{name}.kind"), what, "use a fault on servers, or election.groups = 1 at least");
    }
    if cell.groups > 0 && fault.empty {
        let what = "would remove what the candidates stand on";
        add(found, &format!("faults.{name}.empty"), what, "leave it out, or use election.groups = 0");
    }
}
