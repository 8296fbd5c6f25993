//! `hustings run`: runs a scenario on a real ensemble, and writes a record and a report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Parser as _;
use hustings_record::words::{as_typed, plural};
use hustings_record::{Damage, FaultKind, REPETITIONS_MAX, RecordReader, RunState};
use hustings_reports::analysis::{MutationTesting, summarise_read};
use hustings_reports::compare::{rounds_missing, undecided};
use hustings_reports::sound::{cells_to_repeat, certain_failure};
use hustings_reports::summary::Summary;
use hustings_workloads::plan::plan;
use hustings_workloads::scenario::{
    Cell, ForeignSpec, Overrides, SHIPPED, Scenario, ScenarioError, ShippedScenario, cell_duration_ms, check_rounds,
    declared_program, meant,
};

use crate::cmd::chaos;
use crate::cmd::compare;
use crate::cmd::dry::dry;
use crate::cmd::ensemble::{EnsembleArgs, check_base_port};
use crate::cmd::files::with_what_is_left;
use crate::cmd::in_full;
use crate::cmd::only::NameFilter;
use crate::cmd::programs;
use crate::cmd::report::{self, ReportOutput};
use crate::cmd::unquoted;
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, is_screen};
use crate::coordinator::{
    CellSelection, ComparisonBase, RetrySelection, RetrySelectors, RunError, RunOptions, run as perform,
};
use crate::doctor::load_warning;
use crate::ensemble::start::EnsembleRequest;
use crate::files::bounded;
use crate::process::interrupt::Interrupt;
use crate::process::working_directory;
use crate::recording::archive::Archive;
use crate::recording::folder::RecordFolder;

/// Default seed of runs.
const DEFAULT_SEED: u64 = 1;
/// Name of the program given by `--candidate`.
const CANDIDATE: &str = "candidate";

/// Run a scenario: start an ensemble, enrol candidates, break things, and report.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings run                                    the quick scenario, on servers started for it
  hustings run split-brain --seed 7               another one, with another choice of victims
  hustings run quick --set election.groups=50     with a parameter changed
  hustings run quick --only '*-crash'             some of its cells
  hustings run quick --repeat 5                   each cell five times, in five rounds; figures of all together
  hustings run gate --repeat 2 --further 0        two rounds, and none more, whatever they leave open
  hustings run my.toml --dry-run                  what a scenario of your own would do
  hustings run quick --json > summary.json        the summary for machines
  hustings run quick --ensemble docker            on containers
  hustings run quick --chaos --for 2h             random faults on its recipes, until time is up or a check fails
  hustings run gate --against-exe old/hustings    candidates of this program against those of another, in turn
  hustings run gate --against-set election.session_timeout_ms=4000
                                                  the scenario as it is against one with a longer session timeout
  hustings run quick --candidate 'python3 mine.py'
                                                  candidates of a program of yours, in any language
  hustings run split-brain --candidate ./mine --candidate-set step_down=on-expiry
                                                  the same, of a program that leads until its session has ended
  hustings run split-brain --candidate './my {connect} {group} {resource}' --set election.groups=1
                                                  a program that does not speak the protocol: judged by its writes and its znodes
  hustings run pull-request --candidate ./new --against-candidate ./old
                                                  two programs in turn: is the new one worse? `hustings gate` reads it
  hustings run quick --candidate ./mine --chaos --for 2h
                                                  random faults on a program of yours
  hustings run quick --connect zk1:2181,zk2:2181,zk3:2181
                                                  on servers that run already; it changes only its own znodes
  hustings run quick --connect zk1:2182,zk2:2182,zk3:2182/tests --tls-ca ca.pem --auth-file secret
                                                  the same below a znode of theirs, by TLS, as a user of theirs"))]
