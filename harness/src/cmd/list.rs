//! `hustings list`: lists scenarios, recipes, faults and checks, or with `--runs` the records in a folder.

use std::path::PathBuf;

use hustings_record::FaultKind;
use hustings_reports::check::CHECKERS;
use hustings_workloads::adapters::ADAPTERS;
use hustings_workloads::recipes::RecipeKind;
use hustings_workloads::scenario::SHIPPED;

use crate::cmd::files::Output;
use crate::cmd::history;
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{say, say_json};

/// List the scenarios that come with the program, the recipes and faults they can use, and what is checked.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings list
  hustings list --json | jq -r '.scenarios[].name'
  hustings list --runs                            the records in the folder runs, the last one last
  hustings list --runs --page runs/index.html     the same as a page, with the failovers from run to run"))]
pub(super) struct ListArgs {
    /// List the records in a folder instead, by what their summaries say; `hustings check` recounts one
    #[arg(long)]
    runs: bool,
    /// The folder that the records are in
    #[arg(long, value_name = "DIR", default_value = history::FOLDER, requires = "runs")]
    r#in: PathBuf,
    /// Write a page over all of them; best into the folder, for its links lead from there
    #[arg(long, value_name = "FILE", requires = "runs")]
    page: Option<Output>,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub(super) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    if args.runs {
        return history::list(&args.r#in, args.page.as_ref(), args.json);
    }
    let parsed = SHIPPED.into_iter().filter_map(|shipped| shipped.parse(&[]).ok());
    let scenarios: Vec<(String, String)> = parsed.map(|s| (s.name, s.summary)).collect();
    if args.json {
        let scenarios: Vec<_> =
            scenarios.iter().map(|(name, summary)| serde_json::json!({ "name": name, "summary": summary })).collect();
        let recipes: Vec<&str> = RecipeKind::sound().map(RecipeKind::name).collect();
        let adapters: Vec<String> = ADAPTERS.iter().map(|adapter| format!("foreign:{}", adapter.name)).collect();
        let faults: Vec<&str> = FaultKind::ALL.iter().map(|kind| kind.name()).collect();
        let checks: Vec<&str> = CHECKERS.iter().map(|checker| checker.name).collect();
        say_json(serde_json::json!({
            "scenarios": scenarios, "recipes": recipes, "programs": adapters, "faults": faults, "checks": checks
        }))?;
    } else {
        say("scenarios:")?;
        for (name, summary) in scenarios {
            say(format_args!("  {name:<18} {summary}"))?;
        }
        say("recipes:")?;
        for recipe in RecipeKind::sound() {
            say(format_args!("  {:<18} {}", recipe.name(), recipe.describe().trim()))?;
        }
        say("adapters of other libraries' recipes, in place of a recipe:")?;
        for adapter in ADAPTERS {
            say(format_args!("  foreign:{:<18} {}", adapter.name, adapter.about))?;
        }
        say("faults:")?;
        for kind in FaultKind::ALL {
            say(format_args!("  {:<18} {}", kind.name(), kind.about()))?;
        }
        say("checks:")?;
        for checker in CHECKERS {
            say(format_args!("  {:<18} {}", checker.name, checker.about))?;
        }
        say("`hustings explain NAME` tells more of each")?;
    }
    Ok(Exit::Pass)
}
