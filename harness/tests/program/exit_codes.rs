//! Every row of the table of exit codes, by commands that end with it.

use std::process::Stdio;

use crate::rough_handling::{WRITES, simulated, with};
use crate::rough_outputs::CREATES;
use crate::run_support::scenario::{calm, endless};
use crate::run_support::{Bench, files, recorded};
use rustix::process::Signal;

/// The help texts that contain the table.
const HELP: [&[&str]; 10] = [
    &["--help"],
    &["run", "--help"],
    &["simulate", "--help"],
    &["calibrate", "--help"],
    &["list", "--help"],
    &["check", "--help"],
    &["report", "--help"],
    &["doctor", "--help"],
    &["clean", "--help"],
    &["proxy", "--help"],
];

#[test]
fn one_table_stands_in_the_help_of_every_command() {
    let bench = Bench::new();
    let tables = HELP.map(|arguments| {
        let ran = bench.run(arguments).expect(0);
        let at = ran.out.find("Exit codes:").unwrap_or_else(|| panic!("{arguments:?} has none: {}", ran.out));
        ran.out[at..].to_owned()
    });
    for table in &tables {
        assert_eq!(table, &tables[0]);
    }
    let codes: Vec<&str> = tables[0].lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert_eq!(codes, ["0", "1", "2", "3", "4", "130"], "each has a test below");
}

const SIMULATED: [&str; 4] = ["simulate", "quick", "--set", "matrix.recipe=[\"naive\"]"];

#[test]
fn code_0_is_a_pass_or_what_was_asked_for_is_done() {
    let bench = Bench::new();
    bench.run(&[&SIMULATED[..], &["--out", "record"]].concat()).expect(0);
    for arguments in [
        &["check", "record"][..],
        &["report", "record"],
        &["list"],
        &["clean"],
        &["run", "herd", "--dry-run"],
        &["simulate", "quick", "--seeds", "0..3"],
        &["--version"],
    ] {
        bench.run(arguments).expect(0);
    }
}

#[test]
fn code_1_is_a_failed_verdict_or_something_found() {
    let bench = Bench::new();
    let broken = ["--set", "allow_broken=true", "--set", "matrix.recipe=[\"broken:no-relist\"]"];
    bench.run(&[&SIMULATED[..2], &broken, &["--out", "record"]].concat()).expect(1);
    bench.run(&["check", "record"]).expect(1);
    bench.run(&["report", "record"]).expect(1);
    bench.run(&[&SIMULATED[..2], &broken, &["--seeds", "0..200"]].concat()).expect(1);
}

#[test]
fn code_2_is_a_wrong_command_line_or_file() {
    let bench = Bench::new();
    bench.file("broken.toml", "name = ");
    for (arguments, named) in [
        (&["runn"][..], "runn"),
        (&["run", "--nope"], "--nope"),
        (&["run", "no-such-scenario"], "no-such-scenario"),
        (&["run", "broken.toml"], "broken.toml"),
        (&["run", "--set", "election.nope=1"], "nope"),
        (&["run", "--set", "election.hosts=100000"], "hosts"),
        (&["run", "--connect", "somewhere:99999"], "somewhere:99999"),
        (&["run", "--connect", "somewhere", "--dry-run"], "HOST:PORT"),
        (&["run", "--connect", "127.0.0.1:1", "--set", "matrix.servers=[1,3]"], "matrix.servers"),
        (&["run", "--connect", "somewhere:1/here,there:1", "--dry-run"], "/here"),
        (&["run", "--auth-file", "secret"], "--connect"),
        (&["run", "--connect", "somewhere:1", "--auth-file", "nowhere", "--dry-run"], "nowhere"),
        (&["clean", "--sasl-file", "nowhere"], "nowhere"),
        (&["run", "--toxiproxy", "http://[::"], "http://[::"),
        (&["run", "--toxiproxy-ports", "9-1", "--toxiproxy", "127.0.0.1:1"], "9-1"),
        (&["proxy", "--listen", "somewhere"], "somewhere"),
        (&["proxy", "--die-with-parent", "0"], "--die-with-parent"),
        (&["simulate", "--seeds", "9..1"], "9..1"),
        (&["simulate", "--schedule", "1", "--steps", "9999"], "9999"),
        (&["simulate", "--schedule", "1", "--steps", "0,,1"], "--steps 0,3"),
        (&["simulate", "--timing", "nowhere.toml"], "nowhere.toml"),
        (&["simulate", "--seed", "3", "--cell", "nonsense"], "--cell has no effect without --schedule"),
        (&["run", "-v", "--json"], "--verbose has no effect without --dry-run"),
        (&["report"], "RECORD"),
    ] {
        let ran = bench.run(arguments).expect(2);
        assert!(ran.err.contains(named), "{arguments:?}: {named} is not in {}", ran.err);
    }
    bench.assert_nothing_left();
}

#[test]
fn code_3_is_inconclusive() {
    let bench = Bench::new();
    // Under this fault, the broken recipe of the self-test shows nothing.
    let resign = ["--set", "matrix.fault=[\"resign\"]", "--out", "record"];
    let test = ["--set", "self_test={recipe=\"broken:ignores-session-loss\",fault=\"resign\"}"];
    bench.run(&[&SIMULATED[..], &resign, &test].concat()).expect(3);
    bench.run(&["check", "record"]).expect(3);
    bench.run(&["report", "record"]).expect(3);
}