#[command(group = clap::ArgGroup::new("sides").multiple(true).args(["against", "against_set", "against_exe", "against_candidate"]))]
pub(super) struct RunArgs {
    /// Name of a scenario (see `hustings list`) or path of a TOML file
    #[arg(default_value = "quick")]
    pub(super) scenario: String,
    /// Change a parameter, as `election.groups=50`; may be given many times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Run only the cells of this name; `*` stands for anything, as in `*-crash`; may be given many times
    #[arg(long, value_name = "CELL")]
    pub(super) only: Vec<String>,
    /// Run each cell N times, in N rounds over all of them; the report pools what they show [default: the scenario's, at most
    /// 1000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = times)]
    repeat: Option<u32>,
    /// Repeat cells for at most as long as N further rounds of all cells take; 0: not at all. A cell is repeated if only stalls of
    /// the harness spoil a repetition, or if the planned rounds do not tell two sides apart. Needs two repetitions or more
    /// [default: the scenario's `further_rounds`]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = further_rounds)]
    further: Option<u32>,
    /// Use this program in place of the scenario's recipes; `hustings candidate check -- CMD` says whether it can take part. Words
    /// are split as a shell does; no shell runs
    #[arg(long, value_name = "CMD", conflicts_with = "against_exe")]
    candidate: Option<String>,
    /// What that program declares, by the keys of `[foreign.NAME]` in a scenario: what it promises (`leader_wakes=one`,
    /// `follower_wakes=one`), its policy (`step_down=on-expiry`), its lock (`lock=leader`), its parameters (`config.KEY=VALUE`);
    /// may be given many times
    #[arg(long, value_name = "KEY=VALUE", requires = "candidate")]
    candidate_set: Vec<String>,
    /// Baseline program: run it in turn with `--candidate` on one ensemble and compare
    #[arg(long, value_name = "CMD", requires = "candidate", conflicts_with = "chaos")]
    against_candidate: Option<String>,
    /// What the baseline program declares otherwise than --candidate-set says; may be given many times
    #[arg(long, value_name = "KEY=VALUE", requires = "against_candidate")]
    against_candidate_set: Vec<String>,
    /// Seed of every random choice of victims, times and placement [default: the scenario's]
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub(super) seed: Option<u64>,
    /// Compare the cells with those of this scenario, in turn on one ensemble: are they worse, or better? Cells of the
    /// same name are pairs, else they are paired in their order [default with the other --against-…: the scenario itself]
    #[arg(long, value_name = "SCENARIO", conflicts_with = "chaos")]
    against: Option<String>,
    /// Change a parameter of the baseline, as --set does of the scenario; may be given many times
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "chaos")]
    against_set: Vec<String>,
    /// Start the baseline's hosts from this hustings binary
    #[arg(long, value_name = "FILE", conflicts_with = "chaos")]
    against_exe: Option<PathBuf>,
    /// Treat a difference of at most this share of the median (such as `5%`) as the same [default: 15%, or half a round trip to
    /// the servers if that is more]
    #[arg(long, value_name = "SHARE", value_parser = compare::share, requires = "sides")]
    delta: Option<f64>,
    /// Run random scenarios, one after the other, until time is up or one fails a check. Recipes, policies and timeouts
    /// are the scenario's; servers, sizes, faults and their times are drawn. Only records that do not pass are kept
    #[arg(long, conflicts_with_all = ["repeat", "further"])]
    chaos: bool,
    /// How long to begin rounds of chaos, as `90s`, `10m` or `2h`
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = some_time, requires = "chaos")]
    long: Duration,
    /// Folder for the record [default: runs/<time>-<scenario>]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Show the plan and end: a line a cell; of a single cell, also when each fault hits
    #[arg(long, conflicts_with = "json")]
    pub(super) dry_run: bool,
    /// With --dry-run: show of every cell when each fault hits
    #[arg(long, short, requires = "dry_run")]
    verbose: bool,
    /// Print the summary as JSON on standard output; the comparison, where there is one
    #[arg(long)]
    pub(super) json: bool,
    /// No progress, only the result
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// The embedded proxy accepts faults and does nothing: for tests of the harness
    #[arg(long, hide = true)]
    pub(super) lying_proxy: bool,
    #[command(flatten)]
    pub(super) ensemble: EnsembleArgs,
}

