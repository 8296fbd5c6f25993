//! Unusual inputs, signals and limits: pipes without a writer, stop requests at the first moment, a small stack, places that
//! cannot be used.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::run_support::{Bench, EXE, RunningProgram, wait_until};
use rustix::process::Signal;

/// Longer than any of these takes.
const SOON: Duration = Duration::from_secs(60);

/// Commands that read this pipe before they do anything else.
const READS: [&[&str]; 8] = [
    &["run", "pipe"],
    &["run", "pipe", "--dry-run"],
    &["run", "quick", "--against", "pipe", "--dry-run"],
    &["simulate", "pipe"],
    &["simulate", "quick", "--timing", "pipe"],
    &["calibrate", "record", "--timing", "pipe"],
    &["gate", "record", "--limits", "pipe"],
    &["tune", "--weeks", "8", "--pauses", "pipe"],
];

const WAITS: &str = "waiting for pipe, a pipe that nobody writes to";

/// A folder with a pipe that nobody writes to.
fn with_pipe() -> Bench {
    let bench = Bench::new();
    assert!(Command::new("mkfifo").arg(bench.path("pipe")).status().expect("it starts").success());
    bench
}

#[test]
fn a_stop_request_ends_any_command_with_130_from_its_first_moment_on() {
    let bench = with_pipe();
    let end_at_once = |command: &[&str], signal: Signal| {
        let mut running = bench.start(bench.command(command));
        running.until_it_handles(signal);
        running.signal(signal);
        running.end_within(SOON).expect(130);
    };
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        READS.iter().for_each(|command| end_at_once(command, signal));
    }
    for _ in 0..5 {
        end_at_once(&["simulate", "quick", "--set", "repeat=900", "--out", "half"], Signal::TERM);
        assert!(!bench.path("half").exists(), "half a record");
    }
    bench.assert_nothing_left();
}

#[test]
fn a_pipe_that_nobody_writes_to_is_named_once_and_waited_for() {
    let bench = with_pipe();
    let waiting: Vec<RunningProgram> = READS.iter().map(|command| bench.start(bench.command(command))).collect();
    for (command, running) in READS.iter().zip(&waiting) {
        assert!(wait_until(SOON, || running.said().contains(WAITS)), "{command:?}: {}", running.said());
    }
    for running in waiting {
        running.signal(Signal::INT);
        let ran = running.end_within(SOON).expect(130);
        assert_eq!(ran.err.matches("waiting for").count(), 1, "{}", ran.err);
    }
    let running = bench.start(bench.command(&["tune", "--pauses", "pipe", "--weeks", "500", "--model"]));
    assert!(wait_until(SOON, || running.said().contains(WAITS)), "{}", running.said());
    fs::write(bench.path("pipe"), "120\n".repeat(40)).expect("written");
    running.end_within(SOON).expect(0);
}

#[test]
fn a_small_stack_of_the_main_thread_is_enough() {
    let bench = Bench::new();
    let simulate = "simulate quick --only naive-resign --out record --quiet";
    for command in ["--help", "list", "run quick --dry-run", simulate, "check record"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -s 64 && exec \"$0\" {command}"), EXE]);
        bench.at_home(&mut shell);
        bench.start(shell).end_within(SOON).expect(0);
    }
}

#[test]
fn an_error_about_a_place_says_what_to_do() {
    let bench = Bench::new();
    let simulated = ["simulate", "quick", "--only", "naive-resign", "--out", "record", "--quiet"];
    bench.run(&simulated).expect(0);
    bench.file("file", "");
    fs::create_dir(bench.path("empty")).expect("made");
    for (command, told) in [
        (&["list", "--runs", "--in", "nowhere"][..], ["nowhere: ", "--in names the folder"]),
        (&["list", "--runs", "--in", "file"], ["file: ", "--in names the folder"]),
        (&["baseline", "list", "--baselines", "file"], ["file: ", "another folder by --baselines"]),
        (&["baseline", "save", "x", "record", "--baselines", "file"], ["file: ", "another folder by --baselines"]),
        (&["baseline", "save", "x", "record", "--baselines", "/proc/x"], ["/proc/x: ", "folder by --baselines"]),
    ] {
        bench.run(command).expect(4).error(&told);
    }
    let none = bench.run(&["list", "--runs", "--in", "empty"]).expect(0);
    assert!(none.err.contains("--in names") && none.err.contains("`hustings run` makes"), "{}", none.err);
    let manifest = fs::read_to_string(bench.path("record/manifest.json")).expect("read");
    let edited = manifest.replace("\"scenario\": \"quick\"", "\"scenario\": \"other\"");
    assert_ne!(edited, manifest);
    bench.file("record/manifest.json", &edited);
    for command in [&["check", "record"][..], &["gate", "record"], &["export", "record"], &["report", "record"]] {
        bench.run(command).expect(4).error(&["record: ", "its seal does not fit", "take its files from a copy"]);
    }
    bench.forget("record");
}

#[test]
fn a_list_of_runs_shows_no_verdict_that_was_edited() {
    let bench = Bench::new();
    let simulated = ["simulate", "quick", "--only", "naive-resign", "--out", "runs/one", "--quiet"];
    bench.run(&simulated).expect(0);
    let listed = bench.run(&["list", "--runs"]).expect(0);
    assert!(listed.out.contains("pass"), "{}", listed.out);
    let path = bench.path("runs/one/summary.json");
    let mut summary: Value = serde_json::from_str(&fs::read_to_string(&path).expect("read")).expect("JSON");
    summary["verdict"] = "fail".into();
    fs::write(&path, summary.to_string()).expect("written");
    let listed = bench.run(&["list", "--runs"]).expect(0);
    assert!(listed.out.contains("damaged") && !listed.out.contains("fail"), "{}", listed.out);
    assert!(listed.err.contains("is not that of the checks"), "{}", listed.err);
    bench.forget("runs/one");
}
