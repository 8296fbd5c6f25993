//! Fits a scenario written for recipes to a program: leaves out the parts that no program supports, and lists them.

use super::axis::{Axis, Coordinates};
use super::expand::expand;
use super::schema::Scenario;
use crate::faults::Moment;

/// A program needs one process per host: no more than this many are started, unless the scenario requests them.
const HOSTS_MAX: u32 = 20;

/// Removes the parts of the cells that a program does not support. Returns a line for each, with the reason.
pub(super) fn fit(scenario: &mut Scenario) -> Vec<String> {
    let mut left_out = faults(scenario);
    left_out.extend(sizes(scenario));
    if scenario.matrices().all(is_sound) {
        let cells = expand(scenario);
        scenario.expect.retain(|entry| cells.iter().any(|cell| entry.when.may_cover(cell)));
    }
    left_out
}

fn is_sound(matrix: &Coordinates) -> bool {
    matrix.fault.as_ref().is_none_or(|faults| !faults.0.is_empty())
}

/// Faults that wait for a winner: a program does not report the moment of winning.
fn faults(scenario: &mut Scenario) -> Vec<String> {
    let waits = |name: &String| scenario.faults.get(name).is_some_and(|fault| fault.moment == Moment::Won);
    let with = |name: &String| scenario.faults.get(name).and_then(|fault| fault.with.as_ref()).is_some_and(waits);
    let untold: Vec<String> = scenario.faults.keys().filter(|name| waits(name) || with(name)).cloned().collect();
    let all: Vec<String> = scenario.faults.keys().filter(|name| !untold.contains(name)).cloned().collect();
    if untold.is_empty() || all.is_empty() {
        return Vec::new();
    }
    for matrix in scenario.matrices_mut() {
        match &mut matrix.fault {
            Some(faults) => faults.0.retain(|name| !untold.contains(name)),
            None => matrix.fault = Some(Axis(all.clone())),
        }
    }
    scenario.also.retain(is_sound);
    if !is_sound(&scenario.matrix) && !scenario.also.is_empty() {
        scenario.matrix = scenario.also.remove(0);
    }
    untold
        .iter()
        .map(|name| format!("fault {name}: it hits whoever has won, and a program does not say when it has"))
        .collect()
}

/// Groups with more candidates than hosts: a program holds one candidate of a group.
fn sizes(scenario: &mut Scenario) -> Vec<String> {
    let mut left_out = Vec::new();
    let least =
        scenario.matrices().filter_map(|matrix| matrix.candidates_per_group.as_ref()?.0.iter().min().copied()).max();
    let hosts = u32::from(scenario.election.hosts);
    let wanted = least.unwrap_or(scenario.election.candidates_per_group);
    if wanted > hosts && wanted <= HOSTS_MAX {
        scenario.election.hosts = u16::try_from(wanted).unwrap_or(u16::MAX);
    }
    let hosts = u32::from(scenario.election.hosts);
    for matrix in scenario.matrices_mut() {
        let most = matrix.hosts.as_ref().and_then(|axis| axis.0.iter().min().copied()).map_or(hosts, u32::from);
        let Some(sizes) = &mut matrix.candidates_per_group else { continue };
        if sizes.0.iter().all(|&size| size > most) {
            continue;
        }
        sizes.0.retain(|&size| {
            if size > most {
                left_out.push(format!(
                    "{size} candidates a group: a program holds one candidate of a group, and there are {most} hosts; \
                     --set election.hosts={size} starts so many"
                ));
            }
            size <= most
        });
    }
    left_out
}
