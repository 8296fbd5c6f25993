//! `hustings list`: the scenarios, recipes and faults there are.

use hustings_record::FaultKind;
use hustings_workloads::recipes::RecipeKind;
use hustings_workloads::scenario::SHIPPED;

use crate::exit::{Exit, Failure, with_codes};
use crate::output::say;

/// List the scenarios that come with the program, and the recipes and faults they can use.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings list
  hustings list --json | jq -r '.scenarios[].name'"))]
pub(super) struct ListArgs {
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub(super) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let recipes: Vec<String> = RecipeKind::all().filter(|r| !r.is_broken()).map(|r| r.to_string()).collect();
    let faults: Vec<&str> = FaultKind::ALL.iter().map(|kind| kind.name()).collect();
    let parsed = SHIPPED.into_iter().filter_map(|shipped| shipped.parse(&[]).ok());
    let scenarios: Vec<(String, String)> = parsed.map(|s| (s.name, s.summary)).collect();
    if args.json {
        let scenarios: Vec<_> =
            scenarios.iter().map(|(name, summary)| serde_json::json!({ "name": name, "summary": summary })).collect();
        say(serde_json::json!({ "scenarios": scenarios, "recipes": recipes, "faults": faults }))?;
    } else {
        say("scenarios:")?;
        for (name, summary) in scenarios {
            say(format_args!("  {name:<16} {summary}"))?;
        }
        say(format_args!("recipes:\n  {}", recipes.join(", ")))?;
        say("faults, and what is seen of each before it counts:")?;
        for kind in FaultKind::ALL {
            say(format_args!("  {:<18} {}", kind.name(), kind.facts().proof))?;
        }
    }
    Ok(Exit::Pass)
}
