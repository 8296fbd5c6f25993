//! One run: ensemble, links, then every cell in turn, and the record of it all.

use std::cell::{Cell as StdCell, RefCell};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_record::numbers::to_u32;
use hustings_record::words::duration;
use hustings_record::{
    BASE_BUILD, FaultKind, MANIFEST_FILE, Machine, Manifest, RunState, SCHEMA, Warning, WarningKind,
};
use hustings_workloads::scenario::{Cell, Rounds, Scenario, describe_further_rounds, in_turn};

use crate::client::secret::secret;
use crate::console::exit::{Exit, Failure};
use crate::console::progress::Progress;
use crate::coordinator::cell;
use crate::coordinator::environment::Environment;
use crate::coordinator::further::{FurtherRounds, RetrySelectors};
use crate::coordinator::hosts::HostFactory;
use crate::coordinator::interruption::CellInterruption;
use crate::coordinator::retry::retry_until_success;
use crate::coordinator::run_links::ToxiproxyLinks;
use crate::coordinator::selection::{CellSelection, ComparisonBase};
use crate::coordinator::{correction, ensemble_waits, liveness_monitor, pending_cleanup, run_links, warm};
use crate::ensemble::server_options::{ServerOptions, heap_mb_for};
use crate::ensemble::start::{EnsembleRequest, EnsembleRequirements, start};
use crate::ensemble::{Ensemble, external};
use crate::files::workdir::WorkDir;
use crate::foreign::adapters;
use crate::links::LinkError;
use crate::process::capacity::{Demand, SessionPlacement, check_capacity};
use crate::process::interrupt::Interrupt;
use crate::process::{clock, limits, machine, utc};
use crate::recording::archive::{Archive, ScenarioTexts};

/// What a run is told.
pub struct RunOptions {
    pub chosen: CellSelection,
    /// What its cells are compared with, in turn.
    pub against: Option<ComparisonBase>,
    pub seed: u64,
    /// The record's folder.
    pub out: PathBuf,
    /// What it is to run on, and why: completes the sentence "chosen because …".
    pub request: EnsembleRequest,
    pub why: String,
    pub interrupt: Interrupt,
    /// The embedded proxy accepts toxics and ignores them: to see whether the harness notices.
    pub lying_proxy: bool,
    /// This executable: what hosts and proxies are started from.
    pub exe: PathBuf,
    /// What says which cells of a record are to be run again.
    pub again: RetrySelectors,
    /// What was typed.
    pub command: String,
    /// Standard error is a terminal on which lines can be drawn over.
    pub screen: bool,
    pub quiet: bool,
}

/// How a run ended.
pub struct RunOutcome {
    pub folder: PathBuf,
    pub state: RunState,
    /// Why it was aborted.
    pub trouble: Option<String>,
}

/// Why a run came to no record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Capacity(#[from] crate::process::capacity::CapacityError),
    #[error(transparent)]
    Ensemble(#[from] crate::ensemble::EnsembleError),
    #[error(transparent)]
    Links(#[from] LinkError),
    #[error("interrupted before the first cell")]
    Interrupted,
    #[error(
        "stopped at once; the record in {} was not brought to its end (`hustings check` says what can be read of it)",
        .0.display()
    )]
    StoppedAtOnce(PathBuf),
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let exit = match error {
            RunError::Interrupted | RunError::StoppedAtOnce(_) => Exit::Interrupted,
            _ => Exit::Infrastructure,
        };
        Self { exit, error: error.into() }
    }
}

/// What a run is from its beginning on.
struct RunContext<'a> {
    options: &'a RunOptions,
    run_id: String,
    started: String,
    /// As it was before the run loaded it.
    machine: Machine,
    work: &'a WorkDir,
    /// Where the adapters are that ship; empty where no program of somebody else's stands.
    adapters: PathBuf,
    progress: &'a Progress,
    rounds: Rounds,
    /// Cells of all rounds.
    planned: u32,
    /// Servers of somebody else did not answer after an interruption, and znodes may be left there.
    given_up: StdCell<bool>,
}

