//! A harness that is killed takes its servers along, and `hustings clean` removes its folder and nothing else.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::ensemble_support::{all_gone, clean, harness, options};
use crate::run_support::{ChildGuard, EXE, wait_until};
use hustings::ensemble::local::LocalEnsemble;
use hustings::files::workdir::{FolderOwner, WorkDir};
use hustings::process::procfs::ProcessId;

/// Where the helper below makes its folder; without it the helper has nothing to do.
const HOLD_IN: &str = "HUSTINGS_TEST_HOLD_IN";

#[tokio::test]
#[ignore = "not a test: the other tests here run it as the harness that is killed"]
async fn hold_an_ensemble() {
    let Some(root) = std::env::var_os(HOLD_IN) else { return };
    let work = WorkDir::create_in(Path::new(&root), "held").expect("a folder");
    let ensemble = LocalEnsemble::start(options(1), &work).await.expect("it starts");
    println!("\nholding {:?}", ensemble.pids());
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
}

/// A harness that holds an ensemble, and the pids of its servers.
fn hold_in(root: &Path) -> (ChildGuard, Vec<ProcessId>) {
    let (process, pids) = harness("ensemble_leftovers::hold_an_ensemble", &[(HOLD_IN, root.as_os_str())]);
    let pids = pids.trim_start_matches('[').trim_end_matches(']').split(", ");
    (process, pids.map(|pid| pid.parse().ok().and_then(ProcessId::of).expect("a live server")).collect())
}

#[tokio::test]
async fn a_killed_harness_takes_its_servers_along_and_clean_removes_its_folder_only() {
    let root = tempfile::tempdir().expect("a temp dir");
    let folder = root.path().join("hustings-held");
    let (process, servers) = hold_in(root.path());

    let (ok, said) = clean(root.path(), &[], None);
    assert!(ok && said.contains("run held is under way"), "{said}");
    assert!(folder.exists() && servers.iter().all(|s| s.is_alive()), "a live run is left alone");

    drop(process);
    assert!(all_gone(&servers).await, "the servers died with the harness");
    assert!(folder.exists(), "nobody was left to remove it");

    let strangers = strangers(root.path());
    let mine = WorkDir::create_in(root.path(), "mine").expect("a folder");
    let (ok, said) = clean(root.path(), &["--dry-run"], None);
    assert!(ok && said.contains("would remove") && folder.exists(), "{said}");
    let (ok, said) = clean(root.path(), &[], None);
    assert!(ok && said.contains("removed"), "{said}");
    assert!(!folder.exists());
    assert!(mine.path().exists(), "the folder of a run that lives is left alone");
    for stranger in strangers {
        assert!(stranger.exists(), "{} was not ours to remove", stranger.display());
    }
    let (ok, said) = clean(root.path(), &[], None);
    assert!(ok && said.contains("nothing to clean"), "{said}");
}

/// Things that look like a run's folder, and are not verifiably one.
fn strangers(root: &Path) -> Vec<PathBuf> {
    let names = ["other", "hustings-file", "hustings-no-owner", "hustings-bad-owner", "hustings-renamed"];
    let paths: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
    fs::write(&paths[1], "a file").expect("written");
    for path in [&paths[0], &paths[2], &paths[3], &paths[4]] {
        fs::create_dir(path).expect("made");
    }
    fs::write(paths[3].join("owner.json"), "{\"run\":").expect("written");
    let owner = fs::read(root.join("hustings-held/owner.json")).expect("read");
    fs::write(paths[4].join("owner.json"), owner).expect("written");
    paths
}

