//! One run: ensemble, links, then every cell in turn, and the record of it all.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use hustings_reports::record::{MANIFEST_FILE, Manifest, RunState, SCHEMA};
use hustings_workloads::scenario::{Cell, Scenario};
use rand::TryRng as _;
use rand::rngs::SysRng;

use crate::archive::Archive;
use crate::capacity::{Demand, Limits, check_capacity};
use crate::coordinator::cell::{self, CellEnd, Surroundings};
use crate::coordinator::hosts::HostFactory;
use crate::coordinator::set_up::Ground;
use crate::coordinator::warm;
use crate::ensemble::Ensemble;
use crate::ensemble::local::{LocalEnsemble, LocalOptions, heap_mb_for};
use crate::interrupt::Interrupt;
use crate::links::{External, LinkError, Links, processes_needed};
use crate::progress::Progress;
use crate::workdir::WorkDir;
use crate::{clock, limits, machine, utc};

/// What a run is told.
pub struct RunOptions {
    pub scenario: Scenario,
    /// The scenario's text as it was given, and resolved.
    pub verbatim: String,
    pub resolved: String,
    pub seed: u64,
    /// The record's folder.
    pub out: PathBuf,
    pub zookeeper_home: Option<PathBuf>,
    /// Why this ensemble: completes the sentence "chosen because …".
    pub why: String,
    pub base_port: Option<u16>,
    /// URL of a real Toxiproxy to use instead of the embedded proxy.
    pub toxiproxy: Option<String>,
    /// The embedded proxy accepts toxics and ignores them: to see whether the harness notices.
    pub lying_proxy: bool,
    /// This executable: what hosts and proxies are started from.
    pub exe: PathBuf,
    /// What was typed.
    pub command: String,
    pub terminal: bool,
    pub quiet: bool,
}

/// How a run ended.
pub struct Outcome {
    pub folder: PathBuf,
    pub state: RunState,
    /// Why it was aborted.
    pub trouble: Option<String>,
}