/// Runs every cell of a scenario. What was started is stopped when this returns.
///
/// # Errors
/// When nothing could be recorded. A run that began to record ends in an [`RunOutcome`], whatever happened.
pub async fn run(options: &RunOptions) -> Result<RunOutcome, RunError> {
    let cells = options.chosen.all(options.against.as_ref(), Clone::clone)?;
    limits::raise_descriptor_limit().context("the descriptor limit cannot be raised")?;
    // A cell without candidates asks nothing of the machine.
    for cell in cells.iter().filter(|cell| cell.groups > 0) {
        check_capacity(demand(cell, &options.request))?;
    }
    let (started, machine) = (utc::now(), machine::describe());
    let run_id = run_id(&started)?;
    let work = WorkDir::create(&run_id).map_err(anyhow::Error::from)?;
    let adapters = prepared_adapters(&work, &cells).await?;
    let repeat = options.chosen.scenario.repeat;
    let planned = to_u32(cells.len()) * repeat;
    let at_most = options.chosen.scenario.rounds_max();
    let progress = Progress::new(planned.into(), "cells", options.screen, options.quiet);
    describe_further_rounds(&options.chosen.scenario, &cells, options.seed).iter().for_each(|line| progress.line(line));
    let run = RunContext {
        options,
        run_id,
        started,
        machine,
        work: &work,
        adapters,
        progress: &progress,
        rounds: Rounds::new(&cells, repeat, at_most),
        planned,
        given_up: StdCell::new(false),
    };
    let result = tokio::select! {
        result = on_ensembles(&run, &cells) => result,
        () = options.interrupt.second() => Err(stopped_at_once(options)),
    };
    let given_up = run.given_up.get();
    let pending = pending_cleanup::clean_up(work.path(), &run.run_id, &options.request.access(), given_up).await;
    progress.finish();
    if !pending.is_empty() {
        pending.iter().for_each(|pending| progress.line(&format!("warning: {pending}; `hustings clean` removes them")));
        work.leave();
    } else if let Err(error) = work.remove() {
        // What the run came to matters more.
        progress.line(&format!("warning: {error}; `hustings clean` removes it"));
    }
    result
}

/// Writes the adapters out, where any program of somebody else's stands, and has those built that do.
async fn prepared_adapters(work: &WorkDir, cells: &[Cell]) -> anyhow::Result<PathBuf> {
    if cells.iter().all(|cell| cell.program.is_none()) {
        return Ok(PathBuf::new());
    }
    let folder = adapters::write_out(work.path())?;
    adapters::build(&folder, cells.iter().filter_map(|cell| cell.program.as_ref())).await?;
    if cells.iter().any(|cell| cell.program.is_some() && cell.kinds().any(|kind| kind == FaultKind::ClockStep)) {
        adapters::build_plain_sleep(&folder).await?;
    }
    Ok(folder)
}

/// The record, from when the first cell could begin.
type Record = Option<Rc<RefCell<Archive>>>;

/// Runs the cells on one ensemble after the other: a cell with other servers, or another tick, than the one before has one of
/// its own.
async fn on_ensembles(run: &RunContext<'_>, cells: &[Cell]) -> Result<RunOutcome, RunError> {
    let RunContext { options: RunOptions { request, interrupt, .. }, run_id, work, progress, .. } = run;
    let named = tokio::select! {
        named = run_links::named(request, cells, (work, run_id)) => named?,
        () = interrupt.first() => return Err(RunError::Interrupted),
    };
    let all = 1..=run.options.chosen.scenario.repeat;
    let one = cells.iter().all(|cell| cell.same_ensemble(&cells[0]));
    let turns: Vec<_> = if one { vec![all] } else { all.map(|number| number..=number).collect() };
    let mut record = None;
    let mut end = Ok(());
    // What drifts on a machine is to hit all cells alike.
    for (numbers, cells) in
        turns.iter().flat_map(|turn| cells.chunk_by(Cell::same_ensemble).map(move |cells| (turn, cells)))
    {
        end = match on_ensemble(run, cells, numbers, named.as_ref(), &mut record).await {
            Err(error) if record.is_none() => return Err(error),
            Err(RunError::Interrupted) => Err(CellInterruption::Interrupted),
            Err(error) => Err(anyhow::Error::from(error).into()),
            Ok(end) => end,
        };
        if end.is_err() {
            break;
        }
    }
    if end.is_ok()
        && let Some(record) = &record
    {
        end = further_rounds(run, cells, named.as_ref(), record).await;
    }
    if let Some(named) = named
        && let Err(error) = named.release().await
    {
        progress.line(&format!("warning: the links could not be taken down: {error}"));
    }
    let record = record.context("there is no cell to run")?;
    Ok(conclude(&record, end))
}