/// The text of a shipped scenario by its name, else of a file.
pub(super) fn text(name: &str) -> Result<String, Failure> {
    if let Some(shipped) = ShippedScenario::find(name) {
        return Ok(shipped.text.to_owned());
    }
    bounded::text(Path::new(name), bounded::SMALL).map_err(|error| {
        let names = SHIPPED.map(|shipped| shipped.name.to_owned());
        let (known, meant) = (names.join(", "), meant(name, &names));
        let name = as_typed(name);
        let what =
            format!("{name} is neither a scenario that ships ({known}) nor a file that can be read ({error}){meant}");
        Failure::usage(anyhow::anyhow!(what))
    })
}

impl RunArgs {
    /// The run of `hustings` without arguments.
    #[must_use]
    pub(super) fn of_quick() -> Self {
        RunParser::parse_from(["hustings"]).run
    }
}

#[derive(clap::Parser)]
struct RunParser {
    #[command(flatten)]
    run: RunArgs,
}

/// Summary of a record that is still being written, as if its run had ended here.
fn so_far(record: &Path) -> anyhow::Result<Summary> {
    let mut reading = RecordReader::begin(record, Damage::Refused)?;
    reading.manifest.state = RunState::Completed;
    Ok(summarise_read(reading, MutationTesting::Nothing)?)
}

/// The cells to run again, by a choice from the record so far; none if the run fails for certain.
fn selection(record: &Path, choose: impl FnOnce(&Summary) -> BTreeMap<String, u32>) -> anyhow::Result<RetrySelection> {
    let summary = so_far(record)?;
    Ok(match certain_failure(&summary) {
        Some(why) => RetrySelection::CertainFailure(why),
        None => RetrySelection::Cells(choose(&summary)),
    })
}

/// Refuses faults on external servers, and cells that need different servers: their number and tick are fixed. `set`: the
/// option that changes the scenario.
fn refuse_what_is_not_ours(request: &EnsembleRequest, scenario: &Scenario, set: &str) -> anyhow::Result<()> {
    if !request.is_external() {
        return Ok(());
    }
    let cells = scenario.cells();
    if let Some(other) = cells.iter().find(|cell| !cell.same_ensemble(&cells[0])) {
        bail!(
            "cell {} asks for {} with a tick of {} ms and cell {} for {} with {} ms; the number of servers and the tick of \
             servers that somebody else runs are theirs: use --ensemble local or --ensemble docker, or choose one of each \
             ({set} matrix.servers=…, {set} matrix.tick_ms=…)",
            cells[0].name,
            plural(cells[0].servers.into(), "server", "servers"),
            cells[0].tick_ms,
            other.name,
            other.servers,
            other.tick_ms
        );
    }
    for cell in cells {
        if let Some(kind) = cell.kinds().find(|kind| kind.hits_servers()) {
            let fits = scenario.cells().iter().any(|cell| !cell.kinds().any(FaultKind::hits_servers));
            let other = if fits { "other cells (--only …)" } else { "another scenario, as pull-request" };
            bail!(
                "{kind} in cell {} would hit servers that somebody else runs, and those are left alone; use --ensemble local \
                 or --ensemble docker for it, or choose {other}",
                cell.name
            );
        }
    }
    Ok(())
}

/// A foreign program given on the command line, and its declarations.
struct ProgramOption<'a> {
    option: &'static str,
    command: &'a str,
    sets: Vec<String>,
}

impl<'a> ProgramOption<'a> {
    fn own(args: &'a RunArgs) -> Option<Self> {
        let (command, sets) = (args.candidate.as_deref()?, args.candidate_set.clone());
        Some(Self { option: "--candidate", command, sets })
    }

