//! `hustings simulate`: runs a scenario in virtual time, or searches for a schedule that breaks it.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use hustings_record::words::{as_typed, duration, plural};
use hustings_workloads::model::Bugs;
use hustings_workloads::recipes::cases;
use hustings_workloads::scenario::{Cell, Scenario, meant};
use hustings_workloads::simulation::{Simulation, Timing, chaos};

use crate::cmd::files::read_toml;
use crate::cmd::report::{self, ReportOutput};
use crate::cmd::run::{chosen as chosen_cells, repeated, seed, text, times};
use crate::cmd::search::{self, SearchOptions, list};
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{is_screen, say};
use crate::console::progress::Progress;
use crate::process::clock;
use crate::process::interrupt;
use crate::recording::folder::RecordFolder;
use crate::simulate::{SimulateOptions, hunt, own_cell, run as simulate};

/// Default seed of simulations.
const DEFAULT_SEED: u64 = 1;

/// Simulate a scenario in virtual time, or search schedules for one that breaks it.
///
/// The recipes, the checkers and the report are those of `run`; servers, network and clock are a model. The same scenario and
/// seed give the same record, byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings simulate quick                          the quick scenario in virtual time
  hustings simulate herd --timing times.toml       with service times of your own
  hustings simulate quick --seeds 0..10000         random faults, delays and losses instead of the scenario's, seed by seed
  hustings simulate quick --seeds 0..100000 --set election.recipe=broken:no-relist
                                                   until one fails a check; prints the least schedule that does
  hustings simulate quick --schedule 4711 --steps 0,3
                                                   one of those schedules again, to a record and a report
  hustings simulate --known no-guid                a bug of Curator's, on the schedule that shows it
  hustings simulate --known --seeds 0..10000       every known bug, on its own schedule and on random ones until one shows it"))]
pub(super) struct SimulateArgs {
    /// Name of a scenario (see `hustings list`) or path of a TOML file
    #[arg(default_value = "quick", conflicts_with = "known")]
    scenario: String,
    /// Change a parameter, as `election.groups=50`; may be given many times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Simulate only the cells of this name; `*` stands for anything, as in `*-crash`; may be given many times
    #[arg(long, value_name = "CELL", conflicts_with_all = ["seeds", "schedule", "known"])]
    only: Vec<String>,
    /// Simulate each cell N times, in N rounds over all of them; the report pools what they show [default: the scenario's, at
    /// most 1000]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = times,
        conflicts_with_all = ["seeds", "schedule", "known"]
    )]
    repeat: Option<u32>,
    /// Seed of every random choice [default: the scenario's]
    #[arg(long, allow_negative_numbers = true, value_parser = seed, conflicts_with_all = ["seeds", "schedule"])]
    seed: Option<u64>,
    /// Try the random schedules of these seeds instead of the scenario's faults, on one group for each of its recipes, policies
    /// and timeouts
    ///
    /// Varied by seed: one to seven candidates, three or five servers; faults on candidates, their hosts and the servers, by time,
    /// by request and by term; lost and late messages; lagging servers; sequence numbers; service times. Any failure of a checker
    /// counts. Explained, and only counted: what a leader does until T/5 after its process was woken, and until its client can
    /// have been notified that its session was ended by force; handovers without a fault on the leader while servers are hit
    #[arg(long, value_name = "A..B", value_parser = range)]
    seeds: Option<std::ops::Range<u64>>,
    /// Go on after the first seed that shows something
    #[arg(long, requires = "seeds", conflicts_with_all = ["known", "schedule"])]
    all: bool,
    /// No scenario: every known bug of elections, or the one of this name, on the schedule that must show it, and with --seeds on
    /// random ones until it shows what its sound counterpart does not
    #[arg(
        long,
        value_name = "BUG",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["set", "seed", "schedule", "cell", "steps", "timing", "out", "json"]
    )]
    known: Option<String>,
    /// Run the random schedule of this seed, to a record
    #[arg(long, value_name = "SEED", allow_negative_numbers = true, value_parser = seed, conflicts_with = "seeds")]
    schedule: Option<u64>,
    /// Only these steps of the schedule, by number
    #[arg(
        long,
        value_name = "N,N…",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = step,
        requires = "schedule"
    )]
    steps: Option<Vec<usize>>,
    /// Name of the cell that the schedule is for, where the scenario has several
    #[arg(long, value_name = "NAME", requires = "schedule")]
    cell: Option<String>,
    /// Service times, as TOML [default: about those of three servers on one machine]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "schedule"])]
    timing: Option<PathBuf>,
    /// Folder for the record [default: runs/<time>-<scenario>]
    #[arg(long, value_name = "DIR", conflicts_with = "seeds")]
    out: Option<PathBuf>,
    /// Print the summary, or what a search came to, as JSON on standard output
    #[arg(long)]
    json: bool,
    /// No progress, only the result
    #[arg(long, short)]
    quiet: bool,
}