/// Runs cells that do not tell enough yet in the rounds beyond those that were planned.
async fn further_rounds(
    run: &RunContext<'_>,
    cells: &[Cell],
    named: Option<&ToxiproxyLinks>,
    record: &Rc<RefCell<Archive>>,
) -> Result<(), CellInterruption> {
    let RunContext {
        options: RunOptions { chosen: CellSelection { scenario, .. }, against, again, .. }, progress, ..
    } = run;
    let folder = record.borrow().folder().to_owned();
    let further = FurtherRounds { again: again.clone(), cells, folder, two_sides: against.is_some(), progress };
    let more = async |cells: Vec<Cell>, numbers: RangeInclusive<u32>| {
        let planned = to_u32(cells.len()) * to_u32(numbers.clone().count());
        record.borrow_mut().update(|manifest| manifest.cells_planned += planned)?;
        let mut there = Some(record.clone());
        for cells in cells.chunk_by(Cell::same_ensemble) {
            match on_ensemble(run, cells, &numbers, named, &mut there).await {
                Err(RunError::Interrupted) => return Err(CellInterruption::Interrupted),
                Err(error) => return Err(anyhow::Error::from(error).into()),
                Ok(end) => end?,
            }
        }
        Ok(())
    };
    further.run(scenario.repeat + 1..=scenario.rounds_max(), more).await
}

/// Runs the rounds of these numbers of cells that share an ensemble, begins the record with the first of them, and says how it
/// came to its end.
async fn on_ensemble(
    run: &RunContext<'_>,
    cells: &[Cell],
    numbers: &RangeInclusive<u32>,
    named: Option<&ToxiproxyLinks>,
    record: &mut Record,
) -> Result<Result<(), CellInterruption>, RunError> {
    let RunContext { options: RunOptions { request, interrupt, .. }, run_id, work, progress, .. } = run;
    progress.now("starting the ensemble");
    let ensemble = tokio::select! {
        started = start(request, needs(run, cells), work, run_id) => started?,
        () = interrupt.first() => return Err(RunError::Interrupted),
    };
    progress.line(&format!("ensemble: {}", ensemble.describe()));
    let RunOptions { chosen, against, .. } = run.options;
    let corrected = |scenario: &Scenario| correction::corrected(scenario, &*ensemble);
    let sides = std::iter::once(chosen).chain(against.as_ref().map(|against| &against.chosen));
    let found = sides.flat_map(|side| corrected(&side.scenario).1);
    let caveat = ensemble.caveat().map(|text| Warning::new(WarningKind::Modelled, text));
    let mut warnings: Vec<Warning> = caveat.into_iter().chain(found).collect();
    warnings.dedup();
    // What is known of the first ensemble and of the scenario need not be told again.
    warnings.retain(|warning| record.as_ref().is_none_or(|record| !record.borrow().warns(warning)));
    warnings.iter().for_each(|warning| progress.line(&format!("warning: {warning}")));
    progress.now("warming the servers up");
    let (access, servers) = (request.access(), ensemble.servers());
    let root = format!("{}warm-up", external::prefix(run_id));
    let long = Duration::from_millis(chosen.scenario.ensemble.warm_up_ms);
    let warmed = tokio::select! {
        warmed = retry_until_success(async |number| warm::up(&access, &servers, &format!("{root}-{number}"), long).await) => Some(warmed),
        died = liveness_monitor::death(&*ensemble) => Some(Err(died.into())),
        () = interrupt.first() => None,
    };
    let result = match warmed {
        None => Err(RunError::Interrupted),
        Some(Err(error)) => Err(error.context("the servers could not be warmed up").into()),
        Some(Ok(rounds)) => {
            tracing::debug!(rounds, "the servers are warm");
            let wanted = |cell: &Cell| cells.iter().any(|asked| asked.index == cell.index);
            let all = chosen.all(against.as_ref(), |scenario| corrected(scenario).0)?;
            let cells: Vec<Cell> = all.into_iter().filter(wanted).collect();
            on_links(run, (cells, numbers), warnings, named, &ensemble, record).await
        }
    };
    match ensemble_waits::stop(&*ensemble, interrupt.first()).await {
        Ok(given_up) => run.given_up.set(given_up),
        Err(error) => progress.line(&format!("warning: the ensemble could not be stopped in order: {error}")),
    }
    result
}

