//! The commands other than `run`, and where they write their output.

use std::fs;

use crate::run_support::scenario::calm;
use crate::run_support::{Bench, summary_of};
use hustings_record::RunState;
use hustings_reports::verdict::Verdict;
use serde_json::Value;

fn names(list: &Value) -> Vec<String> {
    let name = |value: &Value| value["name"].as_str().or(value.as_str()).expect("a name").to_owned();
    list.as_array().expect("a list").iter().map(name).collect()
}

#[test]
fn list_tells_the_same_to_people_and_machines() {
    let bench = Bench::new();
    let text = bench.run(&["list"]).expect(0).out;
    let listed = bench.run(&["list", "--json"]).expect(0).json::<Value>();
    assert_eq!(
        names(&listed["scenarios"]),
        [
            "quick",
            "herd",
            "split-brain",
            "thousand",
            "sequential-start",
            "quorum-loss",
            "reconnect",
            "gauntlet",
            "gate",
            "pull-request",
            "pauses",
            "league",
            "million",
        ]
    );
    assert_eq!(names(&listed["recipes"]), ["predecessor-watch", "naive", "lock-race", "poll-race"], "none is broken");
    for kind in ["scenarios", "recipes", "faults"] {
        for name in names(&listed[kind]) {
            assert!(text.contains(&name), "{name} is not in: {text}");
        }
    }
    assert!(names(&listed["faults"]).contains(&"partition-down".to_owned()));
}

#[test]
fn a_dry_run_tells_the_plan_and_starts_nothing() {
    let bench = Bench::new();
    for scenario in names(&bench.run(&["list", "--json"]).json::<Value>()["scenarios"]) {
        let mut command = bench.command(&["run", &scenario, "--dry-run", "-v", "--seed", "3"]);
        // It works where none of a run's requirements is installed.
        command.env("PATH", "").env("JAVA_HOME", "/no/such/jre");
        let ran = bench.start(command).end().expect(0);
        assert!(ran.out.contains(&scenario) && ran.out.contains("expected: "), "{}", ran.out);
        let planned = |seed: &str| bench.run(&["run", &scenario, "--dry-run", "-v", "--seed", seed]).expect(0).out;
        assert_eq!(planned("3"), ran.out, "the same again");
        assert_ne!(planned("4"), ran.out, "the seed counts");
    }
    let changed = ["run", "quick", "--dry-run", "--set", "election.groups=37"];
    let brief = bench.run(&changed).expect(0).out;
    assert!(brief.contains("expected: ") && !brief.contains("37 groups"), "a line a cell: {brief}");
    let of_one = bench.run(&[&changed[..], &["--only", "naive-crash"]].concat()).expect(0).out;
    assert!(of_one.contains("1. naive-crash") && of_one.contains("37 groups"), "{of_one}");
    bench.assert_nothing_left();
    assert!(!bench.path("runs").exists());
}

#[test]
fn a_run_says_its_result_once_on_standard_output_and_the_rest_on_standard_error() {
    let bench = Bench::new();
    let file = bench.file("scenario.toml", &calm()).display().to_string();
    let ran = bench.run(&["run", &file, "--out", "record", "--json", "--seed", "11"]).expect(0);
    bench.assert_nothing_left();
    let mut documents = serde_json::Deserializer::from_str(&ran.out).into_iter::<Value>();
    assert!(documents.next().is_some_and(|document| document.is_ok()) && documents.next().is_none(), "{}", ran.out);
    let summary = ran.summary();
    assert_eq!((summary.verdict, summary.manifest.state), (Verdict::Pass, RunState::Completed));
    assert_eq!((summary.manifest.seed, summary.cells.len()), (11, 1));
    assert!(summary.manifest.command.contains("--seed 11"), "{}", summary.manifest.command);
    assert_eq!(summary_of(&bench.path("record")), summary, "the file and the output agree");
    assert!(!ran.err.contains('\u{1b}') && !ran.err.contains('\r'), "no terminal, no control signs: {:?}", ran.err);
    for told in ["ensemble: local: 1 ZooKeeper", "recorded", "PASS", "report: record/report.html"] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    let kept = fs::read_to_string(bench.path("record/scenario.toml")).expect("the scenario");
    assert!(kept.starts_with(&calm()), "verbatim: {kept}");
    assert!(kept.contains("\n# seed = 11\n"), "resolved: {kept}");

    checks_and_reports_say_the_same_again(&bench);
    let quiet = bench.run(&["run", &file, "--out", "quiet", "--quiet"]).expect(0);
    assert!(quiet.out.is_empty() && !quiet.err.contains("ensemble:"), "{}", quiet.err);
    assert!(quiet.err.contains("PASS"), "only the result: {}", quiet.err);
}

