//! The plan of a run as text: its duration, lengthened gaps, and the servers of others.

use hustings_record::{Warning, WarningKind};
use hustings_workloads::plan::plan;
use hustings_workloads::scenario::{
    ExternalServers, PlanView, SHIPPED, ShippedScenario, cell_duration_ms, describe_further_rounds, explain,
    explain_as, rounds, sides,
};

#[test]
fn summaries_name_the_duration_that_a_dry_run_estimates() {
    let words = [
        ("in a minute and a half", 90.0),
        ("in three minutes", 180.0),
        ("in three and a half minutes", 210.0),
        ("in twelve minutes a side", 720.0),
        ("in ten minutes a side", 600.0),
    ];
    for shipped in SHIPPED {
        let scenario = shipped.parse(&[]).unwrap();
        let summary = scenario.summary.as_str();
        if !summary.contains(" minute") {
            continue;
        }
        let named = words.iter().find(|named| summary.ends_with(named.0)).unwrap_or_else(|| panic!("{summary}"));
        let cells = scenario.cells();
        let total_ms: u64 = rounds(&cells, scenario.repeat).map(|cell| cell_duration_ms(&cell, &plan(&cell, 1))).sum();
        let share = total_ms as f64 / 1_000.0 / named.1;
        assert!((0.75..=1.1).contains(&share), "{}: {share} of the duration in its summary", shipped.name);
    }
}

#[test]
fn a_plan_of_two_sides_says_so_beside_a_summary_that_names_the_duration_of_one() {
    let scenario = ShippedScenario::find("pull-request").unwrap().parse(&[]).unwrap();
    let one = scenario.cells();
    let two = sides(&one, &one).unwrap();
    for (cells, count) in [(&one, "4 cells, each 5 times"), (&two, "8 cells of two sides, each 5 times")] {
        let plan = explain(&scenario, cells, 1);
        assert!(plan.contains(&format!(" minutes a side\nthis run: seed 1, {count} in 5 rounds")), "{plan}");
    }
}

#[test]
fn lengthened_gaps_are_told_and_of_servers_of_others_only_what_is_known() {
    let longer = ["election.session_timeout_ms=10000".to_owned()];
    let scenario = ShippedScenario::find("pull-request").unwrap().parse(&longer).unwrap();
    let told = explain(&scenario, &scenario.cells(), 1);
    let gap = "injections are 18.75 s apart on average, and not 9 s (faults.crash.every_ms), for T = 10 s";
    assert!(told.contains(gap) && told.matches("apart on average").count() == 2, "{told}");
    assert!(told.contains("fsync off"), "{told}");
    let warnings = vec![Warning::new(WarningKind::AsFound, "they are five")];
    let servers = ExternalServers { lines: vec!["ensemble: of somebody else".to_owned()], warnings };
    let told = explain_as(&scenario, &scenario.cells(), 1, PlanView { servers: Some(&servers), is_brief: false });
    assert!(told.contains("ensemble: of somebody else\nwarning: they are five\n"), "{told}");
    assert!(!told.contains("fsync"), "{told}");
}

#[test]
fn a_brief_plan_has_a_line_for_each_cell_and_names_what_may_be_added() {
    let scenario = ShippedScenario::find("gate").unwrap().parse(&[]).unwrap();
    let cells = scenario.cells();
    let told = explain_as(&scenario, &cells, 1, PlanView { servers: None, is_brief: true });
    assert!(told.lines().count() < cells.len() + 10, "{told}");
    let line = told.lines().find(|line| line.starts_with("1. predecessor-watch-crash  (about ")).expect("a line");
    assert!(line.contains(": 3 × crash; 100 candidates, T 1000 ms; expected: overlap none, "), "{line}");
    let further = describe_further_rounds(&scenario, &cells, 1).expect("35 more");
    assert!(
        told.contains(&further) && further.contains(" more, the time of 35 further rounds of all cells, where "),
        "{told}"
    );
    assert!(!further.contains("two sides"), "there is one: {further}");
    let fixed = ShippedScenario::find("gate").unwrap().parse(&["further_rounds=0".to_owned()]).unwrap();
    assert_eq!(describe_further_rounds(&fixed, &cells, 1), None);
}
