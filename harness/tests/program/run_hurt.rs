//! Faults on the harness's own processes are not blamed on the recipe: they are stopped and killed during a fault.

use std::path::Path;
use std::time::Duration;

use crate::run_support::scenario::{EMBEDDED, scenario};
use crate::run_support::{Bench, RunningProgram, check, checkers_of, files};
use hustings_record::RunState;
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;
use rustix::process::{Pid, Signal, kill_process};

/// Every leader resigns: the plan kills no process.
const RESIGN: &str = "[faults.f]\nkind = \"resign\"\ngroups = 6\n";
/// A process that is stopped for good is given up within this time.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(90);

/// A run on this ensemble with this fault, right after its verification.
fn with_faults(bench: &Bench, ensemble: &str, sections: &str) -> RunningProgram {
    let file = bench.scenario(&scenario("links = \"always\"\n", sections));
    let other = ["--ensemble", ensemble];
    let servers = if ensemble == "embedded" { &EMBEDDED[..] } else { &other };
    let command = bench.command(&[&["run", &file, "--out", "record"], servers].concat());
    bench.start(command).in_its_fault(&bench.path("record"))
}

/// Processes of the run whose command line contains `part`.
fn pids(bench: &Bench, part: &str) -> Vec<Pid> {
    let lines = bench.processes();
    let found = lines.iter().filter(|line| line.contains(part)).map(|line| line.split(' ').next().expect("a pid"));
    let pids: Vec<Pid> = found.filter_map(|pid| Pid::from_raw(pid.parse().expect("a number"))).collect();
    assert!(!pids.is_empty(), "no process like {part:?} in {lines:#?}");
    pids
}

fn send(pids: &[Pid], signal: Signal) {
    for &pid in pids {
        // It may have ended in the meantime.
        let _ = kill_process(pid, signal);
    }
}

fn checked(bench: &Bench, code: i32) -> Summary {
    bench.run(&["check", "record", "--json"]).expect(code).summary()
}

/// Stops these processes for three session timeouts. Expects that no check fails and that the stall is named.
fn stopped(ensemble: &str, part: &str, named: &str) {
    let bench = Bench::new();
    let running = with_faults(&bench, ensemble, RESIGN);
    let pids = pids(&bench, part);
    send(&pids, Signal::STOP);
    std::thread::sleep(Duration::from_secs(3));
    send(&pids, Signal::CONT);
    let code = running.end().code;
    bench.assert_nothing_left();
    // If the handovers were over by then, there is nothing for the stall to spoil.
    assert!([0, 3].contains(&code), "{code}");
    let summary = checked(&bench, code);
    let cell = &summary.cells[0];
    assert_eq!(checkers_of(cell, Verdict::Fail), Vec::<&str>::new());
    let told = check(cell, "stalls");
    assert!(told.details.iter().any(|line| line.starts_with(named) && line.contains("did not run for")), "{told:?}");
}

#[test]
fn nobody_is_blamed_for_what_happens_while_all_processes_stand_still() {
    stopped("embedded", "", "coordinator");
}

#[test]
fn nobody_is_blamed_while_the_coordinator_stands_still() {
    stopped("embedded", " run ", "coordinator");
}

#[test]
fn nobody_is_blamed_while_a_host_stands_still() {
    stopped("embedded", " --host 1 ", "host-001.0");
}

#[test]
fn nobody_is_blamed_while_the_links_stand_still() {
    stopped("embedded", " proxy ", "proxy-0");
}

#[test]
fn nobody_is_blamed_while_servers_stand_still_that_no_fault_has_stopped() {
    stopped("local", "QuorumPeerMain", "server 1");
}

/// What a run of two rounds, with three more allowed, says of the first of these.
const FURTHER: &str = "further round 3 (2 planned, 5 at most): 1 cell is run again, because stalls of the harness";

/// Faults that a stall spoils for as long as sessions live.
const CRASHES: &str = "[faults.f]\nkind = \"crash\"\nfor_ms = 1500\nrepeat = 2\nevery_ms = 3000\n";

