//! Ctrl-C, once and twice, during a fault.

use std::time::{Duration, Instant};

use crate::run_support::scenario::{EMBEDDED, endless, on_one_server};
use crate::run_support::{Bench, RunningProgram, events, summary_of};
use hustings_record::{Event, Record, RunState};
use hustings_reports::verdict::Verdict;
use rustix::process::{Pid, Signal, kill_process};

/// Bound on the orderly end of hosts, servers and links; no machine needs more.
const END_WITHIN: Duration = Duration::from_secs(60);
/// An immediate end takes milliseconds; on a busy machine it may take longer, but less than an orderly end.
const AT_ONCE: Duration = Duration::from_secs(10);
/// An orderly end beside servers that do not answer: each of its parts waits for some seconds.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(25);

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
    assert!(summary.manifest.machine.load_1m_end.is_some(), "the load while it ran is noted");
    assert!(bench.path("record/report.html").exists(), "{}", ran.err);
    let place = |words: &str| ran.err.find(words).unwrap_or_else(|| panic!("{words} is missing: {}", ran.err));
    assert!(place("! This run was interrupted (Ctrl-C or another signal)") < place("? INCONCLUSIVE"));
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
fn ctrl_c_while_the_servers_stand_still_does_not_wait_for_each_answer_of_theirs() {
    let bench = Bench::new();
    let file = bench.scenario(&endless("pause"));
    let command = bench.command(&[&["run", &file, "--out", "record"][..], &EMBEDDED].concat());
    let running = bench.start(command).in_its_fault(&bench.path("record"));
    let processes = bench.processes();
    let servers = processes.iter().find(|line| line.contains(" embedded --servers ")).expect("the servers' process");
    let pid = servers.split(' ').next().and_then(|pid| Pid::from_raw(pid.parse().ok()?)).expect("a pid");
    kill_process(pid, Signal::STOP).expect("stopped");
    std::thread::sleep(Duration::from_secs(2));
    running.signal(Signal::INT);
    let asked = Instant::now();
    running.end_within(END_WITHIN).expect(130);
    assert!(asked.elapsed() < GIVEN_UP_WITHIN, "it took {:?}", asked.elapsed());
    bench.assert_nothing_left();
    assert_eq!(summary_of(&bench.path("record")).manifest.state, RunState::Interrupted);
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
