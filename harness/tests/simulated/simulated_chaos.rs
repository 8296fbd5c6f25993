//! Random scenarios in virtual time: they run in the places they are drawn for, show nothing for sound recipes, and
//! show the bugs of others.

use std::collections::BTreeSet;

use hustings::simulate::try_simulation;
use hustings_record::FaultKind;
use hustings_workloads::recipes::RecipeKind;
use hustings_workloads::scenario::{Cell, RunCapabilities, Scenario, ShippedScenario, random};
use hustings_workloads::simulation::Simulation;

const ROUNDS: u64 = 40;
const ALL: RunCapabilities = RunCapabilities { own_servers: true, reading_links: true };

fn base(sets: &[String]) -> Scenario {
    ShippedScenario::find("quick").expect("it ships").parse(sets).expect("valid")
}

fn drawn(base: &Scenario, round: u64, possible: RunCapabilities) -> Scenario {
    random(base, &base.cells(), 1, round, possible).unwrap_or_else(|| panic!("round {round}: nothing is drawn"))
}

/// Findings that must not occur for a cell in virtual time: failed checks, and notes that doubt the harness itself.
fn fails(cell: &Cell, seed: u64) -> BTreeSet<String> {
    let trial =
        try_simulation(&Simulation::of(cell.clone(), seed)).unwrap_or_else(|error| panic!("{}: {error:#}", cell.name));
    let said = trial.summary.checks.iter().flat_map(|check| &check.details);
    let doubts = ["harness: ", "though its verification says otherwise"];
    let own = said.filter(|line| doubts.iter().any(|doubt| line.contains(doubt))).cloned().collect::<Vec<_>>();
    trial.failed.into_iter().chain(own).collect()
}

#[test]
fn a_round_is_a_scenario_that_can_be_kept_and_run_again() {
    let base = base(&[]);
    let mut kinds = BTreeSet::new();
    for round in 1..200 {
        let scenario = drawn(&base, round, ALL);
        let text = scenario.to_toml().expect("it can be written");
        assert_eq!(Scenario::parse(&text, "round", &[]).expect("it can be read"), scenario);
        assert_eq!(drawn(&base, round, ALL), scenario, "the same is drawn again");
        kinds.extend(scenario.cells().iter().flat_map(|cell| cell.kinds().collect::<Vec<_>>()));
    }
    let all: BTreeSet<FaultKind> = FaultKind::ALL.iter().copied().filter(|kind| *kind != FaultKind::None).collect();
    assert_eq!(kinds, all);
}

#[test]
fn servers_of_others_are_neither_hit_nor_counted_anew_and_links_of_others_are_not_read() {
    let base = base(&[]);
    for round in 1..200 {
        let scenario = drawn(&base, round, RunCapabilities { own_servers: false, reading_links: false });
        assert_eq!(scenario.ensemble.servers, base.ensemble.servers);
        for cell in scenario.cells() {
            assert!(!cell.kinds().any(|kind| kind.hits_servers() || kind.needs_reading_links()), "{}", cell.name);
        }
    }
}

#[test]
fn rounds_show_nothing_of_sound_recipes() {
    let mut all = Vec::new();
    for recipe in RecipeKind::sound().map(RecipeKind::name) {
        let base = base(&[format!("matrix.recipe=[\"{recipe}\"]")]);
        for round in 1..=ROUNDS {
            let scenario = drawn(&base, round, ALL);
            for cell in scenario.cells() {
                let failed = fails(&cell, scenario.seed.unwrap_or_default());
                if !failed.is_empty() {
                    all.push(format!(
                        "round {round}, {}: {}",
                        cell.name,
                        failed.into_iter().collect::<Vec<_>>().join(", ")
                    ));
                }
            }
        }
    }
    assert_eq!(all, Vec::<String>::new());
}

#[test]
fn rounds_show_what_is_broken() {
    let sets = ["allow_broken=true", "matrix.recipe=[\"broken:ignores-session-loss\"]"].map(str::to_owned);
    let base = base(&sets);
    let shown = (1..=ROUNDS).find(|round| {
        let scenario = drawn(&base, *round, ALL);
        scenario.cells().iter().any(|cell| !fails(cell, scenario.seed.unwrap_or_default()).is_empty())
    });
    assert!(shown.is_some(), "{ROUNDS} rounds show nothing");
}
