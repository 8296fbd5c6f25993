//! `compare`, `gate` and `baseline` from a user's view, on simulated records.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run_support::{Bench, ProgramOutput};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hustings_record::{Event, Record};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus};
use serde_json::Value;

/// Only resignations and expiries: at least eight injections, in little time.
const SMALL: [&str; 4] = ["--set", "election.groups=4", "--set", "matrix.fault=[\"resign\",\"expire\"]"];

fn simulate(bench: &Bench, out: &str, seed: &str, more: &[&str]) -> ProgramOutput {
    bench.run(&[&["simulate", "gate", "--out", out, "--seed", seed, "--quiet"][..], &SMALL, more].concat())
}

#[test]
fn two_runs_of_one_build_are_not_told_apart() {
    let bench = Bench::new();
    simulate(&bench, "base", "1", &[]).expect(0);
    for seed in ["2", "3"] {
        simulate(&bench, seed, seed, &[]).expect(0);
        let ran = bench.run(&["compare", "base", seed, "--json"]);
        ran.fails_nothing();
        let found = ran.json::<Value>();
        assert_eq!(found["pairs"].as_array().map(Vec::len), Some(6));
        for comparison in
            found["pairs"].as_array().into_iter().flatten().flat_map(|pair| pair["comparisons"].as_array()).flatten()
        {
            assert!(comparison["base"]["injections"].as_u64() >= Some(8), "{comparison}");
        }
    }
    let ran = bench.run(&["compare", "base", "2", "--noise", "--json"]).expect(0);
    assert!(ran.json::<Value>()["delta"].as_f64() >= Some(0.05), "{}", ran.err);
    let (_, delta) = ran.err.split_once("--delta ").expect("a margin to take");
    assert_ne!(bench.run(&["compare", "base", "2", "--delta", delta.trim()]).code, 2, "{delta}");
}

#[test]
fn slower_servers_are_found_and_a_run_that_differs_in_more_is_refused() {
    let bench = Bench::new();
    simulate(&bench, "base", "1", &[]).expect(0);
    let timing = bench.file("slow.toml", "read_us = 900\nwrite_us = 1800\n");
    let slow = simulate(&bench, "slow", "2", &["--timing", &timing.display().to_string()]);
    assert_eq!(slow.code, 0, "{}", slow.err);
    let ran = bench.run(&["compare", "base", "slow"]).expect(1);
    assert!(ran.err.contains("✗ worse") && ran.err.contains("failover"), "{}", ran.err);
    bench.run(&["compare", "slow", "base"]).expect(0);

    simulate(&bench, "other", "1", &["--set", "election.work_interval_ms=80"]).expect(0);
    let refused = bench.run(&["compare", "base", "other"]).expect(2);
    for told in ["work_interval_ms 40 against 80", "--force"] {
        assert!(refused.err.contains(told), "{}", refused.err);
    }
    let forced = bench.run(&["compare", "base", "other", "--force"]);
    assert!(forced.err.contains("compared all the same") && forced.err.contains("work_interval_ms"), "{}", forced.err);
    bench.run(&["gate", "other", "--baseline", "base"]).expect(2);
    let forced = bench.run(&["gate", "other", "--baseline", "base", "--force", "--junit", "forced.xml"]);
    let listed = forced.err.lines().find(|line| line.starts_with("! compared all the same: "));
    assert!(listed.is_some_and(|line| line.contains("work_interval_ms 40 against 80")), "{}", forced.err);
    let text = fs::read_to_string(bench.path("forced.xml")).expect("a file");
    assert!(text.contains("<skipped message=\"compared all the same: "), "{text}");
    let refused = bench.run(&["compare", "base"]).expect(2);
    assert!(refused.err.contains("no two sides"), "{}", refused.err);
    bench.run(&["compare", "base", "nowhere"]).expect(4);
    bench.run(&["compare", "base", "slow", "--delta", "120%"]).expect(2);
}