/// Parses the number of one step.
fn step(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "whole numbers from 0 with a comma between them, as in `--steps 0,3`".to_owned())
}

fn range(text: &str) -> Result<std::ops::Range<u64>, String> {
    let parsed = text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    let (from, to) = parsed.ok_or("seeds are given as `0..1000`")?;
    if from < to { Ok(from..to) } else { Err(format!("there is no seed in {text}: the end is left out")) }
}

/// Simulates the scenario. Returns the exit code of the verdict.
pub(super) fn run(args: &SimulateArgs) -> Result<Exit, Failure> {
    if let Some(name) = &args.known {
        return known_bugs(args, name);
    }
    let verbatim = text(&args.scenario)?;
    let scenario = Scenario::parse(&verbatim, &args.scenario, &args.set).map_err(Failure::usage)?;
    let scenario = repeated(scenario, args.repeat).map_err(Failure::usage)?;
    match &args.seeds {
        Some(seeds) => {
            can_be_simulated(&scenario.cells(), "give a scenario without it")?;
            let SimulateArgs { scenario: given, set, all, json, quiet, .. } = args;
            let asked = SearchOptions { scenario: given, sets: set, all: *all, json: *json, quiet: *quiet };
            search::run(&asked, &scenario, seeds.clone())
        }
        None => one_record(args, scenario, verbatim),
    }
}

/// Foreign programs cannot run in virtual time, and no bytes pass there that could be decoded.
fn can_be_simulated(cells: &[Cell], instead: &str) -> Result<(), Failure> {
    if let Some(cell) = cells.iter().find(|cell| cell.recipe.foreign().is_some()) {
        return Err(Failure::usage(anyhow!(
            "cell {}: {} is a program, which no simulation can run; {instead}, or use `hustings run`",
            cell.name,
            cell.recipe
        )));
    }
    if let Some(cell) = cells.iter().find(|cell| cell.witness) {
        return Err(Failure::usage(anyhow!(
            "cell {}: election.witness decodes the traffic of links, and a simulation has none; add --set \
             election.witness=false, or use `hustings run`",
            cell.name
        )));
    }
    Ok(())
}

/// The service times in this file, else the assumed ones.
pub(super) fn timing(path: Option<&Path>) -> Result<Timing, Failure> {
    let Some(path) = path else { return Ok(Timing::default()) };
    let timing: Timing = read_toml(path)?;
    timing.check().map_err(|why| Failure::usage(anyhow!("{}: {why}", path.display())))?;
    Ok(timing)
}

