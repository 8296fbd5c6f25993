//! `hustings explain`: explains a scenario, a recipe, a known bug, a fault, a check, a figure or a term.

use anyhow::anyhow;
use hustings_record::FaultKind;
use hustings_reports::check::{CHECKERS, Checker};
use hustings_reports::definitions::{self, Definition};
use hustings_reports::gate::{FIGURES, Figure};
use hustings_workloads::adapters::{ADAPTERS, Adapter};
use hustings_workloads::recipes::{Case, RecipeKind, cases};
use hustings_workloads::scenario::{ShippedScenario, meant};

use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::say;

/// Explain a scenario, a recipe, a fault, a check, a figure or a term
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings explain herd
  hustings explain predecessor-watch
  hustings explain parent-delete
  hustings explain stale-writes
  hustings explain failover_p50_ms
  hustings explain injection
  hustings explain false-failover"))]
pub(super) struct ExplainArgs {
    /// A name of `hustings list` or `hustings gate --figures`, or a term of a report or of `hustings tune`
    name: String,
}

/// Explains everything with this name.
pub(super) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let name = args.name.as_str();
    let scenario = ShippedScenario::find(name).map(scenario).transpose()?;
    let recipe = RecipeKind::all().find(|recipe| recipe.name() == name).map(recipe);
    let program = Adapter::find(name.strip_prefix("foreign:").unwrap_or(name)).map(program);
    let fault = FaultKind::ALL.iter().find(|kind| kind.name() == name).map(|kind| fault(*kind));
    let check = CHECKERS.iter().find(|checker| checker.name == name).map(check);
    let figure = FIGURES.iter().find(|figure| figure.name == name).map(figure);
    let definitions = definitions::of(name).iter().map(definition).collect::<Vec<_>>();
    let bug = cases().iter().find(|case| case.name == name).map(known_bug);
    let named = [scenario, recipe, program, bug, fault, check, figure].into_iter().flatten();
    let found: Vec<String> = named.chain(definitions).collect();
    if found.is_empty() {
        let meant = meant(name, &names());
        return Err(Failure::usage(anyhow!(
            "there is no scenario, recipe, program, fault, check, figure or term {name:?}{meant} (`hustings list` and `hustings gate --figures` \
             have names)"
        )));
    }
    found.into_iter().try_for_each(say)?;
    Ok(Exit::Pass)
}

fn names() -> Vec<String> {
    let scenarios = hustings_workloads::scenario::SHIPPED.map(|shipped| shipped.name);
    let recipes = RecipeKind::all().map(RecipeKind::name);
    let programs = ADAPTERS.iter().map(|adapter| adapter.name);
    let faults = FaultKind::ALL.iter().map(|kind| kind.name());
    let checks = CHECKERS.iter().map(|checker| checker.name);
    let known = scenarios.into_iter().chain(recipes).chain(programs).chain(faults).chain(checks).map(str::to_owned);
    let terms = definitions::all().into_iter().flat_map(|definition| definition.names).map(str::to_owned);
    let bugs = cases().iter().map(|case| case.name.to_owned());
    known.chain(bugs).chain(terms).collect()
}

fn scenario(shipped: ShippedScenario) -> Result<String, Failure> {
    let scenario = shipped.parse(&[]).map_err(Failure::usage)?;
    let cells: Vec<String> = scenario.cells().into_iter().map(|cell| format!("  {}", cell.name)).collect();
    Ok(format!(
        "scenario {}: {}\n\n{}\n\nits cells:\n{}\n\n`hustings run {} --dry-run` shows what happens in them and when",
        scenario.name,
        scenario.summary,
        scenario.analysis.trim(),
        cells.join("\n"),
        scenario.name,
    ))
}

fn program(adapter: &Adapter) -> String {
    let declares = adapter.declared;
    format!(
        "program foreign:{}: {}\n  command: {}\n  Debian's packages that it needs: {}\n  the loss of a leader is to wake: {}\n  that of a \
         follower: {}",
        adapter.name,
        adapter.about,
        adapter.command.join(" "),
        adapter.packages.join(", "),
        declares.leader_wakes.about(),
        declares.follower_wakes.about(),
    )
}

fn recipe(recipe: RecipeKind) -> String {
    let declares = recipe.declares();
    format!(
        "recipe {recipe}: {}\n  the loss of a leader wakes: {}\n  that of a follower: {}\n  requests a wake-up, at most: {}",
        recipe.describe().trim(),
        declares.leader_wakes.about(),
        declares.follower_wakes.about(),
        declares.requests_per_wake_max.map_or_else(|| "any number".to_owned(), |most| most.to_string()),
    )
}

fn fault(kind: FaultKind) -> String {
    let facts = kind.facts();
    let mut told = format!("fault {kind}: {}\n  verified when: {}", kind.about(), facts.proof);
    for (is_so, what) in [
        (facts.lets_sessions_expire, "the affected sessions expire"),
        (
            facts.defeats_client_checks,
            "for a moment no recipe can know that it has lost the lead: stale writes are for a fence to stop",
        ),
        (kind.needs_links(), "needs links: hosts reach the servers through proxies"),
        (kind.hits_servers(), "hits servers: refused on an external ensemble"),
    ] {
        if is_so {
            told.push_str("\n  ");
            told.push_str(what);
        }
    }
    told
}

fn check(checker: &Checker) -> String {
    format!("check {}: {}{}", checker.name, checker.about, rests_on(checker))
}

fn known_bug(case: &Case) -> String {
    let caught: Vec<&str> = case.caught.iter().map(|caught| caught.name()).collect();
    format!(
        "known bug {}: {}\n  seen in: {}\n  caught by: {}\n  `hustings simulate --known {}` reproduces it",
        case.name,
        case.wrong,
        case.seen_in,
        caught.join(", "),
        case.name,
    )
}

fn figure(figure: &Figure) -> String {
    format!("figure {}: {}", figure.name, figure.about)
}

fn definition(definition: &Definition) -> String {
    // Markers of generated sections are not for readers.
    let lines: Vec<&str> = definition.text.lines().filter(|line| !line.starts_with("<!--")).collect();
    format!("\n{}\n\n{}", definition.title, lines.join("\n"))
}

fn rests_on(checker: &Checker) -> String {
    let grades: Vec<&str> = checker.rests_on.iter().map(|grade| grade.name()).collect();
    if grades.is_empty() { String::new() } else { format!("\n  rests on: {}", grades.join(", ")) }
}