#[test]
fn a_gate_is_green_on_its_baseline_red_on_what_is_worse_and_3_where_nothing_can_be_told() {
    let bench = Bench::new();
    simulate(&bench, "base", "1", &[]).expect(0);
    simulate(&bench, "again", "8", &[]).expect(0);
    bench.run(&["baseline", "list"]).expect(0);
    bench.run(&["baseline", "save", "main", "base"]).expect(0);
    let listed = bench.run(&["baseline", "list"]).expect(0);
    assert!(listed.out.contains("main") && listed.out.contains("gate"), "{}", listed.out);
    assert!(bench.run(&["baseline", "show", "main"]).expect(0).err.contains("predecessor-watch"));

    let same = bench.run(&["gate", "again", "--baseline", "main", "--json"]).expect(0);
    assert_eq!(same.json::<Value>()["verdict"], "pass", "{}", same.err);
    let timing = bench.file("slow.toml", "read_us = 900\nwrite_us = 1800\n");
    simulate(&bench, "slow", "2", &["--timing", &timing.display().to_string()]).expect(0);
    let worse = bench.run(&["gate", "slow", "--baseline", "main"]).expect(1);
    assert!(worse.err.contains("comparison failover: worse"), "{}", worse.err);
    let few = ["--repeat", "1", "--set", "faults.resign.repeat=2", "--set", "faults.expire.repeat=2"];
    simulate(&bench, "few", "1", &few).expect(0);
    let few = bench.run(&["gate", "few"]).expect(3);
    assert!(few.err.starts_with("! no record of this plan can pass: "), "{}", few.err);
    assert!(few.err.contains("2 injections cost a lead, 4 are asked for"), "{}", few.err);
    bench.run(&["gate", "few", "--junit", "few.xml"]).expect(3);
    let text = fs::read_to_string(bench.path("few.xml")).expect("a file");
    let junit = Report::deserialize_from_str(&text).expect("JUnit");
    let skipped = |part: &str| text.matches(part).count();
    assert_eq!(skipped("<skipped"), skipped("<skipped message=\"not testable here"), "{text}");
    assert!(junit.errors > 0, "what is inconclusive is an error: {text}");
    let other = bench.run(&["gate", "few", "--baseline", "main"]).expect(2);
    assert!(other.err.contains("parameters.fault.repeat"), "{}", other.err);
    bench.run(&["gate", "base", "--baseline", "nobody"]).expect(2);
    bench.run(&["baseline", "save", "../x", "base"]).expect(2);
    assert!(!bench.path("x.json").exists());
}

#[test]
fn a_recipe_that_splits_brain_does_not_pass_a_gate_nor_become_a_baseline() {
    let bench = Bench::new();
    let broken = ["--set", "allow_broken=true", "--set", "matrix.recipe=[\"broken:writes-before-grant\"]"];
    simulate(&bench, "broken", "1", &broken).expect(1);
    let gated = bench.run(&["gate", "broken", "--junit", "gate.xml"]).expect(1);
    assert!(gated.err.contains("gate: fail"), "{}", gated.err);
    let junit =
        Report::deserialize_from_str(&fs::read_to_string(bench.path("gate.xml")).expect("a file")).expect("JUnit");
    let cases: Vec<_> = junit.test_suites.iter().flat_map(|suite| &suite.test_cases).collect();
    let failed =
        |case: &&&TestCase| matches!(case.status, TestCaseStatus::NonSuccess { kind: NonSuccessKind::Failure, .. });
    assert!(cases.iter().filter(failed).count() > 0 && cases.iter().any(|case| case.name.as_str() == "check fan-out"));
    let refused = bench.run(&["baseline", "save", "main", "broken"]).expect(1);
    assert!(refused.err.contains("no baseline"), "{}", refused.err);
}

#[test]
fn limits_are_held_and_what_they_say_wrong_is_named() {
    let bench = Bench::new();
    simulate(&bench, "base", "1", &[]).expect(0);
    let gate = |limits: &str, code: i32| {
        bench.file("limits.toml", limits);
        bench.run(&["gate", "base", "--limits", "limits.toml"]).expect(code).err
    };
    gate("injections = 8\n[cells.\"*-resign\"]\nfailover_p50_ms = 1000\nwoken_most = 4\n", 0);
    assert!(gate("[cells.\"*-resign\"]\nfailover_p50_ms = 0.001\n", 1).contains("limit failover_p50_ms"));
    assert!(gate("injections = 1000\n", 3).contains("1000 are asked for"));
    assert!(gate("[cells.\"*\"]\nfailover_p5_ms = 1\n", 2).contains("failover_p5_ms"));
    assert!(gate("[cells.\"*\"]\nexcess_p50_ms = 1\n", 2).contains("has no excess_p50_ms"));
    assert!(gate("[cells.\"*-crash\"]\nfailover_p50_ms = 1\n", 2).contains("no cell of the record"));
    let unknown = gate("injections = 8\ninjection = 9\n", 2);
    assert!(unknown.contains("limits.toml") && unknown.contains("injection"), "{unknown}");
    gate("injections = \n", 2);
    assert!(bench.run(&["gate", "--figures"]).expect(0).out.contains("failover_p50_ms"));
}