fn stopped_at_once(options: &RunOptions) -> RunError {
    let recorded = options.out.join(MANIFEST_FILE).exists();
    if recorded { RunError::StoppedAtOnce(options.out.clone()) } else { RunError::Interrupted }
}

async fn on_links(
    run: &RunContext<'_>,
    (cells, numbers): (Vec<Cell>, &RangeInclusive<u32>),
    warnings: Vec<Warning>,
    named: Option<&ToxiproxyLinks>,
    ensemble: &Rc<dyn Ensemble>,
    record: &mut Record,
) -> Result<Result<(), CellInterruption>, RunError> {
    let RunContext { options, run_id, progress, .. } = run;
    let interrupt = &options.interrupt;
    let links = run_links::of_run(&options.exe, options.lying_proxy, &cells, named, &**ensemble).await?;
    let factory = Rc::new(HostFactory::new(&options.exe, secret()?).await?.of_run(run.work.mark()));
    let of_base = match &options.against {
        Some(against) => Rc::new(HostFactory::new(&against.exe, secret()?).await?.of_run(run.work.mark())),
        None => factory.clone(),
    };
    let archive = recorded(run, warnings, &**ensemble, record)?;
    let mut end = Ok(());
    let round = |number| in_turn(run.rounds.round(&cells, number).collect(), options.seed, number);
    for cell in numbers.clone().flat_map(round) {
        let whole = ensemble_waits::unless_given_up(interrupt.first(), ensemble_waits::whole(&**ensemble)).await;
        end = whole.ok_or(CellInterruption::Interrupted).and_then(|whole| whole.map_err(CellInterruption::from));
        if end.is_err() {
            break;
        }
        let (name, began) = (cell.name.clone(), clock::now());
        let environment = Environment {
            access: options.request.access(),
            servers: ensemble.servers(),
            upstreams: ensemble.upstreams(),
            links: links.clone().filter(|_| cell.over_links),
            chroot: format!("{}{}", external::prefix(run_id), cell.index),
            seed: options.seed,
            ensemble: ensemble.clone(),
            factory: if cell.is_base() { of_base.clone() } else { factory.clone() },
            adapters: run.adapters.clone(),
            archive: archive.clone(),
            interrupt: interrupt.clone(),
            progress: (*progress).clone(),
        };
        end = cell::run(Rc::new(cell), environment).await;
        let took = duration(clock::now() - began);
        let how = if end.is_ok() { "recorded" } else { "cut short" };
        progress.cell_done(&format!("  {name}: {how} in {took}"));
        if end.is_err() {
            break;
        }
    }
    Ok(end)
}

/// The record: begun with the first ensemble, told of every further one.
fn recorded(
    run: &RunContext<'_>,
    warnings: Vec<Warning>,
    ensemble: &dyn Ensemble,
    record: &mut Record,
) -> anyhow::Result<Rc<RefCell<Archive>>> {
    let options = run.options;
    if let Some(archive) = record {
        archive.borrow_mut().update(|manifest| {
            let described = ensemble.describe();
            if !manifest.ensemble.contains(&described) {
                manifest.ensemble = format!("{}; then {described}", manifest.ensemble);
            }
            manifest.warnings.extend(warnings);
        })?;
        return Ok(archive.clone());
    }
    let manifest = manifest(run, warnings, ensemble);
    let texts = |side: &CellSelection| {
        let resolved = side.scenario.to_toml_with_seed(options.seed)?;
        anyhow::Ok(ScenarioTexts { verbatim: side.verbatim.clone(), resolved })
    };
    let own = texts(&options.chosen)?;
    let against = options.against.as_ref().map(|against| texts(&against.chosen)).transpose()?;
    let archive = Archive::create(&options.out, manifest, &own, against.as_ref())?;
    Ok(record.insert(Rc::new(RefCell::new(archive))).clone())
}

