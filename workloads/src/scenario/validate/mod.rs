//! Validation of a scenario: bounds on all costs, names that ZooKeeper accepts, and faults that can be injected.

mod cells;
mod faults;
mod general;
mod minority;
mod programs;
mod references;
mod servers;

use std::collections::BTreeSet;

use hustings_record::{Warning, WarningKind};

pub(super) use faults::STEP_MIN_MS;

use super::error::Problem;
use super::expand;
use super::rounds::check_rounds;
use super::schema::Scenario;

const HOUR_MS: u64 = 3_600_000;
const CELLS_MAX: usize = 1_000;

/// All problems of a scenario.
pub(super) fn problems(scenario: &Scenario) -> Vec<Problem> {
    let mut found = Vec::new();
    general::check(scenario, &mut found);
    programs::check(scenario, &mut found);
    for (name, fault) in &scenario.faults {
        faults::check(name, fault, &mut found);
        for count in expand::servers_under(scenario, name) {
            servers::check(count, name, fault, &mut found);
        }
    }
    references::check(scenario, &mut found);
    let cells = expand::count(scenario);
    if cells > CELLS_MAX {
        add(&mut found, "matrix", format!("makes {cells} cells"), format!("{CELLS_MAX} at most: vary less"));
    }
    // Cells are built only from values within their bounds.
    if found.is_empty() {
        let cells = scenario.cells();
        for cell in &cells {
            cells::check(scenario, cell, &mut found);
        }
        found.extend(check_rounds(&cells, scenario.repeat).err());
    }
    let mut seen = BTreeSet::new();
    found.retain(|problem| seen.insert(problem.to_string()));
    found
}

/// Settings that are allowed but probably not intended.
pub(super) fn warnings(scenario: &Scenario) -> Vec<Warning> {
    let cells = scenario.cells();
    let clamped = cells.iter().filter(|cell| cell.timeout_granted_ms() != cell.session_timeout_ms).map(|cell| {
        format!(
            "a session timeout of {} ms is not within 2 and 20 ticks of {} ms: the ensemble grants {} ms, and everything is measured by that",
            cell.session_timeout_ms,
            cell.tick_ms,
            cell.timeout_granted_ms()
        )
    });
    let clamped: BTreeSet<String> = clamped.collect();
    let idle =
        scenario.expect.iter().enumerate().filter(|(_, entry)| !cells.iter().any(|cell| entry.when.may_cover(cell)));
    let idle = idle.map(|(place, _)| format!("expect entry {} is about no cell", place + 1));
    let clamped = clamped.into_iter().map(|text| Warning::new(WarningKind::TimeoutNotGranted, text));
    clamped.chain(idle.map(|text| Warning::new(WarningKind::Scenario, text))).collect()
}

fn add(found: &mut Vec<Problem>, key: &str, what: impl Into<String>, remedy: impl Into<String>) {
    found.push(Problem { key: key.to_owned(), what: what.into(), remedy: remedy.into() });
}

fn within(found: &mut Vec<Problem>, key: &str, value: u64, least: u64, most: u64) {
    if value < least || value > most {
        add(found, key, format!("{value} is out of bounds"), format!("choose {least} to {most}"));
    }
}
