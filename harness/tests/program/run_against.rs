//! Two sides in one run: `run --against` on embedded servers.

use std::path::Path;

use crate::run_support::{Bench, EXE, summary_of};
use hustings_record::ComparisonSide;
use serde_json::Value;

const POLLED: &str = r#"
name = "polled"
[ensemble]
tick_ms = 100
warm_up_ms = 200
[election]
groups = 4
hosts = 3
candidates_per_group = 3
session_timeout_ms = 1000
work_interval_ms = 20
rejoin_after_ms = 150
poll_interval_ms = 20
[phases]
warm_up_ms = 200
drain_ms = 200
[faults.resign]
kind = "resign"
groups = 4
repeat = 5
every_ms = 500
[matrix]
recipe = ["poll-race", "predecessor-watch"]
"#;

fn pair<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let pairs = comparison["pairs"].as_array().expect("pairs");
    pairs.iter().find(|pair| pair["name"] == name).unwrap_or_else(|| panic!("{name} is not in {comparison}"))
}

#[test]
fn what_became_slower_on_one_side_is_found_there_alone() {
    let bench = Bench::new();
    let file = bench.scenario(POLLED);
    let slower = ["--set", "election.poll_interval_ms=300"];
    let base = ["--against", &file];
    // What else the machine does may make one cell slow, and not those of one side alone.
    let run = ["run", &file, "--ensemble", "embedded", "--repeat", "3", "--out", "record", "--json"];
    let ran = bench.run(&[&run[..], &slower, &base].concat());
    bench.assert_nothing_left();
    let found: Value = ran.json();
    // Whoever polls eight times as seldom hands over more slowly; nobody else is any worse.
    let polled = pair(&found, "poll-race-resign");
    assert!(
        polled["comparisons"]
            .as_array()
            .is_some_and(|all| { all.iter().any(|one| one["measure"] == "failover" && one["answer"] == "worse") }),
        "{polled:#}"
    );
    assert!(polled["differences"].to_string().contains("poll_interval_ms"), "{polled:#}");
    let watched = pair(&found, "predecessor-watch-resign");
    assert!(
        watched["comparisons"].as_array().is_some_and(|all| all.iter().all(|one| one["answer"] != "worse")),
        "{watched:#}"
    );
    assert_eq!((ran.code, &found["in_turn"]), (1, &true.into()), "{}", ran.err);

    let summary = summary_of(&bench.path("record"));
    let sides: Vec<ComparisonSide> =
        summary.cells.iter().filter_map(|cell| Some(cell.info.contest.as_ref()?.side)).collect();
    assert_eq!(sides.len(), 12);
    assert_eq!(sides.iter().filter(|side| **side == ComparisonSide::Base).count(), 6);
    assert!(bench.path("record/against.toml").exists() && summary.manifest.files.contains_key("against.toml"));
    // Whoever has the record finds the same.
    let again = bench.run(&["compare", "record", "--json"]).expect(1);
    assert_eq!(again.json::<Value>(), found);
}

#[test]
fn of_two_programs_each_stands_on_its_own_side_and_declares_what_is_its_own() {
    let bench = Bench::new();
    let file = bench.scenario(POLLED);
    // Programs that take a note, and are the same otherwise.
    let program = |name: &str| {
        let note = bench.path(&format!("{name}-note")).display().to_string();
        let script = format!("#!/bin/sh\necho >> '{note}'\nexec '{EXE}' candidate stand predecessor-watch\n");
        let file = bench.file(name, &script);
        make_executable(&file);
        file.display().to_string()
    };
    let programs = ["--candidate", &program("new"), "--against-candidate", &program("old")];
    let declared = ["--candidate-set", "step_down=on-disconnect", "--against-candidate-set", "step_down=on-expiry"];
    let run = ["run", &file, "--ensemble", "embedded", "--out", "record", "--delta", "90%", "--json", "-q"];
    let ran = bench.run(&[&run[..], &programs, &declared].concat());
    bench.assert_nothing_left();
    ran.fails_nothing();
    let found: Value = ran.json();
    let held = pair(&found, "foreign-candidate-resign");
    let declared = held["differences"].as_array().into_iter().flatten().find(|one| one["key"] == "step_down");
    assert_eq!(
        declared.map(|one| (&one["base"], &one["new"])),
        Some((&"on-expiry".into(), &"on-disconnect".into())),
        "{held:#}"
    );
    for name in ["old", "new"] {
        let noted = std::fs::read_to_string(bench.path(&format!("{name}-note"))).expect("it was started");
        assert_eq!(noted.lines().count(), 3, "one on each host");
    }
}

