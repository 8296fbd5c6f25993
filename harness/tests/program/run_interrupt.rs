//! Ctrl-C, once and twice, during a fault.

use std::time::{Duration, Instant};

use crate::run_support::scenario::{endless, on_one_server};
use crate::run_support::{Bench, RunningProgram, events, summary_of};
use hustings_record::{Event, Record, RunState};
use hustings_reports::verdict::Verdict;
use rustix::process::Signal;

/// Bound on the orderly end of hosts, servers and links; no machine needs more.
const END_WITHIN: Duration = Duration::from_secs(60);
/// An immediate end takes milliseconds; on a busy machine it may take longer, but less than an orderly end.
const AT_ONCE: Duration = Duration::from_secs(10);

/// A run in the middle of its fault, which lasts for ten minutes.
fn in_the_middle(bench: &Bench, kind: &str) -> RunningProgram {
    let file = bench.scenario(&on_one_server(&endless(kind)));
    bench.start(bench.command(&["run", &file, "--out", "record"])).in_its_fault(&bench.path("record"))
}

fn interrupted_in_order(kind: &str) {
    let bench = Bench::new();
    let running = in_the_middle(&bench, kind);
    running.signal(Signal::INT);
    let ran = running.end_within(END_WITHIN).expect(130);
    bench.assert_nothing_left();
    let summary = summary_of(&bench.path("record"));
    assert_eq!(summary.manifest.state, RunState::Interrupted);
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert!(bench.path("record/report.html").exists(), "{}", ran.err);
    assert!(ran.err.contains("interrupted"), "{}", ran.err);
    let told = events(&bench.path("record"), 0);
    let killed = |event: &Event| if let Event::HostEnded { killed, .. } = event { Some(*killed) } else { None };
    let verifications = &summary.cells[0].faults.verifications;
    let ends: Vec<bool> = told.iter().filter_map(killed).collect();
    assert_eq!(ends, [false; 3], "every host went on and ended in order: {verifications:?}");
    assert!(verifications[0].healed.is_some(), "what was broken was healed: {verifications:?}");
    bench.run(&["check", "record"]).expect(3);
}

#[test]
fn ctrl_c_in_a_partition_heals_it_and_keeps_the_record() {
    interrupted_in_order("partition");
}

#[test]
fn ctrl_c_in_a_pause_lets_the_stopped_host_go_on_and_keeps_the_record() {
    interrupted_in_order("pause");
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_leaves_no_process() {
    let bench = Bench::new();
    let running = in_the_middle(&bench, "pause");
    running.signal(Signal::INT);
    // Two pending signals of the same kind count as one.
    std::thread::sleep(Duration::from_millis(50));
    running.signal(Signal::INT);
    let asked = Instant::now();
    let ran = running.end_within(END_WITHIN).expect(130);
    assert!(asked.elapsed() < AT_ONCE, "it took {:?}", asked.elapsed());
    bench.assert_nothing_left();
    // On a fast machine the first one may have been enough.
    let record = Record::read(&bench.path("record")).expect("a record");
    assert!([RunState::Running, RunState::Interrupted].contains(&record.manifest.state), "{}", ran.err);
    bench.run(&["check", "record"]).expect(3);
}

#[test]
fn ctrl_c_before_there_is_a_record_leaves_none() {
    let bench = Bench::new();
    let file = bench.scenario(&on_one_server(&endless("pause")));
    let mut running = bench.start(bench.command(&["run", &file, "--out", "record"]));
    running.until("its folder", || !bench.leftovers().is_empty());
    running.signal(Signal::INT);
    let ran = running.end_within(END_WITHIN).expect(130);
    bench.assert_nothing_left();
    if bench.path("record").exists() {
        // The machine was slow to send the signal: then it is a normal record.
        assert_eq!(summary_of(&bench.path("record")).manifest.state, RunState::Interrupted, "{}", ran.err);
    }
}