#[test]
fn code_4_is_what_a_run_stands_on_and_records_that_cannot_be_read() {
    let bench = Bench::new();
    for (arguments, named) in [
        (&["check", "nowhere"][..], "nowhere"),
        (&["report", "nowhere"], "nowhere"),
        (&["calibrate", "nowhere"], "nowhere"),
        (&["run", "--connect", "127.0.0.1:1"], "127.0.0.1:1"),
        (&["run", "--chaos", "--connect", "127.0.0.1:1", "--dry-run"], "127.0.0.1:1"),
        (&["run", "--zookeeper-home", "/nowhere"], "/nowhere"),
        (&["run", "--dry-run", "--zookeeper-home", "/nowhere"], "/nowhere"),
        (&["run", "--dry-run", "--ensemble", "local", "--zookeeper-home", "/nowhere"], "/nowhere"),
        (&["doctor", "--zookeeper-home", "/nowhere"], "/nowhere"),
    ] {
        let ran = bench.run(arguments).expect(4);
        assert!(ran.err.contains(named), "{arguments:?}: {named} is not in {}", ran.err);
    }
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    let status = bench.command(&["list"]).stdout(full).stderr(Stdio::null()).status().expect("it runs");
    assert_eq!(status.code(), Some(4), "standard output cannot be written");
    bench.assert_nothing_left();
}

/// Options that name the new folder of a record, with their commands.
const RECORDS: [&[&str]; 4] = [
    &["run", "quick", "--ensemble", "embedded", "--out"],
    &["run", "quick", "--chaos", "--ensemble", "embedded", "--out"],
    &["simulate", "quick", "--out"],
    &["tune", "--pauses", "pauses.txt", "--weeks", "8", "--ensemble", "embedded", "--out"],
];

/// The codes of what is wrong with any output.
const BAD_OUTPUTS: [(&str, i32); 6] =
    [("", 2), ("record/events/x", 2), ("plain/x", 4), ("folder", 4), ("/proc/nope", 4), ("/dev/full", 4)];

#[test]
fn what_is_wrong_with_an_output_has_one_code_in_all_commands() {
    let bench = Bench::new();
    simulated(&bench);
    bench.file("pauses.txt", "120\n");
    bench.file("plain", "");
    std::fs::create_dir(bench.path("folder")).expect("made");
    bench.file("folder/there.txt", "");
    let ends = |command: &[&str], bad: &str, code: i32| {
        let ran = bench.run(&with(command, bad)).expect(code);
        assert!(ran.err.contains(bad), "{command:?}: {bad} is not in {}", ran.err);
    };
    for command in WRITES.iter().chain(&CREATES) {
        BAD_OUTPUTS.into_iter().chain([("nowhere/x", 4)]).for_each(|(bad, code)| ends(command, bad, code));
    }
    for command in RECORDS {
        BAD_OUTPUTS.into_iter().for_each(|(bad, code)| ends(command, bad, code));
    }
    // Only what is written shows that a device is full, and a simulation cannot be calibrated.
    let out = ["calibrate", "record", "--out"];
    BAD_OUTPUTS.into_iter().filter(|(bad, _)| *bad != "/dev/full").for_each(|(bad, code)| ends(&out, bad, code));
    // Baselines are added to a folder that is there.
    let save = ["baseline", "save", "x", "record", "--baselines"];
    BAD_OUTPUTS.into_iter().filter(|(bad, _)| *bad != "folder").for_each(|(bad, code)| ends(&save, bad, code));
    bench.assert_nothing_left();
}

#[test]
fn code_130_is_an_interruption_at_whatever_time() {
    let bench = Bench::new();
    // In the middle of a fault, and again in the tear-down.
    let file = bench.scenario(&endless("pause"));
    let running = bench.start(bench.command(&["run", &file, "--out", "record", "--ensemble", "embedded"]));
    let mut running = running.in_its_fault(&bench.path("record"));
    running.signal(Signal::INT);
    running.until("the tear-down", || recorded(&bench.path("record"), "tear-down"));
    running.signal(Signal::INT);
    running.end().expect(130);
    bench.assert_nothing_left();
    // For a run that would have passed, during the tear-down of its last cell.
    let file = bench.file("calm.toml", &calm()).display().to_string();
    let mut running = bench.start(bench.command(&["run", &file, "--out", "calm", "--ensemble", "embedded"]));
    running.until("the drain", || recorded(&bench.path("calm"), "\"drain\""));
    running.signal(Signal::INT);
    running.end().expect(130);
    bench.assert_nothing_left();
    let search = ["simulate", "quick", "--seeds", "0..10000000", "--all"];
    let mut running = bench.start(bench.command(&search));
    running.until("its first seeds", || running_said(&bench));
    running.signal(Signal::INT);
    let ran = running.end().expect(130);
    assert!(ran.err.contains("goes on there") && ran.err.contains("seeds in"), "{}", ran.err);
}

/// Whether the last started command has reported progress.
fn running_said(bench: &Bench) -> bool {
    files(&bench.path("."), "").iter().any(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("err-") && std::fs::read_to_string(path).is_ok_and(|text| text.contains("seeds"))
    })
}