/// Many groups, of which each injection meets one; what is wrong with the recipe shows now and then.
const NOW_AND_THEN: &str = r#"
name = "now-and-then"
allow_broken = true
[ensemble]
tick_ms = 100
warm_up_ms = 200
[election]
groups = 20
hosts = 3
candidates_per_group = 3
session_timeout_ms = 2000
work_interval_ms = 50
rejoin_after_ms = 150
[phases]
warm_up_ms = 200
drain_ms = 3000
[faults.resign]
kind = "resign"
groups = 1
repeat = 100
every_ms = 100
[matrix]
recipe = ["RECIPE"]
"#;

#[test]
fn one_lead_of_five_that_is_taken_over_late_is_a_regression() {
    let bench = Bench::new();
    let scenario =
        |name: &str, recipe: &str| bench.file(name, &NOW_AND_THEN.replace("RECIPE", recipe)).display().to_string();
    let (late, sound) = (scenario("late.toml", "broken:guards-by-timer"), scenario("sound.toml", "predecessor-watch"));
    let run = ["run", &late, "--against", &sound, "--ensemble", "embedded", "--out", "record", "--json"];
    let ran = bench.run(&run);
    let found: Value = ran.json();
    let all = found["pairs"][0]["comparisons"].as_array().into_iter().flatten();
    let slow: Vec<&Value> = all.filter(|one| one["measure"] == "slow").map(|one| &one["answer"]).collect();
    assert_eq!((ran.code, slow), (1, vec![&"worse".into()]), "{found:#}");
    bench.assert_nothing_left();
}

#[test]
fn hosts_of_the_base_are_started_from_the_program_that_is_named() {
    let bench = Bench::new();
    let file = bench.scenario(POLLED);
    // Something that takes a note, and goes on as the other side does.
    let note = bench.path("note").display().to_string();
    let script = format!("#!/bin/sh\necho \"$1\" >> '{note}'\nexec '{EXE}' \"$@\"\n");
    let other = bench.file("other", &script);
    make_executable(&other);
    let other = other.display().to_string();
    let only = ["--only", "predecessor-watch-resign", "--delta", "90%", "-q"];
    let run = ["run", &file, "--ensemble", "embedded", "--out", "record", "--against-exe", &other];
    let ran = bench.run(&[&run[..], &only].concat());
    ran.fails_nothing();
    let noted = std::fs::read_to_string(&note).expect("it was started");
    assert_eq!(noted.lines().filter(|line| *line == "host").count(), 3, "three hosts: {noted}");
    bench.assert_nothing_left();
}

#[test]
fn what_cannot_be_compared_with_anything_is_refused_before_anything_is_started() {
    let bench = Bench::new();
    let file = bench.scenario(POLLED);
    let refused = |more: &[&str], why: &str| {
        let run = ["run", &file, "--ensemble", "embedded", "--out", "record"];
        let ran = bench.run(&[&run[..], more].concat()).expect(2);
        assert!(ran.err.contains(why), "{}", ran.err);
        assert!(!bench.path("record").exists());
    };
    refused(&["--against", "nowhere.toml"], "nowhere.toml");
    refused(&["--against-set", "election.nothing=1"], "--against-set election.nothing=1: unknown key `nothing`");
    refused(&["--against-set", ""], "--against-set '': no `=` in it");
    refused(&["--set", "", "--against-set", "election.groups=2"], "--set '': no `=` in it");
    refused(&["--against-set", "matrix.recipe=[\"naive\"]"], "--against");
    refused(&["--against-set", "ensemble.servers=1"], "other servers");
    refused(&["--against-exe", "no/such/program"], "no/such/program");
    refused(&["--against", &file, "--chaos"], "cannot be used with");
    refused(&["--against-candidate", "x"], "--candidate");
    refused(&["--candidate", "x", "--against-candidate", "' "], "--against-candidate \"' \" ends within a quote");
    let programs = ["--candidate", "x", "--against-candidate", "y {connect} {group} {resource}"];
    refused(&programs, "add --set election.groups=1 ");
    refused(&[&programs[..], &["--against", &file]].concat(), "add --against-set election.groups=1 ");
    let dry = bench.run(&["run", &file, "--against", &file, "--dry-run"]).expect(0);
    assert!(dry.out.contains("poll-race-resign-new"), "{}", dry.out);
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
}
