//! `hustings simulate` from a user's view: reproducible records, searches that find bugs, and deliberately broken
//! recipes.

use std::collections::BTreeMap;
use std::path::Path;

use crate::run_support::{Bench, files};
use hustings_record::WarningKind;

/// Every file below a folder, by its path there.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |path: &Path| path.strip_prefix(folder).expect("below it").display().to_string();
    files(folder, "").into_iter().map(|path| (name(&path), std::fs::read(&path).expect("readable"))).collect()
}

const SMALL: [&str; 4] = ["--set", "election.groups=3", "--set", "matrix.recipe=[\"naive\",\"lock-race\"]"];

/// Simulates a scenario twice with one seed and once with another.
fn assert_the_same_again(scenario: &str, sets: &[&str]) {
    let bench = Bench::new();
    let simulate = |out: &str, seed: &str| {
        let command = ["simulate", scenario, "--out", out, "--seed", seed, "--quiet"];
        bench.run(&[&command[..], sets].concat()).expect(0);
        contents(&bench.path(out))
    };
    let (one, again, other) = (simulate("one", "7"), simulate("again", "7"), simulate("other", "8"));
    assert!(one.len() > 10 && one.contains_key("report.html"), "{:?}", one.keys());
    assert_eq!(one.keys().collect::<Vec<_>>(), again.keys().collect::<Vec<_>>());
    for (name, content) in &one {
        assert!(again[name] == *content, "{name} differs");
    }
    assert!(other.values().ne(one.values()));
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_others() {
    assert_the_same_again("quick", &SMALL);
}

#[test]
fn so_it_does_where_servers_are_watched_and_probes_write() {
    assert_the_same_again("quorum-loss", &["--set", "election.groups=5", "--set", "matrix.fault=[\"kill\",\"pause\"]"]);
}

#[test]
fn the_quick_scenario_passes_and_wakes_as_many_as_its_recipes_promise() {
    let bench = Bench::new();
    let ran = bench.run(&["simulate", "quick", "--out", "record", "--json"]).expect(0);
    let summary = ran.summary();
    assert_eq!(summary.cells.len(), 12);
    for cell in &summary.cells {
        let others = if cell.info.recipe == "predecessor-watch" { 1 } else { 4 };
        assert_eq!(cell.fan_out.woken, Some((others, others, others)), "{}", cell.info.name);
        assert!(cell.handovers.completed > 0, "{}", cell.info.name);
    }
    let warned = summary.manifest.warnings.iter().any(|warning| warning.kind == WarningKind::Modelled);
    assert!(warned, "nobody takes it for a measurement: {:?}", summary.manifest.warnings);
}

#[test]
fn random_schedules_show_nothing_of_a_sound_recipe() {
    let bench = Bench::new();
    let one_fault = ["--set", "matrix.fault=[\"crash\"]"];
    let ran = bench.run(&[&["simulate", "quick", "--seeds", "0..150"][..], &one_fault[..]].concat()).expect(0);
    assert_eq!(ran.err.matches(": 150 seeds in").count(), 3, "once for each recipe: {}", ran.err);
    for line in ran.err.lines().filter(|line| line.contains(": 150 seeds in")) {
        let a_seed = line.split_once(" a seed)").and_then(|(before, _)| before.rsplit('(').next()?.parse::<f64>().ok());
        assert!(a_seed.is_some_and(|handovers| handovers >= 3.0), "{line}");
    }
}

/// Each of these seeds once showed an error: in a recipe, in the simulation, or in an assumption of the checks.
const TELLING: [(&str, &[u64]); 4] = [
    ("predecessor-watch", &[13_619, 18_987, 33_911, 50_859, 97_952]),
    ("naive", &[38_424, 48_099, 49_172, 53_054, 55_340, 67_030, 72_182, 69_775, 89_914, 94_294]),
    ("lock-race", &[8_092, 14_861, 21_134, 31_425, 32_814, 36_435, 40_263, 89_801]),
    ("poll-race", &[36_153, 39_582, 42_517, 48_112, 83_287, 97_750]),
];

#[test]
fn random_schedules_that_once_showed_something_show_nothing() {
    let bench = Bench::new();
    for (recipe, seeds) in TELLING {
        let recipe = format!("matrix.recipe=[\"{recipe}\"]");
        for seed in seeds {
            let seeds = format!("{seed}..{}", seed + 1);
            let one = ["--set", &recipe, "--set", "matrix.fault=[\"resign\"]", "--seeds", &seeds];
            let ran = bench.run(&[&["simulate", "quick"][..], &one[..]].concat());
            assert_eq!(ran.code, 0, "{recipe}, seed {seed}: {}{}", ran.out, ran.err);
        }
    }
}

#[test]
fn a_search_finds_a_broken_recipe_and_tells_how_to_see_it_again() {
    let bench = Bench::new();
    let broken = ["--set", "allow_broken=true", "--set", "matrix.recipe=[\"broken:ignores-session-loss\"]"];
    let one_fault = ["--set", "matrix.fault=[\"crash\"]"];
    let command = [&["simulate", "quick", "--seeds", "0..2000"][..], &broken[..], &one_fault[..]].concat();
    let ran = bench.run(&command).expect(1);
    let again = ran.out.lines().find_map(|line| line.trim().strip_prefix("again: hustings ")).expect("a command");
    let mut words: Vec<String> = again.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect();
    words.extend(["--out".to_owned(), "again".to_owned()]);
    bench.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).expect(1);
}

