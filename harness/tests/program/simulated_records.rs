//! Damaged records from their users' view, and readers that go away. Made quickly by a simulation.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::run_support::{Bench, ProgramOutput, files};

const QUICK: [&str; 6] = ["simulate", "quick", "--set", "election.groups=2", "--set", "matrix.recipe=[\"naive\"]"];

/// Makes records with reports, of two cells each.
fn recorded(bench: &Bench, names: &[&str]) {
    for name in names {
        let one = ["--set", "matrix.fault=[\"resign\",\"crash\"]", "--out", name, "-q"];
        bench.run(&[&QUICK[..], &one].concat()).expect(0);
    }
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(file, bytes).expect("written");
}

/// The coordinator's segment of the first cell.
fn segment(bench: &Bench, record: &str) -> PathBuf {
    files(&bench.path(record), "coordinator.jsonl.zst").remove(0)
}

#[test]
fn of_several_records_the_damaged_one_is_named_and_the_others_are_reported() {
    let bench = Bench::new();
    recorded(&bench, &["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        fs::remove_file(bench.path(name).join("report.html")).expect("it was made");
    }
    flip(&segment(&bench, "b"));
    let ran = bench.run(&["report", "a", "b", "c"]).expect(4);
    ran.error(&["1 of 3 reports", ": b"]);
    assert!(ran.err.contains("changed after it was written") && ran.err.contains("--salvage"), "{}", ran.err);
    assert!(bench.path("a/report.html").exists() && bench.path("c/report.html").exists());
    let stale = [bench.path("b/report.html"), bench.path("b/summary.json")];
    assert!(stale.iter().all(|path| !path.exists()), "what it told of is not there any more");
}

#[test]
fn the_report_of_a_damaged_record_is_left_to_read_and_its_verdict_is_not() {
    let bench = Bench::new();
    recorded(&bench, &["record"]);
    flip(&segment(&bench, "record"));
    let ran = bench.run(&["report", "record"]).expect(4);
    assert!(ran.err.contains("left, though it shows the record as it was before"), "{}", ran.err);
    assert!(bench.path("record/report.html").exists() && !bench.path("record/summary.json").exists());
}

#[test]
fn a_record_s_report_is_written_into_that_record_alone() {
    let bench = Bench::new();
    recorded(&bench, &["record"]);
    for name in ["report.html", "summary.json"] {
        let (made, elsewhere) = (bench.path("record").join(name), bench.path("elsewhere"));
        fs::write(&elsewhere, "mine").expect("written");
        fs::rename(&made, bench.path("kept")).expect("it was made");
        std::os::unix::fs::symlink(&elsewhere, &made).expect("linked");
        bench.run(&["report", "record"]).expect(4).error(&[name, "no plain file"]);
        assert_eq!(fs::read_to_string(&elsewhere).expect("a text"), "mine");
        fs::rename(bench.path("kept"), &made).expect("moved back");
    }
    bench.run(&["report", "record"]).expect(0);
}

#[test]
fn salvage_leaves_out_the_damaged_cell_and_passes_nothing() {
    let bench = Bench::new();
    recorded(&bench, &["record"]);
    flip(&segment(&bench, "record"));
    for command in ["check", "report"] {
        bench.run(&[command, "record"]).expect(4);
        let ran = bench.run(&[command, "record", "--salvage", "--json"]).expect(3);
        let summary = ran.summary();
        assert_eq!(summary.cells.len(), 1);
        assert!(summary.notes.iter().any(|note| note.contains("left out, for events/")), "{:?}", summary.notes);
        assert!(ran.err.contains("left out, for events/"), "it is told: {}", ran.err);
    }
    // A damaged record cannot be recounted.
    fs::remove_dir_all(bench.path("record")).expect("gone");
}

#[test]
fn a_manifest_that_was_changed_is_refused_whatever_is_asked_for() {
    let bench = Bench::new();
    recorded(&bench, &["record"]);
    let path = bench.path("record/manifest.json");
    let text = fs::read_to_string(&path).expect("read");
    fs::write(&path, text.replace("\"embedded\"", "\"local\"").replace("\"seed\": ", "\"seed\": 1")).expect("written");
    for arguments in [&["check", "record"][..], &["report", "record", "--salvage"]] {
        bench.run(arguments).expect(4).error(&["manifest.json", "changed after it was written"]);
    }
}

#[test]
fn nobody_waits_for_a_pipe_in_the_place_of_a_file() {
    let bench = Bench::new();
    recorded(&bench, &["record"]);
    for path in [segment(&bench, "record"), bench.path("record/scenario.toml"), bench.path("record/manifest.json")] {
        fs::remove_file(&path).expect("it was there");
        assert!(Command::new("mkfifo").arg(&path).status().expect("it starts").success());
        bench.run(&["check", "record"]).expect(4).error(&["it is no plain file"]);
    }
    fs::remove_dir_all(bench.path("record")).expect("gone");
}

#[test]
fn a_folder_that_is_no_record_keeps_its_files() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mine")).expect("made");
    let mine = bench.file("mine/report.html", "my own");
    bench.run(&["report", "mine"]).expect(4).error(&["is this the folder of a run?"]);
    assert!(mine.exists());
}