#[test]
fn every_file_that_a_pipeline_asks_for_is_written() {
    let bench = Bench::new();
    simulate(&bench, "base", "1", &[]).expect(0);
    let formats =
        ["--junit", "gate.xml", "--markdown", "gate.md", "--bencher", "bmf.json", "--benchmark-action", "gab.json"];
    let command = [&["gate", "base", "--history", "history.csv", "--github"][..], &formats].concat();
    let mut started = bench.command(&command);
    started.env("GITHUB_STEP_SUMMARY", bench.path("summary.md"));
    bench.start(started).end().expect(0);
    let again = bench.run(&["gate", "base", "--history", "history.csv"]).expect(0);
    assert!(again.err.contains("history.csv has a line of this run already"), "{}", again.err);
    let read = |name: &str| fs::read_to_string(bench.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(read("gate.xml").contains("<testsuite name=\"naive-resign\""));
    assert_eq!(read("gate.md"), read("summary.md"));
    for name in ["bmf.json", "gab.json"] {
        assert!(
            serde_json::from_str::<Value>(&read(name)).is_ok_and(|value| value.to_string().contains("failover_p50_ms"))
        );
    }
    assert_eq!(read("history.csv").lines().count(), 2);
    bench
        .run(&["gate", "base", "--history", "history.csv", "--commit", "a,b"])
        .expect(2)
        .error(&["--commit", "letters"]);
    bench.file("other.csv", "a,b,c\n");
    let refused = bench.run(&["gate", "base", "--history", "other.csv"]).expect(2);
    assert!(refused.err.contains("other.csv") && refused.err.contains("another scenario"), "{}", refused.err);
    assert_eq!(read("other.csv"), "a,b,c\n", "nothing was added");
    bench.run(&["gate", "base", "--junit", "no/such/folder.xml"]).expect(4);
}

#[test]
fn what_a_cell_was_asked_is_in_its_record() {
    let bench = Bench::new();
    simulate(&bench, "base", "1", &["--set", "faults.expire.repeat=9"]).expect(0);
    let record = Record::read(&bench.path("base")).expect("a record");
    let expire = record.cells.iter().find(|cell| cell.info.name.ends_with("expire")).expect("an expiry");
    assert_eq!(expire.info.parameters.get("fault.repeat").map(String::as_str), Some("9"));
    assert!(expire.info.parameters.contains_key("phases.drain_ms"));
}

#[test]
fn runs_in_a_folder_are_listed_and_shown_on_one_page() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("runs")).expect("a folder");
    for seed in ["1", "2", "3"] {
        simulate(&bench, &format!("runs/run {seed}"), seed, &[]).expect(0);
    }
    fs::remove_file(bench.path("runs/run 3/summary.json")).expect("it was there");
    let ran = bench.run(&["list", "--runs", "--page", "runs/index.html"]).expect(0);
    let passed = ran.out.lines().filter(|line| line.contains("simulated") && line.contains("pass"));
    assert_eq!(passed.count(), 2, "{}", ran.out);
    assert!(ran.err.contains("run 3") && ran.err.contains("no summary"), "{}", ran.err);
    let page = fs::read_to_string(bench.path("runs/index.html")).expect("a page").replace("&#x2f;", "/");
    assert!(page.contains("./run%201/report.html") && page.contains("<polyline"), "{page}");
    let listed = bench.run(&["list", "--runs", "--json"]).expect(0);
    assert_eq!(listed.json::<Value>().as_array().map(Vec::len), Some(2));
    bench.file("runs/run 1/manifest.json", "");
    fs::remove_dir_all(bench.path("runs/run 2/events")).expect("it was there");
    let ran = bench.run(&["list", "--runs"]).expect(0);
    let damaged = ran.out.lines().filter(|line| line.contains("damaged") && !line.contains("pass"));
    assert_eq!(damaged.count(), 2, "{}", ran.out);
    assert!(ran.err.contains("not a manifest") && ran.err.contains("named by the manifest"), "{}", ran.err);
    ["runs/run 1", "runs/run 2"].into_iter().for_each(|damaged| bench.forget(damaged));
    bench.run(&["list", "--runs", "--in", "nowhere"]).expect(4);
    bench.run(&["list", "--page", "x.html"]).expect(2);
}

