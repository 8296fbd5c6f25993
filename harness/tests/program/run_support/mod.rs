//! Shared by the tests that drive the built program: a folder for everything it writes, bounded waits, and a check for
//! leftovers.

mod keep;
pub(crate) mod scenario;
pub(crate) mod toxiproxy;

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hustings_record::{Event, Record};
use hustings_reports::summary::{CellSummary, CheckResult, Summary};
use hustings_reports::verdict::Verdict;
use tempfile::TempDir;

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_hustings");

/// Bound on the run of a test, on any machine; it is ended then.
const RUN_AT_MOST: Duration = Duration::from_secs(240);
/// A killed process is gone by then.
pub(crate) const GONE_WITHIN: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// An environment whose HTTP proxies cannot be reached.
pub(crate) const PROXIES_THAT_REFUSE: [(&str, &str); 4] = {
    let nobody = "http://127.0.0.1:1";
    [("http_proxy", nobody), ("HTTP_PROXY", nobody), ("all_proxy", nobody), ("ALL_PROXY", nobody)]
};

/// A test's own folder. Runs put their temporary files and records into it.
pub(crate) struct Bench {
    folder: TempDir,
}

/// The program's output and exit code.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A process that is killed and reaped on drop.
pub(crate) struct ChildGuard(pub(crate) Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The running program, with its output in files. Killed on drop.
pub(crate) struct RunningProgram {
    process: ChildGuard,
    out: PathBuf,
    err: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temp dir");
        fs::create_dir(folder.path().join("tmp")).expect("made");
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder for the temporary files of runs.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.path("tmp")
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("written");
        path
    }

    /// Drops the summary of a record that a test damages: the later recount takes only records that have one.
    pub(crate) fn forget(&self, record: &str) {
        let _ = fs::remove_file(self.path(record).join("summary.json"));
    }

    /// Writes a scenario and returns its path for a command line.
    pub(crate) fn scenario(&self, text: &str) -> String {
        self.file("scenario.toml", text).display().to_string()
    }

    /// Runs a scenario to its end, with a record and a summary as JSON. Nothing else is left.
    pub(crate) fn record(&self, text: &str, more: &[&str]) -> ProgramOutput {
        let ran = self.run(&[&["run", &self.scenario(text), "--out", "record", "--json"], more].concat());
        self.assert_nothing_left();
        ran
    }

    /// Runs a scenario with each of these options at the same time, each with a record of that name and a summary as
    /// JSON. A run waits for most of its time. Nothing else is left.
    pub(crate) fn records<const N: usize>(&self, text: &str, each: [(&str, &[&str]); N]) -> [ProgramOutput; N] {
        let file = self.scenario(text);
        let run = |out: &str, more: &[&str]| self.command(&[&["run", &file, "--out", out, "--json"], more].concat());
        let started = each.map(|(out, more)| self.start(run(out, more)));
        let ran = started.map(RunningProgram::end);
        self.assert_nothing_left();
        ran
    }

    /// The program with this folder for its temporary files, and no environment variables that change its behaviour.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(EXE);
        command.args(arguments);
        self.at_home(&mut command);
        command
    }

    /// Sets a command up to use this folder.
    pub(crate) fn at_home(&self, command: &mut Command) {
        command.current_dir(self.folder.path()).env("HUSTINGS_TMP", self.tmp()).stdin(Stdio::null());
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> ProgramOutput {
        self.start(self.command(arguments)).end()
    }

    /// Starts a command.
    pub(crate) fn start(&self, mut command: Command) -> RunningProgram {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (out, err) = (self.path(&format!("out-{number}")), self.path(&format!("err-{number}")));
        command.stdout(fs::File::create(&out).expect("made")).stderr(fs::File::create(&err).expect("made"));
        RunningProgram { process: ChildGuard(command.spawn().expect("it starts")), out, err }
    }

    /// Processes started, directly or indirectly, with this folder for their temporary files: hosts, links, servers.
    pub(crate) fn processes(&self) -> Vec<String> {
        let mark = format!("HUSTINGS_TMP={}", self.tmp().display()).into_bytes();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("it is there").filter_map(Result::ok) {
            let is_process = entry.file_name().to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()));
            let environment = if is_process { fs::read(entry.path().join("environ")) } else { continue };
            if environment.is_ok_and(|vars| vars.split(|b| *b == 0).any(|var| var == mark)) {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                found.push(format!("{} {line}", entry.file_name().to_string_lossy()));
            }
        }
        found
    }

    /// Folders of runs for their temporary files.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        fs::read_dir(self.tmp()).expect("it is there").map(|entry| entry.expect("an entry").path()).collect()
    }

    /// No process and no temporary file is left. The kernel may take a moment to reap killed processes.
    pub(crate) fn assert_nothing_left(&self) {
        self.assert_no_process_left();
        assert_eq!(self.leftovers(), Vec::<PathBuf>::new(), "left in the folder for temporary files");
    }

    pub(crate) fn assert_no_process_left(&self) {
        let gone = wait_until(GONE_WITHIN, || self.processes().is_empty());
        assert!(gone, "left running: {:#?}", self.processes());
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        keep::records_below(self.folder.path());
    }
}