/// A dead run's folder whose notes name these children.
fn dead_run(root: &Path, children: &str) -> PathBuf {
    let folder = root.join("hustings-dead");
    fs::create_dir(&folder).expect("made");
    // No process of pid 1 started that late.
    let owner = format!(r#"{{"run":"dead","pid":1,"started":{},"exe":"{EXE}"}}"#, u64::MAX);
    fs::write(folder.join("owner.json"), owner).expect("written");
    fs::write(folder.join("children"), children).expect("written");
    folder
}

#[test]
fn clean_kills_a_dead_runs_child_and_spares_processes_that_only_share_its_pid() {
    let root = tempfile::tempdir().expect("a temp dir");
    let root = root.path().canonicalize().expect("its path");
    let script = root.join("hustings-dead/data");
    // A shell that waits for input that does not come.
    let wait = |argument: &Path| {
        let arguments = ["-c", "read line; :"].map(std::ffi::OsStr::new);
        Command::new("sh").args(arguments).arg(argument).stdin(Stdio::piped()).spawn().expect("it starts")
    };
    // Ours: its command line names the run's folder. The others: another command line, or another start time.
    let (mut ours, mut foreign, mut later) = (wait(&script), wait(Path::new("elsewhere")), wait(&script));
    let id = |child: &Child| ProcessId::of(child.id()).expect("it lives");
    let (ours_id, foreign_id, later_id) = (id(&ours), id(&foreign), id(&later));
    let line = |p: ProcessId, shift: u64| format!("{} {}\n", p.pid, p.started - shift);
    let notes = [line(ours_id, 0), line(foreign_id, 0), line(later_id, 1), "torn 1".to_owned()].concat();
    let folder = dead_run(&root, &notes);

    let (ok, said) = clean(&root, &[], None);
    assert!(ok, "{said}");
    assert!(said.contains(&format!("killed 1 of processes {}", ours_id.pid)), "{said}");
    assert!(!ours_id.is_alive() && !folder.exists());
    assert!(foreign_id.is_alive() && later_id.is_alive());
    for child in [&mut ours, &mut foreign, &mut later] {
        let _ = child.kill();
        child.wait().expect("reaped");
    }
}

/// A process in a group of its own, with the mark of a run. Its parent has been killed, and it ends with the test.
struct Orphan(ProcessId);

impl Orphan {
    fn of(run: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", "setsid sleep 60 >/dev/null & echo $!; wait"]).env("HUSTINGS_RUN", run);
        let mut shell = shell.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(shell.stdout.take().expect("its output")).read_line(&mut line).expect("read");
        let orphan = Self(line.trim().parse().ok().and_then(ProcessId::of).expect("a live process"));
        assert!(wait_until(Duration::from_secs(20), || orphan.0.command_line().starts_with("sleep ")));
        shell.kill().expect("killed");
        shell.wait().expect("reaped");
        orphan
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        let _ = self.0.kill_if(|line| line.starts_with("sleep "));
    }
}

#[test]
fn clean_kills_processes_that_carry_the_mark_of_a_dead_run_and_no_others() {
    let root = tempfile::tempdir().expect("a temp dir");
    let folder = dead_run(root.path(), "");
    let owner = fs::read_to_string(folder.join("owner.json")).expect("read");
    let owner: FolderOwner = serde_json::from_str(&owner).expect("an owner");
    let alive = WorkDir::create_in(root.path(), "alive").expect("a folder");
    let same_id = FolderOwner { started: 1, ..owner.clone() };
    let (ours, others) = (Orphan::of(&owner.mark()), [Orphan::of(alive.mark()), Orphan::of(&same_id.mark())]);

    let (ok, said) = clean(root.path(), &["--dry-run"], None);
    assert!(ok && said.contains(&format!("kill processes {}", ours.0.pid)) && ours.0.is_alive(), "{said}");
    let (ok, said) = clean(root.path(), &[], None);
    assert!(ok && said.contains(&format!("killed 1 of processes {}", ours.0.pid)), "{said}");
    assert!(!ours.0.is_alive() && !folder.exists());
    assert!(others.iter().all(|other| other.0.is_alive()), "those are of other runs");
}

#[test]
fn a_guard_whose_parent_is_gone_starts_nothing() {
    let root = tempfile::tempdir().expect("a temp dir");
    let made = root.path().join("made");
    let guard = |parent: u32| {
        let mut command = Command::new(EXE);
        command.args(["guard", "--parent", &parent.to_string(), "--", "touch"]).arg(&made);
        command.output().expect("it runs")
    };
    let output = guard(1);
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("parent"), "it says why");
    assert!(!made.exists());
    assert!(guard(std::process::id()).status.success());
    assert!(made.exists());
}
