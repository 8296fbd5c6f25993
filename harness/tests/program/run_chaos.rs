//! Random scenarios on servers in turn: passing ones leave nothing, failing ones are kept and can be repeated.

use crate::run_support::scenario::scenario;
use crate::run_support::{Bench, EXE};
use rustix::process::Signal;
use serde_json::Value;

const RESIGN: &str = "[faults.resign]\nkind = \"resign\"\n";

fn base(bench: &Bench) -> String {
    bench.scenario(&scenario("", RESIGN))
}

fn names_in(bench: &Bench, folder: &str) -> Vec<String> {
    let Ok(inside) = std::fs::read_dir(bench.path(folder)) else { return Vec::new() };
    inside.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn rounds_that_pass_leave_nothing_and_others_are_kept() {
    let bench = Bench::new();
    let run =
        ["run", &base(&bench), "--chaos", "--for", "1s", "--seed", "3", "--ensemble", "embedded", "--out", "chaos"];
    let ran = bench.run(&[&run[..], &["--json"]].concat());
    bench.assert_nothing_left();
    ran.fails_nothing();
    let told: Value = ran.json();
    assert_eq!((told["seed"].as_u64(), told["rounds"].as_u64()), (Some(3), Some(1)), "{told}");
    assert!(told["handovers"].is_u64() && told["failed"].is_null(), "{told}");
    let kept = names_in(&bench, "chaos");
    let expected: &[&str] = if ran.code == 0 { &[] } else { &["round-0001"] };
    assert_eq!(kept, expected);
    assert!(ran.err.contains("round-0001: "), "{}", ran.err);
}

#[test]
fn a_round_that_fails_ends_it_and_its_record_has_the_scenario_to_run_again() {
    let bench = Bench::new();
    // An external program takes part in every round.
    let program = format!("'{EXE}' candidate stand broken:writes-before-grant");
    let run = ["run", &base(&bench), "--chaos", "--seed", "3", "--ensemble", "embedded", "--out", "chaos"];
    let ran = bench.run(&[&run[..], &["--candidate", &program]].concat()).expect(1);
    assert!(ran.err.contains("foreign-candidate-") && !ran.err.contains("virtual"), "{}", ran.err);
    bench.assert_nothing_left();
    let again =
        ran.err.lines().find_map(|line| line.trim().strip_prefix("again: hustings run ")).expect("what to type");
    assert!(again.ends_with("/scenario.toml"), "{again}");
    let record = again.trim_end_matches("/scenario.toml");
    bench.run(&["check", record]).expect(1);
    let kept = std::fs::read_to_string(bench.path(again)).expect("kept");
    assert!(kept.contains("name = \"chaos-3-") && kept.contains("broken:writes-before-grant"), "{kept}");
    let planned = bench.run(&["run", again, "--dry-run"]).expect(0);
    assert!(planned.out.contains("foreign-candidate-"), "it is a scenario like any other: {}", planned.out);
}

#[test]
fn who_interrupts_it_is_told_how_far_it_came() {
    let bench = Bench::new();
    let command = bench.command(&["run", &base(&bench), "--chaos", "--ensemble", "embedded", "--out", "chaos"]);
    let mut running = bench.start(command);
    running.until("it has begun", || !names_in(&bench, "chaos/round-0001/events").is_empty());
    running.signal(Signal::INT);
    let ran = running.end().expect(130);
    bench.assert_nothing_left();
    assert!(ran.err.contains("chaos with seed ") && ran.err.contains("rounds: 1 in "), "{}", ran.err);
}