impl ProgramOutput {
    /// It ended with this code, and did not panic.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert!(!self.err.contains("panicked"), "a panic: {}", self.err);
        assert_eq!(self.code, code, "exit code; it said: {}\n{}", self.err, self.out);
        self
    }

    /// It passed. A busy machine may make it inconclusive at worst.
    pub(crate) fn fails_nothing(&self) {
        assert!(!self.err.contains("panicked"), "a panic: {}", self.err);
        assert!([0, 3].contains(&self.code), "exit code {}; it said: {}", self.code, self.err);
    }

    /// Its one error message, which contains all of these words.
    pub(crate) fn error(&self, wanted: &[&str]) -> &str {
        let at = self.err.find("error: ").unwrap_or_else(|| panic!("no error in {}", self.err));
        let message = &self.err[at..];
        assert_eq!(message.matches("error: ").count(), 1, "more than one error: {message}");
        for word in wanted {
            assert!(message.contains(word), "{word:?} is not in: {message}");
        }
        message
    }

    /// The summary on its standard output.
    pub(crate) fn summary(&self) -> Summary {
        self.json()
    }

    /// The one JSON document on its standard output.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e} in {}\n{}", self.out, self.err))
    }
}

impl RunningProgram {
    /// Waits for its end; fails if it does not end in time.
    pub(crate) fn end(self) -> ProgramOutput {
        self.end_within(RUN_AT_MOST)
    }

    pub(crate) fn end_within(mut self, at_most: Duration) -> ProgramOutput {
        let status = self.wait(at_most);
        let status = status.unwrap_or_else(|| panic!("no end within {at_most:?}; it said: {}", self.said()));
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).expect("a code");
        ProgramOutput { code, out: fs::read_to_string(&self.out).expect("text"), err: self.said() }
    }

    /// Its exit status, if it has ended.
    pub(crate) fn try_wait(&mut self) -> Option<ExitStatus> {
        self.process.0.try_wait().expect("a child")
    }

    fn wait(&mut self, at_most: Duration) -> Option<ExitStatus> {
        let mut ended = None;
        wait_until(at_most, || {
            ended = self.try_wait();
            ended.is_some()
        });
        ended
    }

    /// Its output on standard error so far.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.err).expect("its output")).into_owned()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.process.0.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// Waits until it handles this signal: on a busy machine it may start slowly.
    pub(crate) fn until_it_handles(&mut self, signal: rustix::process::Signal) {
        let status = format!("/proc/{}/status", self.process.0.id());
        self.until("it handles the signal", || {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
            caught & (1 << (signal.as_raw() - 1)) != 0
        });
    }

    /// Itself, once a fault of this record is verified.
    pub(crate) fn in_its_fault(mut self, record: &Path) -> Self {
        self.until("the fault's verification", || recorded(record, r#""e":"receipt""#));
        self
    }

    /// Waits for a condition while it runs; it must not end before.
    pub(crate) fn until(&mut self, what: &str, there: impl FnMut() -> bool) {
        self.until_within(what, Duration::from_secs(60), there);
    }

    pub(crate) fn until_within(&mut self, what: &str, at_most: Duration, mut there: impl FnMut() -> bool) {
        let mut ended = None;
        let seen = wait_until(at_most, || {
            ended = self.try_wait();
            ended.is_some() || there()
        });
        assert!(ended.is_none(), "it ended ({ended:?}) before {what}: {}", self.said());
        assert!(seen, "{what} never came: {}", self.said());
    }
}

/// True once the condition holds, false if it does not within this time.
pub(crate) fn wait_until(at_most: Duration, mut so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + at_most;
    while !so() {
        if Instant::now() > until {
            return false;
        }
        sleep(POLL);
    }
    true
}

/// The summary that a run wrote with its record.
pub(crate) fn summary_of(record: &Path) -> Summary {
    let text = fs::read_to_string(record.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("a summary")
}

pub(crate) fn cell<'a>(summary: &'a Summary, part_of_name: &str) -> &'a CellSummary {
    let found: Vec<_> = summary.cells.iter().filter(|cell| cell.info.name.contains(part_of_name)).collect();
    assert_eq!(found.len(), 1, "cells named like {part_of_name}");
    found[0]
}

pub(crate) fn check<'a>(cell: &'a CellSummary, name: &str) -> &'a CheckResult {
    cell.checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no checker {name}"))
}

/// All faults of the cell are verified, and there are some.
pub(crate) fn assert_verified(cell: &CellSummary) {
    let verifications = &cell.faults.verifications;
    let verified = verifications.iter().all(|verification| verification.verified);
    assert!(!verifications.is_empty() && verified, "{}: {verifications:#?}", cell.info.name);
}

/// Conditions that hold on any machine, however slow: the faults are verified, and nothing is lost for good.
pub(crate) fn assert_verified_and_whole(cell: &CellSummary) {
    assert_verified(cell);
    for name in ["verification", "liveness", "participation", "record", "enrolment"] {
        let found = check(cell, name);
        assert_ne!(found.verdict, Verdict::Fail, "{}: {found:?}", cell.info.name);
    }
    assert_eq!(cell.leaderless.groups_at_end, 0, "{}", cell.info.name);
    assert!(cell.standing.end.is_some_and(|listed| listed.judged > 0), "{}: the servers list them", cell.info.name);
}

/// Names of the checks with this verdict.
pub(crate) fn checkers_of(cell: &CellSummary, verdict: Verdict) -> Vec<&str> {
    cell.checks.iter().filter(|check| check.verdict == verdict).map(|check| check.name.as_str()).collect()
}

/// All events of a record's cell.
pub(crate) fn events(record: &Path, cell: usize) -> Vec<Event> {
    let record = Record::read(record).expect("a record");
    record.cells[cell].events().map(|(_, event)| event.clone()).collect()
}

/// Files with this ending anywhere under a folder, sorted.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Whether the record's coordinator has written this text. Reads while others write.
pub(crate) fn recorded(record: &Path, what: &str) -> bool {
    let segments = if record.join("events").exists() { files(record, "coordinator.jsonl") } else { Vec::new() };
    segments.iter().any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(what)))
}