/// Validates each line of a file with another program.
const VALIDATOR: &str = "import json, sys, jsonschema
schema = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
[schema.validate(json.loads(line)) for line in open(sys.argv[2])]";

fn is_valid(schema: &Path, lines: &Path) -> bool {
    let mut python = Command::new("/usr/bin/python3");
    let ran = python.args(["-c", VALIDATOR]).args([schema, lines]).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() || said.contains("ValidationError"), "{said}");
    ran.status.success()
}

#[test]
fn a_summary_and_events_are_what_their_schemas_say() {
    let bench = Bench::new();
    let schema = bench.run(&["schema"]).expect(0).out;
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reports/summary.schema.json");
    assert!(schema == fs::read_to_string(kept).expect("it is there"), "`hustings schema` into summary.schema.json");
    let schema = bench.file("schema.json", &schema);
    simulate(&bench, "base", "1", &["--repeat", "2"]).expect(0);
    let text = fs::read_to_string(bench.path("base/summary.json")).expect("a summary");
    let mut summary: Value = serde_json::from_str(&text).expect("JSON");
    assert!(is_valid(&schema, &bench.file("summary", &summary.to_string())));
    summary["cells"][0]["failover"]["void"] = Value::from("none");
    assert!(!is_valid(&schema, &bench.file("summary", &summary.to_string())), "a word is no count");

    let schema = bench.file("events.json", &bench.run(&["schema", "--events"]).expect(0).out);
    let record = Record::read(&bench.path("base")).expect("a record");
    let line = |event: &Event| serde_json::to_string(event).expect("JSON") + "\n";
    let lines: String = record.cells[0].events().take(3_000).map(|(_, event)| line(event)).collect();
    assert!(is_valid(&schema, &bench.file("lines", &lines)));
    assert!(!is_valid(&schema, &bench.file("lines", "{\"e\":\"no such event\"}")));
}

#[test]
fn handovers_are_exported_one_by_one_and_as_histograms() {
    let bench = Bench::new();
    simulate(&bench, "base", "1", &[]).expect(0);
    let summary = crate::run_support::summary_of(&bench.path("base"));
    let lost: u64 = summary.cells.iter().map(|cell| cell.handovers.planned).sum();
    let exported = bench.run(&["export", "base"]).expect(0);
    let lines: Vec<&str> = exported.out.lines().collect();
    assert!(lines[0].starts_with("cell,recipe,group,fault,planned_s,lost_s,loser,outcome"), "{}", lines[0]);
    assert_eq!(lines.len() as u64, lost + 1);
    assert!(lines[1..].iter().all(|line| line.split(',').count() == lines[0].split(',').count()));

    bench.run(&["export", "base", "--hdr", "failovers.hlog", "--csv", "h.csv"]).expect(0);
    assert_eq!(fs::read_to_string(bench.path("h.csv")).expect("a file").trim_end(), exported.out.trim_end());
    let log = fs::read(bench.path("failovers.hlog")).expect("a log");
    let mut seen = 0;
    for entry in IntervalLogIterator::new(&log) {
        if let Ok(LogEntry::Interval(interval)) = entry {
            let bytes = STANDARD.decode(interval.encoded_histogram()).expect("base 64");
            let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram");
            let tag = interval.tag().expect("the cell's name");
            let cell = summary.cells.iter().find(|cell| cell.info.name == tag.as_str()).expect("a cell");
            assert_eq!(histogram.len(), cell.handovers.completed);
            seen += 1;
        }
    }
    assert_eq!(seen, summary.cells.len());
}