fn one_record(args: &SimulateArgs, mut scenario: Scenario, verbatim: String) -> Result<Exit, Failure> {
    let mut timing = timing(args.timing.as_deref())?;
    let mut seed = args.seed.or(scenario.seed).unwrap_or(DEFAULT_SEED);
    let mut replayed = None;
    if let Some(schedule) = args.schedule {
        let cell = chosen(&scenario, args.cell.as_deref())?;
        can_be_simulated(std::slice::from_ref(&cell), "choose another cell with --cell")?;
        let simulation = replayed_schedule(&own_cell(cell), schedule, args.steps.as_deref())?;
        seed = schedule;
        timing = simulation.timing;
        replayed = Some((simulation.cell, simulation.schedule));
        scenario.repeat = 1;
    }
    scenario.seed = Some(seed);
    let (cells, schedule) = match replayed {
        Some((cell, schedule)) => (vec![cell], schedule),
        None => (chosen_cells(&scenario, &args.only).map_err(Failure::usage)?, None),
    };
    can_be_simulated(&cells, "leave it out with --only")?;
    // A partial record could be mistaken for a complete one.
    let make = || RecordFolder::new(args.out.as_deref(), &scenario.name);
    let folder = interrupt::removed_at_request(make, RecordFolder::removal).map_err(Failure::output)?;
    let out = folder.path().to_owned();
    let progress = Progress::new(cells.len() as u64 * u64::from(scenario.repeat), "cells", is_screen(), args.quiet);
    let command = replay(args, seed);
    let out_of = out.clone();
    let options = SimulateOptions { scenario, cells, verbatim, seed, timing, schedule, out: out_of, command };
    let began = clock::now();
    let (happened, written) = simulate(&options, &progress).map_err(Failure::infrastructure)?;
    let took = clock::now() - began;
    progress.line(&format!(
        "simulated {happened} events in {} ({} each) to {written} events of the record",
        duration(took),
        duration(took / happened.max(1))
    ));
    progress.finish();
    let summary = report::make(&out, &ReportOutput { json: args.json, quiet: args.quiet })?;
    Ok(summary.verdict.into())
}

/// The random schedule of this seed, or some of its steps.
fn replayed_schedule(cell: &Cell, seed: u64, steps: Option<&[usize]>) -> Result<Simulation, Failure> {
    let whole = chaos(cell, Bugs::default(), seed, None);
    let count = whole.schedule.as_ref().map_or(0, Vec::len);
    match steps.into_iter().flatten().find(|step| **step >= count) {
        Some(step) => {
            Err(Failure::usage(anyhow!("--steps {step}: the schedule of seed {seed} has {count} steps, from 0")))
        }
        None => Ok(chaos(cell, Bugs::default(), seed, steps)),
    }
}

/// The command that produces the same record.
fn replay(args: &SimulateArgs, seed: u64) -> String {
    let mut words = vec!["hustings simulate".to_owned(), args.scenario.clone()];
    words.extend(args.set.iter().map(|set| format!("--set '{set}'")));
    words.extend(args.only.iter().map(|only| format!("--only '{only}'")));
    words.extend(args.repeat.map(|repeat| format!("--repeat {repeat}")));
    match (args.schedule, &args.steps) {
        (None, _) => words.push(format!("--seed {seed}")),
        (Some(schedule), None) => words.push(format!("--schedule {schedule}")),
        (Some(schedule), Some(steps)) => words.push(format!("--schedule {schedule} --steps {}", list(steps))),
    }
    words.extend(args.cell.iter().map(|cell| format!("--cell {cell}")));
    words.join(" ")
}

fn chosen(scenario: &Scenario, name: Option<&str>) -> Result<Cell, Failure> {
    let cells = scenario.cells();
    let found = match name {
        None => cells.first(),
        Some(name) => cells.iter().find(|cell| cell.name == name),
    };
    let known = || cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>().join(", ");
    found.cloned().ok_or_else(|| {
        Failure::usage(anyhow!("there is no cell {}; there are {}", name.map_or("at all", as_typed), known()))
    })
}

/// Checks whether every known bug, or the one of this name, is caught. Exit code 1 if not.
fn known_bugs(args: &SimulateArgs, name: &str) -> Result<Exit, Failure> {
    let all = cases();
    let chosen: Vec<_> = all.iter().filter(|case| name.is_empty() || case.name == name).collect();
    if chosen.is_empty() {
        let known: Vec<String> = all.iter().map(|case| case.name.to_owned()).collect();
        let meant = meant(name, &known);
        return Err(Failure::usage(anyhow!("no known bug is called {name:?}{meant} (there are {})", known.join(", "))));
    }
    let (mut missed, began) = (0, clock::now());
    for &case in &chosen {
        let began = clock::now();
        let hunted = hunt(case, args.seeds.clone()).map_err(Failure::infrastructure)?;
        missed += u32::from(!hunted.is_caught());
        say(format_args!("{:<28} {hunted}; {}", case.name, duration(clock::now() - began)))?;
    }
    say(format_args!(
        "{}, {missed} not caught; {}",
        plural(chosen.len() as u64, "known bug", "known bugs"),
        duration(clock::now() - began)
    ))?;
    Ok(if missed == 0 { Exit::Pass } else { Exit::Fail })
}
