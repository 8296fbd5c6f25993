//! Damaged records: the disk is full, the program is killed, a byte is changed; also names with special characters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::run_support::scenario::{LENIENT, calm, endless, on_one_server, scenario};
use crate::run_support::{Bench, EXE, checkers_of, files, wait_until};
use hustings_record::{Record, RunState};
use hustings_reports::verdict::Verdict;
use rustix::process::Signal;

#[test]
fn a_run_that_is_killed_leaves_a_record_that_says_so_and_nothing_that_runs() {
    let bench = Bench::new();
    // The links are processes, too, and one host is stopped: both must end all the same.
    let text = on_one_server(&endless("pause")).replace("[phases]", "links = \"always\"\n\n[phases]");
    let file = bench.scenario(&text);
    let record = bench.path("record");
    let running = bench.start(bench.command(&["run", &file, "--out", "record"])).in_its_fault(&record);
    let kinds = bench.processes();
    for kind in [" run ", " host ", " proxy ", "QuorumPeerMain"] {
        assert!(kinds.iter().any(|line| line.contains(kind)), "{kind} is part of it: {kinds:#?}");
    }
    running.signal(Signal::KILL);
    running.end().expect(128 + 9);
    bench.assert_no_process_left();

    // A write that was in flight when the machine stopped.
    let torn = files(&record, "coordinator.jsonl").remove(0);
    let bytes = fs::read(&torn).expect("read");
    fs::write(&torn, &bytes[..bytes.len() - 7]).expect("written");
    let ran = bench.run(&["check", "record", "--json"]).expect(3);
    let summary = ran.summary();
    assert_eq!((summary.verdict, summary.manifest.state), (Verdict::Inconclusive, RunState::Running));
    assert!(summary.notes.iter().any(|note| note.contains("did not end in order")), "{:?}", summary.notes);
    assert!(summary.notes.iter().any(|n| n.contains("coordinator.jsonl") && n.contains("torn")), "{:?}", summary.notes);
    assert!(checkers_of(&summary.cells[0], Verdict::Inconclusive).contains(&"record"));
    for told in ["did not end in order", "torn"] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    bench.run(&["report", "record"]).expect(3);
    assert!(record.join("report.html").exists());

    flipped_bytes_are_refused(&bench, &torn);
    clean_removes_what_is_left_and_nothing_else(&bench);
}

/// In a segment that is not sealed.
fn flipped_bytes_are_refused(bench: &Bench, segment: &Path) {
    let whole = fs::read(segment).expect("read");
    flip(segment, whole.len() / 3);
    refused(bench, segment);
    fs::write(segment, whole).expect("written");
    bench.run(&["check", "record"]).expect(3);
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).expect("read");
    bytes[at] ^= 0x10;
    fs::write(file, bytes).expect("written");
}

fn refused(bench: &Bench, segment: &Path) {
    let name = segment.file_name().expect("a name").to_string_lossy().into_owned();
    for command in ["check", "report"] {
        let ran = bench.run(&[command, "record"]).expect(4);
        ran.error(&[&name, "changed after it was written"]);
    }
}

fn clean_removes_what_is_left_and_nothing_else(bench: &Bench) {
    let left = bench.leftovers();
    assert_eq!(left.len(), 1, "the killed run's folder: {left:?}");
    let mine = [bench.tmp().join("hustings-mine"), bench.tmp().join("other")];
    mine.iter().for_each(|path| fs::create_dir(path).expect("made"));
    let records = files(&bench.path("record"), "");
    let ran = bench.run(&["clean"]).expect(0);
    assert!(ran.err.contains("removed") && ran.err.contains("left alone"), "{}", ran.err);
    assert!(!left[0].exists());
    assert!(mine.iter().all(|path| path.exists()), "{}", ran.err);
    assert_eq!(files(&bench.path("record"), ""), records, "the record is not a left-over");
}

#[test]
fn clean_ends_what_the_programs_of_a_killed_run_have_started_in_groups_of_their_own() {
    let bench = Bench::new();
    let text = format!("setsid sleep 60 &\nexec {EXE} candidate stand predecessor-watch\n");
    let program = format!("sh {}", bench.file("program.sh", &text).display());
    let file = bench.scenario(&on_one_server(&endless("none")));
    let command = ["run", &file, "--out", "record", "--candidate", &program, "--ensemble", "embedded"];
    let mut running = bench.start(bench.command(&command));
    let helper = " sleep 60";
    let helpers = || bench.processes().iter().filter(|line| line.contains(helper)).count();
    running.until("a helper of each program", || helpers() == 3);
    running.signal(Signal::KILL);
    running.end().expect(128 + 9);
    let are_alone = || bench.processes().iter().all(|line| line.contains(helper));
    assert!(wait_until(Duration::from_secs(20), are_alone), "{:#?}", bench.processes());
    assert_eq!(helpers(), 3, "nothing was left that could end them");
    let ran = bench.run(&["clean"]).expect(0);
    assert!(ran.err.contains("killed 3 of processes"), "{}", ran.err);
    bench.assert_nothing_left();
}