fn checks_and_reports_say_the_same_again(bench: &Bench) {
    let read = |name: &str| fs::read(bench.path("record").join(name)).expect("a file");
    let (summary, report) = (read("summary.json"), read("report.html"));
    let checked = bench.run(&["check", "record", "--json"]).expect(0);
    assert_eq!(checked.summary(), summary_of(&bench.path("record")));
    for _ in 0..2 {
        for name in ["summary.json", "report.html"] {
            fs::remove_file(bench.path("record").join(name)).expect("removed");
        }
        bench.run(&["check", "record"]).expect(0);
        assert!(!bench.path("record/report.html").exists(), "a check writes nothing");
        bench.run(&["report", "record"]).expect(0);
        assert!(read("summary.json") == summary && read("report.html") == report, "rebuilt byte for byte");
    }
    let both = bench.run(&["report", "record", "record"]).expect(0);
    assert_eq!(both.err.matches("report: ").count(), 2);
}

#[test]
fn doctor_tells_what_is_there_and_what_is_missing() {
    let bench = Bench::new();
    let ran = bench.run(&["doctor", "--json"]).expect(0);
    let told: Value = ran.json();
    assert_eq!(told["can_run"], true);
    let findings = told["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|one| one["check"].is_string() && one["status"].is_string()), "{}", ran.out);
    assert!(ran.err.contains("runs can work here"), "{}", ran.err);

    let mut without = bench.command(&["doctor", "--json"]);
    without.env("PATH", "").env_remove("JAVA_HOME");
    let ran = bench.start(without).end().expect(0);
    assert!(ran.err.contains("default-jre-headless") && ran.err.contains("embedded servers"), "{}", ran.err);

    let mut without = bench.command(&["doctor", "--json", "--zookeeper-home", "/nonexistent"]);
    without.env_remove("ZOOKEEPER_HOME");
    let ran = bench.start(without).end().expect(4);
    assert_eq!(ran.json::<Value>()["can_run"], false);
    assert!(ran.err.contains("--zookeeper-home") && ran.err.contains("cannot work"), "{}", ran.err);
}

#[test]
fn every_command_explains_itself() {
    let bench = Bench::new();
    let help = bench.run(&["--help"]).expect(0).out;
    assert!(help.contains("hustings run quick"), "what happens without arguments: {help}");
    assert!(!help.contains("guard") && !help.contains(" host "), "not for people: {help}");
    let listed = help.split("Commands:\n").nth(1).expect("a list of commands").lines();
    let commands: Vec<&str> = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(["run", "simulate", "clean"].iter().all(|known| commands.contains(known)), "{commands:?}");
    for command in commands {
        let long = bench.run(&[command, "--help"]).expect(0).out;
        assert!(long.contains("Examples:") && long.contains(&format!("hustings {command}")), "{long}");
    }
    let version = bench.run(&["--version"]).expect(0).out;
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    bench.run(&["no-such-command"]).expect(2).error(&["no-such-command"]);
    bench.run(&["check"]).expect(2).error(&["RECORD"]);
}

#[test]
fn clean_finds_nothing_where_nothing_is() {
    let bench = Bench::new();
    let ran = bench.run(&["clean"]).expect(0);
    assert!(ran.err.contains("nothing to clean"), "{}", ran.err);
}