#[test]
fn a_broken_recipe_that_is_caught_leaves_a_pass_and_one_that_is_not_leaves_doubt() {
    let bench = Bench::new();
    let with = |fault: &str| {
        let set = format!("self_test={{recipe=\"broken:ignores-session-loss\",fault=\"{fault}\"}}");
        bench.run(&[&["simulate", "quick", "--out", fault, "--json", "--set", &set][..], &SMALL[..]].concat())
    };
    let caught = with("partition");
    assert_eq!(caught.code, 0, "{}", caught.err);
    let summary = caught.summary();
    let broken = summary.cells.iter().find(|cell| cell.info.self_test).expect("its cell");
    assert!(broken.unsafe_as_expected, "{:?}", broken.checks);
    // It gives the lead back in the normal way.
    let missed = with("resign");
    assert_eq!(missed.code, 3, "{}", missed.err);
    assert!(missed.summary().notes.iter().any(|note| note.starts_with("self-test")));
}

#[test]
fn what_cannot_be_simulated_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    let refused = [
        (vec!["simulate", "quick", "--seeds", "5..5"], "there is no seed"),
        (vec!["simulate", "quick", "--seeds", "five"], "0..1000"),
        (vec!["simulate", "quick", "--steps", "1"], "--schedule"),
        (vec!["simulate", "quick", "--schedule", "1", "--cell", "nowhere"], "there is no cell"),
        (vec!["simulate", "quick", "--timing", "nowhere.toml"], "nowhere.toml"),
        (vec!["simulate", "nowhere"], "nowhere"),
        (vec!["simulate", "quick", "--set", "self_test={recipe=\"naive\"}"], "is not broken"),
        (vec!["simulate", "quick", "--timing", "cores.toml"], "cores = 9223372036854775807 is too much: choose 65536"),
        (vec!["simulate", "quick", "--timing", "zeros.toml"], "zeros.toml: link_us and client_us are both 0"),
        (vec!["simulate", "quick", "--set", "election.witness=true"], "election.witness=false"),
        (vec!["simulate", "quick", "--set", "election.witness=true", "--seeds", "0..3"], "election.witness=false"),
        (vec!["simulate", "quick", "--set", "election.witness=true", "--schedule", "1"], "election.witness=false"),
    ];
    bench.file("cores.toml", "cores = 9223372036854775807\n");
    bench.file("zeros.toml", "link_us = 0\nclient_us = 0\n");
    for (args, told) in refused {
        let ran = bench.run(&args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(told), "{args:?}: {}", ran.err);
    }
    assert!(!bench.path("runs").exists());
}

#[test]
fn a_host_that_is_killed_for_good_is_not_waited_for() {
    let bench = Bench::new();
    let ran =
        bench.run(&["simulate", "million", "--set", "election.groups=30", "--out", "out", "--json", "-q"]).expect(0);
    let summary: serde_json::Value = ran.json();
    let (recorded, groups) = (&summary["recorded_ns"], &summary["cells"][0]["leaderless"]["groups_at_end"]);
    // 94 s of measuring; a drain that waits in vain would take 120 s more.
    assert!(recorded.as_u64().is_some_and(|ns| ns < 130_000_000_000), "{recorded}");
    assert_eq!(groups, 0);
}

#[test]
fn every_known_bug_is_told_with_the_schedule_that_shows_it() {
    let bench = Bench::new();
    let ran = bench.run(&["simulate", "--known", "--seeds", "0..20"]);
    // Twenty random schedules are too few for some recipes.
    assert_eq!(ran.code, 1, "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(
        lines.len() > 25 && lines[..lines.len() - 1].iter().all(|l| l.contains("caught on its schedule")),
        "{lines:#?}"
    );
    assert!(lines.iter().any(|l| l.contains("by seed 0,")) && lines.iter().any(|l| l.contains("by NONE of 20 ")));
    assert_eq!(bench.run(&["simulate", "--known"]).code, 0);
}