#[test]
fn a_repetition_that_a_stall_spoilt_is_run_again_and_the_gate_leaves_it_out() {
    let bench = Bench::new();
    let file = bench.scenario(&scenario("", CRASHES));
    let rounds = ["--repeat", "2", "--further", "3"];
    let command = [&["run", &file, "--out", "record"][..], &EMBEDDED, &rounds].concat();
    let running = bench.start(bench.command(&command)).in_its_fault(&bench.path("record"));
    let pids = pids(&bench, " --host ");
    send(&pids, Signal::STOP);
    std::thread::sleep(Duration::from_millis(400));
    send(&pids, Signal::CONT);
    let ran = running.end().expect(3);
    bench.assert_nothing_left();
    assert!(ran.err.contains(FURTHER), "{}", ran.err);
    let summary = checked(&bench, 3);
    let spoilt: Vec<bool> = summary.cells.iter().map(|cell| cell.is_spoilt()).collect();
    assert!(spoilt[0] && spoilt.iter().filter(|spoilt| !**spoilt).count() == 2, "{spoilt:?}");
    assert_eq!(summary.manifest.cells_planned as usize, summary.cells.len());
    let gated = bench.run(&["gate", "record", "--junit", "gate.xml"]).expect(0);
    assert!(gated.err.contains(&format!("- {} is left out", summary.cells[0].info.name)), "{}", gated.err);
    assert!(std::fs::read_to_string(bench.path("gate.xml")).expect("written").contains("left out: "));
}

/// Sends a signal to these processes. Expects that the run aborts, and that all outputs name them.
fn lost(ensemble: &str, part: &str, signal: Signal, named: &[&str]) {
    let bench = Bench::new();
    let running = with_faults(&bench, ensemble, RESIGN);
    send(&pids(&bench, part), signal);
    running.end_within(GIVEN_UP_WITHIN).expect(4).error(named);
    bench.assert_nothing_left();
    bench.run(&["report", "record"]).expect(4);
    let summary = checked(&bench, 4);
    assert_eq!((summary.manifest.state, summary.verdict), (RunState::Aborted, Verdict::Inconclusive));
    assert_eq!(checkers_of(&summary.cells[0], Verdict::Fail), Vec::<&str>::new());
    let warnings: Vec<String> = summary.manifest.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|warning| named.iter().all(|name| warning.contains(name))), "{warnings:?}");
}

#[test]
fn a_server_that_dies_by_itself_ends_the_run_and_is_named_with_its_last_words() {
    lost("local", "server-2/zoo.cfg", Signal::KILL, &["server 2", "signal: 9", "INFO"]);
}

#[test]
fn servers_that_all_die_end_the_run() {
    lost("embedded", "hustings embedded ", Signal::KILL, &["embedded servers", "signal: 9"]);
}

#[test]
fn servers_that_never_go_on_end_the_run() {
    lost("local", "QuorumPeerMain", Signal::STOP, &["server 1", "stood still"]);
}

#[test]
fn links_that_die_end_the_run() {
    lost("embedded", " proxy ", Signal::KILL, &["proxy-0", "signal: 9"]);
}

#[test]
fn links_that_never_go_on_end_the_run() {
    lost("embedded", " proxy ", Signal::STOP, &["proxy-0", "stood still"]);
}

#[test]
fn a_host_that_dies_by_itself_ends_the_run() {
    lost("embedded", " --host 1 ", Signal::KILL, &["host 1", "signal: 9"]);
}

#[test]
fn a_failure_that_was_verified_before_the_run_broke_off_stays_one() {
    let bench = Bench::new();
    // In its first cell leaders write before they lead; in the second one only the servers fail.
    let sections = format!("[matrix]\nrecipe = [\"broken:writes-before-grant\", \"naive\"]\n\n{RESIGN}");
    let file = bench.scenario(&scenario("links = \"always\"\n", &sections));
    let record = bench.path("record");
    let command = bench.command(&[&["run", &file, "--out", "record"][..], &EMBEDDED].concat());
    let mut running = bench.start(command);
    running.until("the second cell", || has_second_cell(&record));
    send(&pids(&bench, "hustings embedded "), Signal::KILL);
    running.end_within(GIVEN_UP_WITHIN).expect(1).error(&["embedded servers"]);
    bench.assert_nothing_left();
    bench.run(&["report", "record"]).expect(1);
    assert_eq!(checked(&bench, 1).manifest.state, RunState::Aborted);
}

/// Whether the first cell is sealed.
fn has_second_cell(record: &Path) -> bool {
    record.join("events").exists() && !files(record, "coordinator.jsonl.zst").is_empty()
}