#[test]
fn a_sealed_segment_that_was_changed_is_refused_by_name() {
    let bench = Bench::new();
    let file = bench.scenario(&calm());
    bench.run(&["run", &file, "--out", "record", "--ensemble", "embedded"]).expect(0);
    let segments = files(&bench.path("record"), ".jsonl.zst");
    assert!(segments.len() >= 5, "three hosts, the coordinator, the observer: {segments:?}");
    assert_eq!(files(&bench.path("record"), ".jsonl"), Vec::<PathBuf>::new(), "all are sealed");
    for segment in segments {
        let whole = fs::read(&segment).expect("read");
        flip(&segment, whole.len() / 2);
        refused(&bench, &segment);
        fs::write(&segment, whole).expect("written");
    }
    bench.run(&["check", "record"]).expect(0);
}

/// A small disk, unmounted on drop.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf, size: &str) -> Self {
        let root = rustix::process::geteuid().is_root();
        assert!(root, "this test mounts a small disk, and needs root for it: run it as root, or leave it out by name");
        fs::create_dir(&at).expect("made");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", size, "hustings-test"]).arg(&at).status();
        assert!(mounted.is_ok_and(|status| status.success()), "no tmpfs could be mounted at {}", at.display());
        Self(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_fills_up_ends_the_run_and_is_told() {
    let bench = Bench::new();
    let disk = SmallDisk::mount(bench.path("disk"), "size=192k");
    let text = endless("none").replace("work_interval_ms = 20", "work_interval_ms = 1");
    let run = ["run", &bench.scenario(&text), "--out", "disk/record", "--ensemble", "embedded"];
    let ran = bench.run(&run).expect(4);
    bench.assert_nothing_left();
    ran.error(&["No space left on device", "record cannot be written", "disk/record"]);
    ran.error(&["free space there", "in disk/record, an incomplete record"]);
    let record = Record::read(&disk.0.join("record")).expect("what was recorded until then can be read");
    assert_ne!(record.manifest.state, RunState::Completed);
    assert!(!record.cells.is_empty());
    assert_eq!(files(&disk.0, ".part"), Vec::<PathBuf>::new(), "halves of files");
    bench.run(&["check", "disk/record"]).expect(3);
}

#[test]
fn names_with_markup_in_them_are_escaped_wherever_they_are_shown() {
    let bench = Bench::new();
    // A slash would create another level of znodes: closing tags cannot be names of groups or hosts.
    let names = r#"
group_names = ["<script>alert(1)<script>", "\"><img src=x onerror=alert(1)>", "'; --", "g & h", "{{ 7 * 7 }}", "größe 選挙"]
host_names = ["<script>alert(1)<script>", "a\" onload=\"alert(1)", "<!--"]
"#;
    let sections = "[faults.\"<b>bold</b>\"]\nkind = \"resign\"\ngroups = 6\n";
    let text = on_one_server(&scenario(names, sections))
        .replace("name = \"small\"", "name = '</title><script>alert(1)</script>'\nsummary = '<script>alert(2)</script>'\nanalysis = '<script>alert(3)</script>'");
    let file = bench.file("<script>alert(4)<_script>.toml", &(text + LENIENT)).display().to_string();
    let ran = bench.run(&["run", &file, "--out", "record", "--json"]);
    bench.assert_nothing_left();
    ran.fails_nothing();
    assert_eq!(ran.summary().cells[0].info.groups[0], "<script>alert(1)<script>", "names are kept as they are");
    let report = fs::read_to_string(bench.path("record/report.html")).expect("a report").to_lowercase();
    for bad in ["<script>alert", "<img src=x", "\" onload=", "<!--\"", "<b>bold", "</title><script"] {
        assert!(!report.contains(bad), "{bad} is in the report as it is");
    }
    for good in ["&lt;script&gt;alert(1)&lt;script&gt;", "{{ 7 * 7 }}", "größe 選挙"] {
        assert!(report.contains(good), "{good} is not in the report");
    }
    assert!(report.contains("content-security-policy"));

    let slash = scenario("group_names = [\"<script>alert(1)</script>\"]\n", "").replace("groups = 6", "groups = 1");
    let file = bench.file("slash.toml", &slash).display().to_string();
    bench.run(&["run", &file, "--out", "other"]).expect(2).error(&["<script>alert(1)</script>", "slash"]);
}
