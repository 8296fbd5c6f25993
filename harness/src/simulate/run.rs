//! Simulates every cell of a scenario into a record.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Context as _;
use hustings_record::numbers::to_u32;
use hustings_record::words::duration;
use hustings_record::{CellInfo, EnsembleKind, LinkUse, Machine, Manifest, RunState, SCHEMA, Warning, WarningKind};
use hustings_workloads::model::Bugs;
use hustings_workloads::scenario::{Cell, Scenario, rounds};
use hustings_workloads::schedule::Step;
use hustings_workloads::simulation::{Simulation, Timing, simulate};

use super::recorder::Recorder;
use crate::console::progress::Progress;
use crate::process::clock;
use crate::recording::archive::{Archive, ScenarioTexts};

/// The simulation's input and output.
pub struct SimulateOptions {
    pub scenario: Scenario,
    pub cells: Vec<Cell>,
    /// The original scenario, for the record.
    pub verbatim: String,
    pub seed: u64,
    pub timing: Timing,
    pub schedule: Option<Vec<Step>>,
    pub out: PathBuf,
    pub command: String,
}

/// Simulates all cells. Returns the number of events in the simulated world, and the number of recorded events.
///
/// # Errors
/// The record cannot be written. Then nothing of it is left.
pub fn run(options: &SimulateOptions, progress: &Progress) -> anyhow::Result<(u64, u64)> {
    let resolved = options.scenario.to_toml_with_seed(options.seed)?;
    let scenario = ScenarioTexts { verbatim: options.verbatim.clone(), resolved };
    let archive = Rc::new(RefCell::new(Archive::create(&options.out, manifest(options), &scenario, None)?));
    // A partial record could be mistaken for a complete one, and the same simulation can be repeated.
    every_cell(options, progress, &archive).inspect_err(|_| archive.borrow().discard())
}

fn every_cell(
    options: &SimulateOptions,
    progress: &Progress,
    archive: &Rc<RefCell<Archive>>,
) -> anyhow::Result<(u64, u64)> {
    let (mut happened, mut written) = (0, 0);
    for cell in rounds(&options.cells, options.scenario.repeat) {
        let (name, began) = (cell.name.clone(), clock::now());
        progress.now(&format!("{name}: simulating"));
        archive.borrow_mut().begin_cell(cell.index, &cell.name)?;
        let (of_cell, events) = one(options, cell, archive).with_context(|| format!("cell {name}"))?;
        archive.borrow_mut().end_cell(true)?;
        (happened, written) = (happened + of_cell, written + events);
        let took = duration(clock::now() - began);
        progress.cell_done(&format!("  {name}: simulated in {took}"));
    }
    archive.borrow_mut().update(|manifest| manifest.state = RunState::Completed)?;
    Ok((happened, written))
}

fn one(options: &SimulateOptions, cell: Cell, archive: &Rc<RefCell<Archive>>) -> anyhow::Result<(u64, u64)> {
    let files = archive.clone();
    let recorder = Rc::new(Recorder::to_files(info(&cell), move |writer| files.borrow_mut().add_segment(writer)));
    let schedule = options.schedule.clone();
    let simulation =
        Simulation { cell, seed: options.seed, timing: options.timing.clone(), bugs: Bugs::default(), schedule };
    let ran = simulate(&simulation, recorder.clone());
    anyhow::ensure!(ran.in_order, "the simulation did not come to its end");
    let events = recorder.events();
    let recorder = Rc::into_inner(recorder).context("the simulation has not ended")?;
    recorder.end(ran.end)?;
    Ok((ran.events, events))
}

/// The cell in the record's format. Every host has a link, without cost here, and all paths are equally short.
pub(super) fn info(cell: &Cell) -> CellInfo {
    Cell { equal_paths: false, ..cell.clone() }.info(LinkUse::Embedded, true)
}

/// The cells' numbers of servers, as "3" or "3 and 5".
fn servers(cells: &[Cell]) -> String {
    let counts: BTreeSet<u32> = cells.iter().map(|cell| cell.servers).collect();
    counts.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}

/// Independent of the machine and the date.
fn manifest(options: &SimulateOptions) -> Manifest {
    let scenario = &options.scenario;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Manifest {
        schema: SCHEMA,
        run: format!("simulated-{}-{}", scenario.name, options.seed),
        state: RunState::Running,
        scenario: scenario.name.clone(),
        summary: scenario.summary.clone(),
        analysis: scenario.analysis.clone(),
        seed: options.seed,
        started_utc: String::new(),
        ended_utc: None,
        folder: String::new(),
        command: options.command.clone(),
        ensemble_kind: EnsembleKind::Simulated,
        ensemble: format!("simulated: {} servers of the model, in virtual time", servers(&options.cells)),
        ensemble_version: format!("model of hustings {version}"),
        versions: BTreeMap::from([("hustings".to_owned(), version)]),
        machine: Machine { cpu: "simulated".to_owned(), ..Machine::default() },
        cells_planned: to_u32(options.cells.len()) * scenario.repeat,
        files: BTreeMap::new(),
        cells: Vec::new(),
        warnings: vec![Warning::new(
            WarningKind::Modelled,
            "simulated: no server, process or network of any machine took part; times follow from assumed service times",
        )],
    }
}

#[cfg(test)]
mod tests {
    use hustings_workloads::scenario::ShippedScenario;

    use super::*;

    #[test]
    fn a_record_whose_folder_was_removed_before_it_began_does_not_bring_it_back() {
        let root = tempfile::tempdir().unwrap();
        let shipped = ShippedScenario::find("quick").unwrap();
        let scenario = shipped.parse(&[]).unwrap();
        let options = SimulateOptions {
            cells: scenario.cells(),
            scenario,
            verbatim: shipped.text.to_owned(),
            seed: 1,
            timing: Timing::default(),
            schedule: None,
            out: root.path().join("removed"),
            command: String::new(),
        };
        assert!(run(&options, &Progress::new(1, "cells", false, true)).is_err());
        assert!(!options.out.exists());
    }
}
