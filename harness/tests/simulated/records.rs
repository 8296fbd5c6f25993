//! Records of simulated cells, to be altered and judged again.

use std::rc::Rc;

use hustings::simulate::Recorder;
use hustings_record::{CellRecord, LinkUse};
use hustings_workloads::scenario::{Cell, ShippedScenario};
use hustings_workloads::simulation::{Simulation, simulate};

/// The cells of a shipped scenario with these parameters.
pub(crate) fn cells(shipped: &str, sets: &[&str]) -> Vec<Cell> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    ShippedScenario::find(shipped).expect("it ships").parse(&sets).unwrap_or_else(|error| panic!("{error}")).cells()
}

/// The record of the cell.
pub(crate) fn record(cell: &Cell, seed: u64) -> CellRecord {
    let info = Cell { equal_paths: false, ..cell.clone() }.info(LinkUse::Embedded, true);
    let recorder = Rc::new(Recorder::in_memory(info));
    let ran = simulate(&Simulation::of(cell.clone(), seed), recorder.clone());
    assert!(ran.in_order, "{}", cell.name);
    let recorder = Rc::into_inner(recorder).expect("the simulation has ended");
    recorder.end(ran.end).expect("it can be kept").expect("it is in memory")
}
