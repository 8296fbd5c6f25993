//! `hustings run`: a scenario, on a real ensemble, to a record and a report.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Parser as _;
use hustings_record::RunState;
use hustings_workloads::scenario::{Cell, SHIPPED, Scenario, Shipped, explain};
use wildmatch::WildMatch;

use crate::archive::Archive;
use crate::cmd::ensemble::EnsembleArgs;
use crate::cmd::in_full;
use crate::cmd::report::{self, Told};
use crate::coordinator::{RunOptions, default_folder, run as perform};
use crate::ensemble::start::EnsembleRequest;
use crate::exit::{Exit, Failure, with_codes};
use crate::output::{is_screen, say};

/// Seed of runs that name none.
const DEFAULT_SEED: u64 = 1;

/// Run a scenario: start an ensemble, enrol candidates, break things, and report.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings run                                    the quick scenario, on servers started for it
  hustings run split-brain --seed 7               another one, with another choice of victims
  hustings run quick --set election.groups=50     with a parameter changed
  hustings run quick --only '*-crash'             some of its cells
  hustings run my.toml --dry-run                  what a scenario of your own would do
  hustings run quick --json > summary.json        the summary for machines
  hustings run quick --ensemble docker            on containers
  hustings run quick --connect zk1:2181,zk2:2181,zk3:2181
                                                  on servers that run already, of which only its own znodes are touched
  hustings run quick --connect zk1:2182,zk2:2182,zk3:2182/tests --tls-ca ca.pem --auth-file secret
                                                  the same below a znode of theirs, by TLS, as a user of theirs"))]
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
    /// Seed of every random choice of victims, times and placement [default: the scenario's]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Folder for the record [default: runs/<time>-<scenario>]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Show the plan and end
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print the summary as JSON on standard output
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

/// A shipped scenario by its name, else a file.
pub(super) fn text(name: &str) -> Result<String, Failure> {
    if let Some(shipped) = Shipped::find(name) {
        return Ok(shipped.text.to_owned());
    }
    std::fs::read_to_string(name).map_err(|error| {
        let known = SHIPPED.map(|shipped| shipped.name).join(", ");
        let meant = Shipped::nearest(name).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let what =
            format!("{name} is neither a scenario that ships ({known}) nor a file that can be read ({error}){meant}");
        Failure::usage(anyhow::anyhow!(what))
    })
}

impl RunArgs {
    /// What `hustings` without arguments runs.
    #[must_use]
    pub(super) fn of_quick() -> Self {
        Alone::parse_from(["hustings"]).run
    }
}

#[derive(clap::Parser)]
struct Alone {
    #[command(flatten)]
    run: RunArgs,
}

/// Nothing may be done to servers of somebody else.
fn refuse_server_faults(request: &EnsembleRequest, scenario: &Scenario) -> anyhow::Result<()> {
    if !request.is_external() {
        return Ok(());
    }
    for cell in scenario.cells() {
        if let Some(kind) = cell.kinds().find(|kind| kind.hits_servers()) {
            bail!(
                "{kind} in cell {} would hit servers that somebody else runs, and those are left alone; use --ensemble local \
                 or --ensemble docker for it, or choose other faults (--set matrix.fault=…)",
                cell.name
            );
        }
    }
    Ok(())
}

/// The cells whose names are like one of these patterns; all, if there is none.
pub(super) fn chosen(scenario: &Scenario, only: &[String]) -> anyhow::Result<Vec<Cell>> {
    let cells = scenario.cells();
    let known = cells.iter().map(|cell| cell.name.clone()).collect::<Vec<_>>().join(", ");
    let patterns: Vec<WildMatch> = only.iter().map(|pattern| WildMatch::new(pattern)).collect();
    if let Some(idle) = patterns.iter().position(|pattern| !cells.iter().any(|cell| pattern.matches(&cell.name))) {
        bail!("--only {}: there is no such cell; there are {known}", only[idle]);
    }
    let wanted = |cell: &Cell| patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(&cell.name));
    Ok(cells.into_iter().filter(wanted).collect())
}

/// Runs it. The result is the exit code of the verdict.
pub(super) async fn run(args: RunArgs, command: String) -> Result<Exit, Failure> {
    let verbatim = text(&args.scenario)?;
    let scenario = Scenario::parse(&verbatim, &args.scenario, &args.set).map_err(Failure::usage)?;
    let seed = args.seed.or(scenario.seed).unwrap_or(DEFAULT_SEED);
    let request = args.ensemble.request().map_err(Failure::usage)?;
    refuse_server_faults(&request, &scenario).map_err(Failure::usage)?;
    let resolved = scenario.to_toml().map_err(Failure::usage)?;
    args.out.as_deref().map_or(Ok(()), Archive::check).map_err(Failure::usage)?;
    let cells = chosen(&scenario, &args.only).map_err(Failure::usage)?;
    if args.dry_run {
        say(explain(&scenario, &cells, seed))?;
        return Ok(Exit::Pass);
    }
    let out = match &args.out {
        Some(out) => Archive::reserve(out).map(|()| out.clone()).map_err(Failure::usage)?,
        None => default_folder(&scenario.name).map_err(Failure::usage)?,
    };
    let exe = std::env::current_exe().context("this executable cannot be found").map_err(Failure::infrastructure)?;
    let options = RunOptions {
        scenario,
        only: cells.into_iter().map(|cell| cell.name).collect(),
        verbatim,
        resolved,
        seed,
        out: out.clone(),
        request,
        lying_proxy: args.lying_proxy,
        exe,
        command,
        screen: is_screen(),
        quiet: args.quiet,
    };
    // A folder of ours that nothing was put into is of no use.
    let outcome = perform(&options).await.inspect_err(|_| _ = std::fs::remove_dir(&out))?;
    let told = Told { json: args.json, quiet: args.quiet };
    let made = report::make(&outcome.folder, &told);
    if let Some(why) = outcome.trouble {
        let exit = made.as_ref().map_or(Exit::Infrastructure, Exit::of);
        let unreported = made.err().map(|failure| format!("; no report was made: {}", in_full(&failure.error)));
        let record = outcome.folder.display();
        let why = format!("{why}; what was recorded until then is in {record}{}", unreported.unwrap_or_default());
        return Err(Failure { exit, error: anyhow::anyhow!(why) });
    }
    let verdict = made?.verdict;
    Ok(if outcome.state == RunState::Interrupted { Exit::Interrupted } else { verdict.into() })
}
