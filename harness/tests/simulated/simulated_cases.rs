//! The report's checks catch every known bug of elections on its own schedule; the sound recipe shows nothing on the
//! same one.

use std::collections::BTreeSet;

use hustings::simulate::{Trial, try_simulation};
use hustings_workloads::model::Bugs;
use hustings_workloads::recipes::{Case, FindingKind, RecipeKind, cases};
use hustings_workloads::simulation::{Simulation, Timing};

/// The schedules do not depend on one of them.
const SEEDS: std::ops::Range<u64> = 1..9;

fn run(case: &Case, recipe: RecipeKind, bugs: Bugs, seed: u64) -> Trial {
    let cell = case.cell(recipe).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let schedule = Some(case.schedule.to_vec());
    let trial = try_simulation(&Simulation { cell, seed, timing: Timing::default(), bugs, schedule });
    trial.unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

fn all() -> impl Iterator<Item = (&'static Case, u64)> {
    cases().iter().flat_map(|case| SEEDS.map(move |seed| (case, seed)))
}

#[test]
fn every_bug_is_caught_with_what_it_must_be_caught_with() {
    let mut wrong = Vec::new();
    for (case, seed) in all() {
        let trial = run(case, case.recipe, case.bugs, seed);
        let wanted: BTreeSet<FindingKind> = case.caught.iter().copied().collect();
        if !wanted.is_subset(&trial.caught) || !trial.enrolled {
            let (caught, checks) = (trial.caught, trial.summary.checks);
            wrong.push(format!("{} (seed {seed}): {caught:?} instead of {wanted:?}: {checks:#?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_sound_recipe_shows_nothing_on_the_same_schedule() {
    let mut wrong = Vec::new();
    for (case, seed) in all() {
        // Bugs that no recipe can avoid do not show on servers without the bug.
        let (recipe, bugs) = case.sound.map_or((case.recipe, Bugs::default()), |sound| (sound, case.bugs));
        let trial = run(case, recipe, bugs, seed);
        if !trial.caught.is_empty() || !trial.enrolled {
            let (caught, checks) = (trial.caught, trial.summary.checks);
            wrong.push(format!("{} with {recipe} (seed {seed}): {caught:?}: {checks:#?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
