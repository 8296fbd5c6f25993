//! `hustings run --chaos`: random scenarios in sequence, until the time is up or one shows a failure.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use hustings_record::words::{plural, round_duration};
use hustings_record::{Damage, RunState};
use hustings_reports::analysis::MutationTesting;
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;
use hustings_workloads::scenario::{Cell, ExternalServers, PlanView, RunCapabilities, Scenario, explain_as, random};
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::Serialize;

use crate::cmd::dry::{announce_assumptions, as_found, not_asked};
use crate::cmd::files::with_what_is_left;
use crate::cmd::report;
use crate::console::exit::{Exit, Failure};
use crate::console::output::{inform, say, say_json};
use crate::coordinator::{CellSelection, RunError, RunOptions, run as perform};
use crate::ensemble::start::EnsembleRequest;
use crate::recording::folder::RecordFolder;

/// Number of rounds that a dry run shows.
const TOLD_ROUNDS: u64 = 3;

/// The parameters of chaos.
pub(super) struct ChaosOptions<'a> {
    pub(super) base: &'a Scenario,
    /// The cells whose recipes, policies and timeouts are drawn from.
    pub(super) cells: &'a [Cell],
    pub(super) seed: Option<u64>,
    /// No round begins after this time.
    pub(super) long: Duration,
    /// Folder for the records of the rounds, if given.
    pub(super) out: Option<&'a Path>,
    pub(super) json: bool,
    pub(super) quiet: bool,
}

/// Result of all rounds.
#[derive(Debug, Default, Serialize)]
struct Rounds {
    seed: u64,
    /// Completed rounds, and those of them that passed.
    rounds: u64,
    passed: u64,
    handovers: u64,
    /// Records of rounds that neither passed nor failed. They are kept, unlike those of passed rounds.
    inconclusive: Vec<PathBuf>,
    failed: Option<FailedRound>,
    took_s: u64,
}

/// A round that showed a failure.
#[derive(Debug, Serialize)]
struct FailedRound {
    record: PathBuf,
    /// The checks that failed, with their cells.
    fails: Vec<String>,
    /// Commands that rerun it, and rerun it in virtual time if possible.
    again: String,
    simulated: Option<String>,
}

/// Runs rounds with `options`. Exit code 1 if a round failed, 130 if interrupted, 3 if none passed, else 0:
/// inconclusive rounds beside one that passed do not count.
///
/// # Errors
/// The scenario has no cell with candidates (exit code 2), or the folder of the records cannot be used, or a round was
/// aborted, or its record cannot be read, made or removed (4; 1 if the aborted round had failed before).
pub(super) async fn run(asked: &ChaosOptions<'_>, mut options: RunOptions) -> Result<Exit, Failure> {
    let (began, interrupt, possible) = (Instant::now(), options.interrupt.clone(), possible(&options));
    let seed = asked.seed.map_or_else(fresh_seed, Ok).map_err(Failure::infrastructure)?;
    let reserved = RecordFolder::new(asked.out, "chaos").map_err(Failure::output)?;
    let folder = reserved.path();
    // Each round prints its own line here.
    options.quiet = true;
    inform!(
        "chaos with seed {seed} for {}: records of rounds that do not pass are kept in {}",
        humantime::format_duration(asked.long),
        folder.display()
    );
    let mut rounds = Rounds { seed, ..Rounds::default() };
    let mut end = Ok(());
    for round in 1.. {
        if began.elapsed() >= asked.long || interrupt.asked() || rounds.failed.is_some() {
            break;
        }
        let scenario = drawn(asked, seed, round, possible)?;
        options.out = folder.join(format!("round-{round:04}"));
        if let Err(failure) = one(asked, &mut options, scenario, &mut rounds).await {
            end = Err(failure);
            break;
        }
    }
    rounds.took_s = began.elapsed().as_secs();
    tell(asked, &rounds)?;
    match end {
        Err(failure) if failure.exit != Exit::Interrupted => Err(failure),
        _ if rounds.failed.is_some() => Ok(Exit::Fail),
        _ if interrupt.asked() => Ok(Exit::Interrupted),
        _ if rounds.passed == 0 => Ok(Exit::Inconclusive),
        _ => Ok(Exit::Pass),
    }
}

/// Shows the first rounds without running them. Servers of somebody else are asked about themselves first, and nothing is
/// changed there.
pub(super) async fn dry(asked: &ChaosOptions<'_>, options: &RunOptions) -> Result<Exit, Failure> {
    let seed = asked.seed.map_or_else(fresh_seed, Ok).map_err(Failure::infrastructure)?;
    let mut rounds = Vec::new();
    for round in 1..=TOLD_ROUNDS {
        rounds.push(drawn(asked, seed, round, possible(options))?);
    }
    let show = |scenario: &Scenario, servers: Option<&ExternalServers>| {
        let (cells, seed) = (scenario.cells(), scenario.seed.unwrap_or(seed));
        say(explain_as(scenario, &cells, seed, PlanView { servers, is_brief: false }))
    };
    say(format_args!("the first rounds of seed {seed}:\n"))?;
    let EnsembleRequest::External(external) = &options.request else {
        for scenario in &rounds {
            show(scenario, None)?;
        }
        options.request.check_install().map_err(RunError::from)?;
        return Ok(Exit::Pass);
    };
    let cells: Vec<Cell> = rounds.iter().flat_map(Scenario::cells).collect();
    let reply = tokio::select! {
        reply = external.ask(Cell::most_sessions(&cells), Cell::largest_group(&cells)) => reply,
        () = options.interrupt.first() => return Err(RunError::Interrupted.into()),
    };
    match reply {
        Ok((servers, usable)) => {
            for scenario in &rounds {
                let (scenario, found) = as_found(external, scenario, &servers);
                show(&scenario, Some(&found))?;
            }
            usable.map_err(Failure::infrastructure)?;
            Ok(Exit::Pass)
        }
        // The rounds are shown all the same: most of them does not depend on the servers.
        Err(error) => {
            announce_assumptions();
            for scenario in &rounds {
                show(scenario, Some(&not_asked(external, scenario, &scenario.cells())))?;
            }
            Err(Failure::infrastructure(error))
        }
    }
}

