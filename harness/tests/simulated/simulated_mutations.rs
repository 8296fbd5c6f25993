//! Could each check have failed, on the cells of the shipped scenarios? Their simulated records are altered as broken
//! programs, servers and faults would have caused. The check that must catch an alteration does so, or the cell says
//! why it cannot show it.

use hustings::simulate::recorded;
use hustings_reports::mutations::{MUTATIONS, Matrix, SiteOutcome, matrix};
use hustings_workloads::scenario::Cell;
use hustings_workloads::simulation::Simulation;

use crate::records::cells;

fn altered(cell: Cell) -> Matrix {
    let name = cell.name.clone();
    let (record, _) = recorded(&Simulation::of(cell, 1)).unwrap_or_else(|error| panic!("{name}: {error}"));
    matrix(&record)
}

/// Alters every cell of a scenario. Returns the numbers of pairs of a cell and a passing check, and of testable ones.
fn no_hole(scenario: &str, sets: &[&str]) -> (usize, usize) {
    let (mut passed, mut testable, mut holes) = (0, 0, Vec::new());
    // External programs do not run in virtual time.
    for cell in cells(scenario, sets).into_iter().filter(|cell| cell.recipe.foreign().is_none()) {
        let found = altered(cell);
        passed += found.passed.len();
        testable += found.testable().len();
        let name = &found.cell;
        holes.extend(
            found.holes().map(|row| format!("{name}: {} misses {}: {:?}", row.check, row.mutation, row.outcome)),
        );
        for row in &found.rows {
            let is_passed = row.outcome != SiteOutcome::NotPassed;
            assert!(is_passed, "{}: {} does not pass a sound recipe", found.cell, row.check);
        }
    }
    assert!(holes.is_empty(), "{}", holes.join("\n"));
    println!("{scenario}: {testable} of {passed} pairs of a cell and a check that passes are testable");
    (passed, testable)
}

macro_rules! no_holes {
    ($($test:ident: $scenario:literal, $sets:expr, $least:literal;)+) => {$(
        #[test]
        fn $test() {
            let (passed, testable) = no_hole($scenario, &$sets);
            let percent = 100 * testable / passed.max(1);
            assert!(percent >= $least, "{testable} of {passed} are testable, and {} % were", $least);
        }
    )+};
}

// The share, in percent, may rise; if it falls, a check no longer detects something.
no_holes! {
    every_check_of_quick_can_fail_where_it_passes_or_says_why_not: "quick", [], 90;
    every_check_of_herd_can_fail_where_it_passes_or_says_why_not: "herd", ["matrix.candidates_per_group=[10,50]"], 90;
    every_check_of_split_brain_can_fail_where_it_passes_or_says_why_not: "split-brain", ["election.groups=6"], 90;
    every_check_of_thousand_can_fail_where_it_passes_or_says_why_not: "thousand", ["election.groups=60"], 80;
    every_check_of_sequential_start_can_fail_where_it_passes_or_says_why_not: "sequential-start", [], 80;
    every_check_of_quorum_loss_can_fail_where_it_passes_or_says_why_not: "quorum-loss", ["election.groups=20"], 60;
    every_check_of_reconnect_can_fail_where_it_passes_or_says_why_not: "reconnect", [], 70;
    every_check_of_gauntlet_can_fail_where_it_passes_or_says_why_not: "gauntlet", [], 80;
    every_check_of_gate_can_fail_where_it_passes_or_says_why_not: "gate", ["repeat=1", "election.groups=10"], 90;
    every_check_of_pull_request_can_fail_where_it_passes_or_says_why_not: "pull-request", ["repeat=1"], 85;
    every_check_of_pauses_can_fail_where_it_passes_or_says_why_not: "pauses", [], 75;
    every_check_of_league_can_fail_where_it_passes_or_says_why_not: "league", ["repeat=1", "election.groups=8"], 75;
    every_check_of_million_can_fail_where_it_passes_or_says_why_not: "million", ["election.groups=100"], 60;
}

#[test]
fn every_mutation_has_a_name_of_its_own_and_a_check_that_must_catch_it() {
    let mut names: Vec<&str> = MUTATIONS.iter().map(|mutation| mutation.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for checker in hustings_reports::check::CHECKERS {
        assert!(MUTATIONS.iter().any(|one| one.check == checker.name), "no mutation is there for {}", checker.name);
    }
}