/// Writes down how the run ended. Whatever ended it, what was recorded until then is a record.
fn conclude(archive: &RefCell<Archive>, end: Result<(), CellInterruption>) -> RunOutcome {
    let (state, trouble) = match end {
        Ok(()) => (RunState::Completed, None),
        Err(CellInterruption::Interrupted) => (RunState::Interrupted, None),
        Err(CellInterruption::Aborted(why)) => (RunState::Aborted, Some(why)),
    };
    let closed = archive.borrow_mut().update(|manifest| {
        manifest.state = state;
        manifest.ended_utc = Some(utc::now());
        manifest.machine.load_1m_end = Some(machine::load_1m());
        let aborted = |why: &String| Warning::new(WarningKind::Aborted, format!("the run was aborted: {why}"));
        manifest.warnings.extend(trouble.as_ref().map(aborted));
    });
    let closed = closed.and_then(|()| archive.borrow().settle());
    // The first trouble is the one to tell: a manifest that cannot be written any more is mostly its consequence.
    let trouble = trouble.or_else(|| closed.err().map(|error| format!("{error:#}")));
    let state = if trouble.is_some() { RunState::Aborted } else { state };
    let folder = archive.borrow().folder().to_owned();
    RunOutcome { folder, state, trouble }
}

/// What a cell asks of the machine.
fn demand(cell: &Cell, request: &EnsembleRequest) -> Demand {
    Demand {
        sessions: u32::try_from(cell.session_count()).unwrap_or(u32::MAX),
        hosts: u32::from(cell.hosts),
        servers: request.servers().unwrap_or(cell.servers),
        local_servers: request.is_local(),
        links: cell.over_links,
        tunnel: request.access().tls.is_some(),
        a_session: match (&cell.program, cell.equal_paths) {
            (Some(_), _) => SessionPlacement::Beside,
            (None, true) => SessionPlacement::Relayed,
            (None, false) => SessionPlacement::Direct,
        },
    }
}

/// What cells ask of the ensemble that they share.
fn needs(run: &RunContext<'_>, cells: &[Cell]) -> EnsembleRequirements {
    let first = &cells[0];
    let sessions = Cell::most_sessions(cells);
    EnsembleRequirements {
        servers: ServerOptions {
            count: first.servers,
            tick_ms: first.tick_ms,
            init_limit: first.init_limit,
            sync_limit: first.sync_limit,
            fsync: first.fsync,
            heap_mb: heap_mb_for(u32::try_from(sessions).unwrap_or(u32::MAX)),
        },
        sessions,
        group_size: Cell::largest_group(cells),
        quorum_links: Cell::cut_servers_apart(cells),
        link_ports: u16::try_from(run_links::most(cells)).unwrap_or(u16::MAX),
        exe: run.options.exe.clone(),
        why: run.options.why.clone(),
    }
}

fn manifest(run: &RunContext<'_>, warnings: Vec<Warning>, ensemble: &dyn Ensemble) -> Manifest {
    let options = run.options;
    let mut versions = BTreeMap::new();
    versions.insert("hustings".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    versions.insert("zookeeper".to_owned(), ensemble.version().to_owned());
    if let Some(against) = options.against.as_ref().filter(|against| against.exe != options.exe) {
        versions.insert(BASE_BUILD.to_owned(), against.exe.display().to_string());
    }
    Manifest {
        schema: SCHEMA,
        run: run.run_id.clone(),
        state: RunState::Running,
        scenario: options.chosen.scenario.name.clone(),
        summary: options.chosen.scenario.summary.clone(),
        analysis: options.chosen.scenario.analysis.clone(),
        seed: options.seed,
        started_utc: run.started.clone(),
        ended_utc: None,
        folder: options.out.display().to_string(),
        command: options.command.clone(),
        ensemble_kind: ensemble.kind(),
        ensemble: ensemble.describe(),
        ensemble_version: ensemble.version().to_owned(),
        versions,
        machine: run.machine.clone(),
        cells_planned: run.planned,
        files: BTreeMap::new(),
        cells: Vec::new(),
        warnings,
    }
}

fn run_id(started: &str) -> anyhow::Result<String> {
    Ok(format!("{}-{}", utc::compact(started), &secret()?[..6]))
}