/// Why a run came to no record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Capacity(#[from] crate::capacity::CapacityError),
    #[error(transparent)]
    Ensemble(#[from] crate::ensemble::EnsembleError),
    #[error(transparent)]
    Links(#[from] crate::links::LinkError),
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

/// Runs every cell of a scenario on an ensemble of its own. What was started is stopped when this returns.
///
/// # Errors
/// When nothing could be recorded. A run that began to record ends in an [`Outcome`], whatever happened.
pub async fn run(options: &RunOptions) -> Result<Outcome, RunError> {
    let interrupt = Interrupt::listen().context("signals cannot be listened to")?;
    let cells = options.scenario.cells();
    limits::raise_descriptor_limit().context("the descriptor limit cannot be raised")?;
    for cell in &cells {
        check_capacity(demand(cell))?;
    }
    let started = utc::now();
    let run_id = run_id(&started)?;
    let work = WorkDir::create(&run_id).map_err(anyhow::Error::from)?;
    let progress = Progress::new(cells.len() as u64, options.terminal, options.quiet);
    options.scenario.warnings().iter().for_each(|warning| progress.line(&format!("warning: {warning}")));
    let result = tokio::select! {
        result = on_ensemble(options, cells, &run_id, &started, &work, &interrupt, &progress) => result,
        () = interrupt.second() => Err(stopped_at_once(options)),
    };
    progress.finish();
    if let Err(error) = work.remove() {
        // What the run came to matters more.
        progress.line(&format!("warning: {error}; `hustings clean` removes it"));
    }
    result
}

async fn on_ensemble(
    options: &RunOptions,
    cells: Vec<Cell>,
    run_id: &str,
    started: &str,
    work: &WorkDir,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Outcome, RunError> {
    progress.now("starting the ensemble");
    let mut ensemble = tokio::select! {
        started = LocalEnsemble::start(local_options(options, &cells), work) => started?,
        () = interrupt.first() => return Err(RunError::Interrupted),
    };
    progress.line(&format!("ensemble: {}", ensemble.describe()));
    progress.now("warming the servers up");
    let servers = ensemble.servers();
    let warmed = tokio::select! {
        warmed = warm::up(&servers) => Some(warmed),
        () = interrupt.first() => None,
    };
    let result = match warmed {
        None => Err(RunError::Interrupted),
        Some(Err(error)) => Err(error.context("the servers could not be warmed up").into()),
        Some(Ok(rounds)) => {
            tracing::debug!(rounds, "the servers are warm");
            on_links(options, cells, run_id, started, &mut ensemble, interrupt, progress).await
        }
    };
    if let Err(error) = ensemble.stop().await {
        progress.line(&format!("warning: the ensemble could not be stopped in order: {error}"));
    }
    result
}

fn stopped_at_once(options: &RunOptions) -> RunError {
    let begun = options.out.join(MANIFEST_FILE).exists();
    if begun { RunError::StoppedAtOnce(options.out.clone()) } else { RunError::Interrupted }
}

async fn on_links(
    options: &RunOptions,
    cells: Vec<Cell>,
    run_id: &str,
    started: &str,
    ensemble: &mut LocalEnsemble,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Outcome, RunError> {
    let links = match (cells.iter().any(|cell| cell.over_links), &options.toxiproxy) {
        (false, _) => None,
        (true, Some(url)) => Some(Rc::new(Links::external(External::local(url)).await?)),
        (true, None) => {
            let processes = proxy_processes(&cells)?;
            Some(Rc::new(Links::start_embedded(&options.exe, processes, options.lying_proxy).await?))
        }
    };
    let manifest = manifest(options, &cells, run_id, started, &*ensemble);
    let factory = Rc::new(HostFactory::new(&options.exe, secret()?).await?);
    let archive = Archive::create(&options.out, manifest, &options.verbatim, &options.resolved)?;
    let archive = Rc::new(RefCell::new(archive));
    let mut end = Ok(CellEnd::Complete);
    for cell in cells {
        if let Err(error) = ensemble.check_alive() {
            end = Err(error.into());
            break;
        }
        let ground = Ground {
            servers: ensemble.servers(),
            links: links.clone().filter(|_| cell.over_links),
            chroot: format!("/hustings-{run_id}-{}", cell.index),
            seed: options.seed,
        };
        let (name, began) = (cell.name.clone(), clock::now());
        let around = Surroundings {
            ground,
            ensemble: &*ensemble,
            factory: factory.clone(),
            archive: archive.clone(),
            interrupt: interrupt.clone(),
            progress,
        };
        end = cell::run(Rc::new(cell), &around).await;
        let seconds = (clock::now() - began) as f64 / 1e9;
        let complete = matches!(end, Ok(CellEnd::Complete));
        let how = if complete { "recorded" } else { "cut short" };
        progress.cell_done(&format!("  {name}: {how} in {seconds:.1} s"));
        if !complete {
            break;
        }
    }
    // A cell takes its links down; this is for one that did not come so far.
    if let Some(links) = links
        && let Err(error) = links.depopulate().await
    {
        progress.line(&format!("warning: the links could not be taken down: {error}"));
    }
    Ok(conclude(&archive, end))
}

/// Writes down how the run ended. Whatever ended it, what was recorded until then is a record.
fn conclude(archive: &RefCell<Archive>, end: anyhow::Result<CellEnd>) -> Outcome {
    let (state, trouble) = match end {
        Ok(CellEnd::Complete) => (RunState::Completed, None),
        Ok(CellEnd::Interrupted) => (RunState::Interrupted, None),
        Ok(CellEnd::Aborted(why)) => (RunState::Aborted, Some(why)),
        Err(error) => (RunState::Aborted, Some(format!("{error:#}"))),
    };
    let closed = archive.borrow_mut().update(|manifest| {
        manifest.state = state;
        manifest.ended_utc = Some(utc::now());
        manifest.warnings.extend(trouble.as_ref().map(|why| format!("the run was aborted: {why}")));
    });
    // The first trouble is the one to tell: a manifest that cannot be written any more is mostly its consequence.
    let trouble = trouble.or_else(|| closed.err().map(|error| format!("{error:#}")));
    let state = if trouble.is_some() { RunState::Aborted } else { state };
    let folder = archive.borrow().folder().to_owned();
    Outcome { folder, state, trouble }
}

/// What a cell asks of the machine.
fn demand(cell: &Cell) -> Demand {
    Demand {
        sessions: u32::try_from(cell.session_count()).unwrap_or(u32::MAX),
        hosts: u32::from(cell.hosts),
        servers: cell.servers,
        local_servers: true,
        links: cell.over_links,
    }
}

/// Proxy processes for the cell that needs most, by the descriptors one process may have.
fn proxy_processes(cells: &[Cell]) -> Result<usize, LinkError> {
    let limit = Limits::of_this_machine().descriptors;
    let mut most = 1;
    for cell in cells.iter().filter(|cell| cell.over_links) {
        let of_host = cell.session_count().div_ceil(u64::from(cell.hosts).max(1));
        most = most.max(processes_needed(usize::from(cell.hosts), of_host, limit)?);
    }
    Ok(most)
}

fn local_options(options: &RunOptions, cells: &[Cell]) -> LocalOptions {
    let first = &cells[0];
    let mut local = LocalOptions::new(options.exe.clone());
    local.servers = first.servers;
    local.tick_ms = first.tick_ms;
    local.fsync = first.fsync;
    local.heap_mb = heap_mb_for(cells.iter().map(|cell| demand(cell).sessions).max().unwrap_or(0));
    local.places.zookeeper_home.clone_from(&options.zookeeper_home);
    local.base_port = options.base_port;
    options.why.clone_into(&mut local.why);
    local
}

fn manifest(options: &RunOptions, cells: &[Cell], run_id: &str, started: &str, ensemble: &dyn Ensemble) -> Manifest {
    let mut versions = BTreeMap::new();
    versions.insert("hustings".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    versions.insert("zookeeper".to_owned(), ensemble.version().to_owned());
    Manifest {
        schema: SCHEMA,
        run: run_id.to_owned(),
        state: RunState::Running,
        scenario: options.scenario.name.clone(),
        summary: options.scenario.summary.clone(),
        analysis: options.scenario.analysis.clone(),
        seed: options.seed,
        started_utc: started.to_owned(),
        ended_utc: None,
        folder: options.out.display().to_string(),
        command: options.command.clone(),
        ensemble: ensemble.describe(),
        ensemble_version: ensemble.version().to_owned(),
        versions,
        machine: machine::describe(),
        cells_planned: cells.len() as u32,
        cells: Vec::new(),
        warnings: options.scenario.warnings(),
    }
}

fn run_id(started: &str) -> anyhow::Result<String> {
    Ok(format!("{}-{}", utc::compact(started), &secret()?[..6]))
}

/// 128 bits that nobody can guess, in hex.
fn secret() -> anyhow::Result<String> {
    let mut bytes = [0_u8; 16];
    SysRng.try_fill_bytes(&mut bytes).context("the kernel gives no random bytes")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Default name of a record's folder.
#[must_use]
pub fn default_folder(scenario: &str) -> PathBuf {
    let safe = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = scenario.chars().map(safe).take(80).collect();
    Path::new("runs").join(format!("{}-{name}", utc::compact(&utc::now())))
}