    /// The program to compare with. If none is given, the same program.
    fn against(args: &'a RunArgs) -> Option<Self> {
        let own = Self::own(args)?;
        let Some(command) = args.against_candidate.as_deref() else { return Some(own) };
        let sets = own.sets.into_iter().chain(args.against_candidate_set.iter().cloned()).collect();
        Some(Self { option: "--against-candidate", command, sets })
    }
}

fn program_of(option: &str, text: &str, sets: &[String]) -> anyhow::Result<ForeignSpec> {
    let Some(command) = shlex::split(text) else {
        bail!("{option} {text:?} ends within a quote or behind a backslash: close it as for a shell");
    };
    ensure!(!command.is_empty(), "{option} {text:?} is no command; name a program and its arguments");
    Ok(declared_program(option, command, sets)?)
}

/// Foreign programs receive no secrets.
fn refuse_programs_where_they_have_no_way_in(request: &EnsembleRequest, scenario: &Scenario) -> anyhow::Result<()> {
    let access = request.access();
    let closed = access.digest.is_some() || access.sasl.is_some();
    if let Some(cell) = scenario.cells().into_iter().find(|cell| closed && cell.program.is_some()) {
        bail!(
            "{} in cell {} would have to prove who it is, and it is told no secrets: use servers that let anybody in",
            cell.recipe,
            cell.name
        );
    }
    Ok(())
}

/// Parses a duration.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("no time: above 0, as in `10m`".to_owned()) } else { Ok(time) }
}

/// Parses the number of repetitions of each cell.
pub(super) fn times(text: &str) -> Result<u32, String> {
    let times = text.parse().ok().filter(|times| (1..=REPETITIONS_MAX).contains(times));
    times.ok_or_else(|| format!("a whole number from 1 to {REPETITIONS_MAX}, as in `--repeat 5`"))
}

/// Parses a seed.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a whole number from 0 to {}, as 7", u64::MAX))
}

/// Parses the largest number of further rounds.
fn further_rounds(text: &str) -> Result<u32, String> {
    let rounds = text.parse::<u32>().ok().filter(|rounds| *rounds <= REPETITIONS_MAX);
    rounds.ok_or_else(|| format!("a whole number from 0 to {REPETITIONS_MAX}, as in `--further 10`"))
}

/// The scenario with the repetitions of `--repeat`.
pub(super) fn repeated(scenario: Scenario, repeat: Option<u32>) -> Result<Scenario, ScenarioError> {
    match repeat {
        Some(repeat) => scenario.repeated(repeat, &format!("--repeat {repeat}")),
        None => Ok(scenario),
    }
}

/// The cells whose names match one of these patterns, or all without patterns. Self-tests stay with the faults of the
/// selected cells, because they show what those cells' passes are worth.
pub(super) fn chosen(scenario: &Scenario, only: &[String]) -> anyhow::Result<Vec<Cell>> {
    let cells = scenario.cells();
    let only = NameFilter::new(only);
    only.check(&cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>())?;
    let is_chosen = |cell: &&Cell| !cell.self_test && only.wants(&cell.name);
    let faults: BTreeSet<String> = cells.iter().filter(is_chosen).map(|cell| cell.fault_name.clone()).collect();
    let is_kept = |cell: &Cell| only.wants(&cell.name) || cell.self_test && faults.contains(&cell.fault_name);
    let (kept, left): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(is_kept);
    if let Some(left) = left.iter().find(|cell| cell.self_test).filter(|_| !kept.iter().any(|cell| cell.self_test)) {
        inform!(
            "! the self-test with {} is left out: --only chooses no cell with its fault, {}",
            left.recipe,
            left.fault_name
        );
    }
    Ok(kept)
}