fn possible(options: &RunOptions) -> RunCapabilities {
    let request = &options.request;
    RunCapabilities {
        own_servers: !request.is_external(),
        reading_links: request.toxiproxy().is_none() && !request.is_docker(),
    }
}

fn drawn(asked: &ChaosOptions<'_>, seed: u64, round: u64, possible: RunCapabilities) -> Result<Scenario, Failure> {
    let none = || anyhow!("{}: no cell of this scenario has candidates, and chaos is for them", asked.base.name);
    random(asked.base, asked.cells, seed, round, possible).ok_or_else(|| Failure::usage(none()))
}

/// Runs one round and removes its record if it passes.
async fn one(
    asked: &ChaosOptions<'_>,
    options: &mut RunOptions,
    scenario: Scenario,
    rounds: &mut Rounds,
) -> Result<(), Failure> {
    let cells = scenario.cells();
    let names: Vec<String> = cells.iter().map(|cell| cell.name.clone()).collect();
    let text = scenario.to_toml().map_err(Failure::infrastructure)?;
    options.seed = scenario.seed.unwrap_or_default();
    options.chosen = CellSelection { scenario, only: names.clone(), verbatim: text };
    let (place, servers) = (options.out.clone(), cells[0].servers);
    let is_witnessed = cells.iter().any(|cell| cell.witness);
    let sets_in_simulation = if is_witnessed { " --set election.witness=false" } else { "" };
    let simulated = cells.iter().all(|cell| cell.program.is_none()).then_some(sets_in_simulation);
    std::fs::create_dir(&place).with_context(|| place.display().to_string()).map_err(Failure::infrastructure)?;
    let outcome = perform(options).await.inspect_err(|_| _ = std::fs::remove_dir(&place))?;
    let (summary, _) = report::make_silently(&place, Damage::Refused, MutationTesting::Nothing)?;
    if !asked.quiet {
        let round = place.file_name().unwrap_or_default().display();
        let servers = plural(servers.into(), "server", "servers");
        inform!("{round}: {servers}, {}: {}", names.join(", "), summary.verdict);
    }
    rounds.rounds += 1;
    rounds.handovers += summary.cells.iter().map(|cell| cell.handovers.completed).sum::<u64>();
    match summary.verdict {
        Verdict::Fail => rounds.failed = Some(shown(&place, &summary, simulated)),
        Verdict::Pass if outcome.state == RunState::Completed => {
            rounds.passed += 1;
            let removed = std::fs::remove_dir_all(&place).with_context(|| place.display().to_string());
            removed.map_err(Failure::infrastructure)?;
        }
        Verdict::Pass | Verdict::Inconclusive => rounds.inconclusive.push(place.clone()),
    }
    match outcome.trouble {
        None => Ok(()),
        Some(why) => {
            let why = with_what_is_left(&why, &place);
            Err(Failure { exit: Exit::of(&summary), error: anyhow!(why) })
        }
    }
}

/// `simulated`: what a simulation of the round needs beside its scenario. None: a foreign program took part, and those cannot
/// run in virtual time.
fn shown(record: &Path, summary: &Summary, simulated: Option<&str>) -> FailedRound {
    let failed = summary.cells.iter().flat_map(|cell| {
        let fails = cell.checks.iter().filter(|check| check.verdict == Verdict::Fail);
        fails.map(|check| format!("{} in {}", check.name, cell.info.name))
    });
    let scenario = record.join("scenario.toml");
    FailedRound {
        record: record.to_owned(),
        fails: failed.collect(),
        again: format!("hustings run {}", scenario.display()),
        simulated: simulated.map(|sets| format!("hustings simulate {}{sets}", scenario.display())),
    }
}

fn tell(asked: &ChaosOptions<'_>, rounds: &Rounds) -> Result<(), Failure> {
    if asked.json {
        return say_json(serde_json::to_string_pretty(rounds).map_err(Failure::infrastructure)?);
    }
    inform!(
        "rounds: {} in {}, with {} handovers; {} passed, {} inconclusive, {} failed",
        rounds.rounds,
        round_duration(rounds.took_s * 1_000_000_000),
        rounds.handovers,
        rounds.passed,
        rounds.inconclusive.len(),
        u8::from(rounds.failed.is_some())
    );
    rounds.inconclusive.iter().for_each(|record| inform!("inconclusive: {}", record.display()));
    if let Some(shown) = &rounds.failed {
        inform!("failed: {}: {}", shown.record.display(), shown.fails.join(", "));
        inform!("  again: {}", shown.again);
        shown.simulated.iter().for_each(|simulated| inform!("  in virtual time: {simulated}"));
    }
    Ok(())
}

fn fresh_seed() -> anyhow::Result<u64> {
    Ok(SysRng.try_next_u32().context("the kernel gives no random bytes")?.into())
}
