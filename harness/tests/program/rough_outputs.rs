//! Outputs that cannot be written to their end: the error names the file, the cause and the remedy, and no part of a
//! file is left.

use std::fs;
use std::process::Command;

use crate::rough_handling::{WRITES, simulated, with};
use crate::run_support::scenario::{calm, endless};
use crate::run_support::{Bench, EXE, ProgramOutput};

/// Every other way to write a file: these add to one, or create one.
pub(crate) const CREATES: [&[&str]; 3] =
    [&["gate", "record", "--history"], &["init"], &["doctor", "--for", "100ms", "--watch"]];

/// Runs the program with a limit on the size of files, in blocks of 512 or 1024 bytes. The limit would cut its output
/// off, too, so that goes through pipes.
fn limited(bench: &Bench, blocks: u32, arguments: &[&str]) -> ProgramOutput {
    let shell = format!("ulimit -f {blocks} && exec \"$0\" \"$@\"");
    let mut command = Command::new("timeout");
    command.args(["240", "sh", "-c", &shell, EXE]).args(arguments);
    bench.at_home(&mut command);
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    ProgramOutput {
        code: output.status.code().expect("it ended by itself"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

#[test]
fn a_file_that_cannot_be_written_whole_is_named_and_none_of_it_is_left() {
    let bench = Bench::new();
    simulated(&bench);
    bench.file("pauses.txt", &"120\n".repeat(40));
    for command in WRITES.iter().chain(&CREATES) {
        let ran = limited(&bench, 0, &with(command, "new")).expect(4);
        ran.error(&["new cannot be written: File too large", "ulimit -f"]);
        assert!(!ran.err.contains(".hustings-"), "{command:?}: a name of ours: {}", ran.err);
        assert!(!bench.path("new").exists(), "{command:?} left a part");
    }
    for command in WRITES {
        bench.file("old", "mine");
        limited(&bench, 0, &with(command, "old")).expect(4);
        assert_eq!(fs::read_to_string(bench.path("old")).expect("read"), "mine", "{command:?}");
    }
}

#[test]
fn a_simulation_that_cannot_be_written_whole_names_the_file_and_leaves_no_record() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mine")).expect("made");
    for (blocks, part) in [(1, "scenario.toml"), (100, "events/")] {
        for out in ["half", "mine"] {
            let ran = limited(&bench, blocks, &["simulate", "quick", "--out", out, "--quiet"]).expect(4);
            let file = format!("the record cannot be written to {out}/{part}");
            ran.error(&[&file, "File too large", "ulimit -f"]);
        }
        assert!(!bench.path("half").exists(), "half a record");
        assert_eq!(fs::read_dir(bench.path("mine")).expect("it was there before").count(), 0);
    }
}

#[test]
fn a_run_that_cannot_begin_its_record_leaves_none() {
    let bench = Bench::new();
    let run = ["run", &bench.scenario(&calm()), "--out", "record", "--ensemble", "embedded"];
    let ran = limited(&bench, 1, &run).expect(4);
    ran.error(&["the record cannot be written to record/scenario.toml", "File too large", "ulimit -f"]);
    assert!(!bench.path("record").exists(), "a record of nothing");
    bench.assert_nothing_left();
}

#[test]
fn a_run_that_cannot_be_written_whole_names_the_file_and_its_incomplete_record() {
    let bench = Bench::new();
    let text = endless("none").replace("work_interval_ms = 20", "work_interval_ms = 1");
    let run = ["run", &bench.scenario(&text), "--out", "record", "--ensemble", "embedded"];
    let ran = limited(&bench, 100, &run).expect(4);
    bench.assert_nothing_left();
    ran.error(&["the record cannot be written to ", "record/events/", "File too large", "ulimit -f"]);
    ran.error(&["in record, an incomplete record", "`hustings check`"]);
    bench.run(&["check", "record"]).expect(4);
    bench.forget("record");
}

#[test]
fn a_dash_is_standard_output_wherever_a_file_is_written() {
    let bench = Bench::new();
    simulated(&bench);
    let log = bench.run(&["doctor", "--for", "100ms", "--watch", "-"]).expect(0).out;
    assert!(log.contains("MaxValueDivisor"), "{log}");
    let history = bench.run(&["gate", "record", "--history", "-"]).expect(0).out;
    assert!(history.starts_with("time,run,commit,verdict,"), "{history}");
    for command in [&["doctor", "--watch", "-", "--json"][..], &["gate", "record", "--history", "-", "--json"]] {
        bench.run(command).expect(2).error(&["--json and ", "name the same file"]);
    }
    assert!(!bench.path("-").exists());
}