/// One side of a run: a scenario with its changes, and its selected cells.
fn side(
    args: &RunArgs,
    name: &str,
    overrides: &[Overrides<'_>],
    program: Option<&ProgramOption<'_>>,
    request: &EnsembleRequest,
) -> Result<CellSelection, Failure> {
    let verbatim = text(name)?;
    let set = overrides.last().map_or("--set", |last| last.option);
    // Two programs on one scenario need the same changes of it.
    let set_for_program = if args.against.is_none() { "--set" } else { set };
    let choose = || {
        let mut scenario = repeated(Scenario::parse_with(&verbatim, name, overrides)?, args.repeat)?;
        scenario.further_rounds = args.further.unwrap_or(scenario.further_rounds);
        if let Some(ProgramOption { option, command, sets }) = program {
            let spec = program_of(option, command, sets)?;
            programs::holds_one_candidate(option, &spec, &scenario, set_for_program)?;
            let left_out;
            (scenario, left_out) = scenario.with_program(CANDIDATE, spec, option)?;
            left_out.iter().for_each(|what| inform!("! left out with {option}: {what}"));
        }
        refuse_programs_where_they_have_no_way_in(request, &scenario)?;
        refuse_what_is_not_ours(request, &scenario, set)?;
        let cells = chosen(&scenario, &args.only)?;
        let only = cells.into_iter().map(|cell| cell.name).collect();
        anyhow::Ok(CellSelection { scenario, only, verbatim: verbatim.clone() })
    };
    choose().map_err(Failure::usage)
}

/// Runs the scenario. Returns the exit code of the verdict.
pub(super) async fn run(args: RunArgs, command: String) -> Result<Exit, Failure> {
    let request = args.ensemble.clone().request().map_err(Failure::usage)?;
    let set = [Overrides { option: "--set", sets: &args.set }];
    let own = side(&args, &args.scenario, &set, ProgramOption::own(&args).as_ref(), &request);
    let own = own.map_err(|failure| unquoted::with_hint(failure, &args.scenario, args.candidate.is_some()))?;
    let scenario = own.scenario.clone();
    if scenario.repeat < 2 && args.further.is_some_and(|further| further > 0) {
        let why = "--further has no effect on cells that run once; add --repeat 2, or more";
        return Err(Failure::usage(anyhow::anyhow!(why)));
    }
    let seed = args.seed.or(scenario.seed).unwrap_or(DEFAULT_SEED);
    args.out.as_deref().map_or(Ok(()), Archive::check).map_err(Failure::output)?;
    let exe = std::env::current_exe().context("this executable cannot be found").map_err(Failure::infrastructure)?;
    let against = against(&args, &request, &exe).await?;
    let all = own.all(against.as_ref(), Clone::clone).map_err(Failure::usage)?;
    check_rounds(&all, scenario.repetition_number_max())
        .map_err(|problem| Failure::usage(anyhow::anyhow!("{problem}")))?;
    programs::can_be_started(&all).map_err(Failure::usage)?;
    check_base_port(&request, &all).map_err(Failure::usage)?;
    if args.dry_run && !args.chaos {
        return dry(&request, &own, against.as_ref(), seed, args.verbose).await;
    }
    if all.iter().any(|cell| cell.program.is_some()) {
        working_directory::required().map_err(Failure::infrastructure)?;
    }
    let interrupt = Interrupt::take_over();
    let (request, why) = tokio::select! {
        chosen = request.choose() => chosen.map_err(RunError::from)?,
        () = interrupt.first() => return Err(RunError::Interrupted.into()),
    };
    let rules = compare::rules(args.delta);
    let durations_ms: BTreeMap<String, u64> =
        all.iter().map(|cell| (cell.name.clone(), cell_duration_ms(cell, &plan(cell, seed)))).collect();
    let mut options = RunOptions {
        chosen: own,
        against,
        seed,
        out: PathBuf::new(),
        request,
        why,
        interrupt,
        lying_proxy: args.lying_proxy,
        exe,
        again: RetrySelectors {
            spoilt: Arc::new(|record| {
                selection(record, |summary| cells_to_repeat(summary).into_iter().map(|name| (name, 1)).collect())
            }),
            undecided: Arc::new(move |record| {
                let duration_ms = |of: &str| durations_ms.get(of).copied().unwrap_or_default();
                selection(record, |summary| undecided(summary, rules, duration_ms))
            }),
            missing: Arc::new(move |record| selection(record, |summary| rounds_missing(summary, rules))),
        },
        command,
        screen: is_screen(),
        quiet: args.quiet,
    };
    if args.chaos {
        let asked = chaos::ChaosOptions {
            base: &scenario,
            // Chaos has no baseline.
            cells: &all,
            seed: args.seed,
            long: args.long,
            out: args.out.as_deref(),
            json: args.json,
            quiet: args.quiet,
        };
        return if args.dry_run { chaos::dry(&asked, &options).await } else { chaos::run(&asked, options).await };
    }
    if let Some(why) = load_warning() {
        inform!("warning: {why}");
    }
    let folder = RecordFolder::new(args.out.as_deref(), &scenario.name).map_err(Failure::output)?;
    folder.path().clone_into(&mut options.out);
    let outcome = perform(&options).await.map_err(|error| or_simulated(error, &args.scenario, &all))?;
    let held = options.against.is_some();
    let told = ReportOutput { json: args.json && !held, quiet: args.quiet };
    let made = report::make(&outcome.folder, &told);
    if let Some(why) = outcome.trouble {
        let exit = made.as_ref().map_or(Exit::Infrastructure, Exit::of);
        let unreported = made.err().map(|failure| format!("; no report was made: {}", in_full(&failure.error)));
        let why = with_what_is_left(&why, &outcome.folder);
        return Err(Failure { exit, error: anyhow::anyhow!("{why}{}", unreported.unwrap_or_default()) });
    }
    let summary = made?;
    if outcome.state == RunState::Interrupted {
        return Ok(Exit::Interrupted);
    }
    Ok(if held { compare::of_run(&summary, rules, args.json)? } else { Exit::from(summary.verdict) })
}

/// Adds to an error about this machine's limits that a simulation does not have them.
fn or_simulated(error: RunError, name: &str, cells: &[Cell]) -> Failure {
    let exceeds = matches!(error, RunError::Capacity(_)) && cells.iter().all(|cell| cell.program.is_none());
    let failure = Failure::from(error);
    if !exceeds {
        return failure;
    }
    let why = format!("{:#}; or run it in virtual time: `hustings simulate {name}`", failure.error);
    Failure { error: anyhow::anyhow!(why), ..failure }
}

/// The other side of the comparison, if any.
async fn against(args: &RunArgs, request: &EnsembleRequest, own_exe: &Path) -> Result<Option<ComparisonBase>, Failure> {
    let other = args.against.is_some() || args.against_exe.is_some() || args.against_candidate.is_some();
    if !other && args.against_set.is_empty() {
        return Ok(None);
    }
    let name = args.against.as_ref().unwrap_or(&args.scenario);
    // If the same scenario is used, it keeps the changes of this side.
    let own = if args.against.is_none() { args.set.as_slice() } else { &[] };
    let sets = [("--set", own), ("--against-set", args.against_set.as_slice())];
    let sets = sets.map(|(option, sets)| Overrides { option, sets });
    let chosen = side(args, name, &sets, ProgramOption::against(args).as_ref(), request)?;
    let exe = match &args.against_exe {
        Some(exe) => {
            let exe = exe.canonicalize().with_context(|| format!("--against-exe {}", exe.display()));
            let exe = exe.map_err(Failure::usage)?;
            programs::is_of_ours(&exe).await.context("--against-exe").map_err(Failure::usage)?;
            exe
        }
        None => own_exe.to_owned(),
    };
    Ok(Some(ComparisonBase { chosen, exe }))
}