fn with_output(bench: &Bench, arguments: &[&str], out: Stdio) -> ProgramOutput {
    let mut command = bench.command(arguments);
    let output = command.stdout(out).stderr(Stdio::piped()).output().expect("it starts");
    let code = output.status.code().expect("it ended by itself");
    ProgramOutput { code, out: String::new(), err: String::from_utf8_lossy(&output.stderr).into_owned() }
}

#[test]
fn the_resolved_scenario_of_a_record_has_the_seed_that_the_record_was_made_with() {
    let bench = Bench::new();
    let kept = |options: &[&str]| {
        let one = ["--set", "matrix.fault=[\"resign\"]", "--out", "record", "-q"];
        bench.run(&[&QUICK[..], &one, options].concat()).expect(0);
        let text = fs::read_to_string(bench.path("record/scenario.toml")).expect("the scenario");
        fs::remove_dir_all(bench.path("record")).expect("gone");
        text.split_once("# ---- resolved").expect("a resolved scenario").1.to_owned()
    };
    for options in [&["--seed", "5"][..], &["--set", "seed=5"], &["--set", "seed=4", "--seed", "5"]] {
        assert!(kept(options).contains("\n# seed = 5\n"), "{options:?}");
    }
    // TOML has no integer as large as this seed.
    let huge = u64::MAX.to_string();
    let text = kept(&["--seed", &huge]);
    assert!(text.contains(&format!("to be given with --seed {huge}")) && !text.contains("\n# seed = "), "{text}");
}

#[test]
fn a_reader_that_has_gone_changes_nothing_and_a_full_disk_is_an_error() {
    let bench = Bench::new();
    recorded(&bench, &["record"]);
    let out = bench.path("other").display().to_string();
    let simulated = [&QUICK[..], &["--json", "--out", &out]].concat();
    for arguments in [
        &["check", "record", "--json"][..],
        &["report", "record", "--json"],
        &["list"],
        &["list", "--json"],
        &["run", "quick", "--dry-run"],
        &["doctor", "--json"],
        &simulated,
    ] {
        let expected = bench.run(arguments).code;
        let _ = fs::remove_dir_all(&out);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let closed = with_output(&bench, arguments, writer.into());
        assert_eq!(closed.code, expected, "{arguments:?}: {}", closed.err);
        let _ = fs::remove_dir_all(&out);
        let full =
            with_output(&bench, arguments, File::options().write(true).open("/dev/full").expect("it is there").into());
        assert_eq!(full.code, 4, "{arguments:?}: {}", full.err);
        assert!(full.err.contains("standard output cannot be written"), "{arguments:?}: {}", full.err);
        assert!(!closed.err.contains("panicked") && !full.err.contains("panicked"), "{}{}", closed.err, full.err);
        let _ = fs::remove_dir_all(&out);
    }
}
