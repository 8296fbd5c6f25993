//! A harness that is killed leaves containers behind, and `hustings clean` removes them and nothing else.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::ensemble_support::{clean, harness};
use crate::run_support::ChildGuard;
use hustings::ensemble::Ensemble;
use hustings::ensemble::docker::DockerEnsemble;
use hustings::files::workdir::WorkDir;

use super::support::{Run, everything_of, is_there, options, run_id};

/// Where the helper below makes its folder, and its run's id; without it the helper has nothing to do.
const HOLD_IN: &str = "HUSTINGS_TEST_HOLD_IN";
const HOLD_AS: &str = "HUSTINGS_TEST_HOLD_AS";

#[tokio::test]
#[ignore = "not a test: the other tests here run it as the harness that is killed"]
async fn hold_an_ensemble() {
    let (Ok(root), Ok(run)) = (std::env::var(HOLD_IN), std::env::var(HOLD_AS)) else { return };
    let work = WorkDir::create_in(Path::new(&root), &run).expect("a folder");
    let ensemble = DockerEnsemble::start(options(1), &work, &run).await.expect("it starts");
    println!("\nholding {}", ensemble.describe());
    tokio::time::sleep(Duration::from_secs(120)).await;
}

/// A harness that holds an ensemble.
fn hold_in(root: &Path, run: &str) -> ChildGuard {
    let variables = [(HOLD_IN, root.as_os_str()), (HOLD_AS, OsStr::new(run))];
    harness("ensemble_docker::leftovers::hold_an_ensemble", &variables).0
}

#[tokio::test]
async fn what_a_killed_harness_leaves_at_docker_is_removed_by_clean_and_nothing_else() {
    let root = tempfile::tempdir().expect("a temp dir");
    let run = run_id("held");
    let folder = root.path().join(format!("hustings-{run}"));
    let process = hold_in(root.path(), &run);
    let everything = everything_of(&run);
    assert!(everything.len() >= 2, "{everything:?}");

    let (ok, said) = clean(root.path(), &[], None);
    assert!(ok && said.contains(&format!("run {run} is under way")), "{said}");
    assert!(everything.iter().all(|thing| is_there(thing)), "a live run is left alone");

    drop(process);
    let other = Run::new("other");
    let others = other.start(options(1)).await;
    let (ok, said) = clean(root.path(), &["--dry-run"], None);
    assert!(ok && said.contains(&format!("containers hustings-{run}-zk1")), "{said}");
    assert!(everything.iter().all(|thing| is_there(thing)), "it was only asked what it would do");

    // The note names the engine of the run: without that one nothing can be removed.
    let notes = fs::read_to_string(folder.join("docker")).expect("a note");
    fs::write(folder.join("docker"), "unix:///nonexistent/docker.sock\n").expect("written");
    let (ok, said) = clean(root.path(), &[], None);
    assert!(!ok && said.contains("/nonexistent/docker.sock") && folder.exists(), "{said}");
    fs::write(folder.join("docker"), notes).expect("written");

    let (ok, said) = clean(root.path(), &[], None);
    assert!(ok && said.contains(&format!("hustings-{run}-clients")), "{said}");
    let left: Vec<_> = everything.iter().filter(|thing| is_there(thing)).collect();
    assert!(left.is_empty() && !folder.exists(), "{left:?}");
    others.check_alive().await.expect("another run is untouched");
    others.stop().await.expect("stopped");
}

#[tokio::test]
async fn containers_whose_run_nobody_can_judge_are_told_and_left_alone_and_go_with_their_ensemble() {
    let root = tempfile::tempdir().expect("a temp dir");
    let run = Run::new("orphan");
    let ensemble = run.start(options(1)).await;
    let folder = run.work.path().to_owned();
    let hidden = folder.with_extension("hidden");
    fs::rename(&folder, &hidden).expect("moved");
    let (ok, said) = clean(root.path(), &[], None);
    fs::rename(&hidden, &folder).expect("moved back");
    assert!(ok && said.contains(&format!("docker rm -f -v hustings-{}-zk1", run.id)), "{said}");
    assert!(said.contains(&format!("docker network rm hustings-{}-clients", run.id)), "{said}");
    ensemble.check_alive().await.expect("it was left alone");
    let (_, said) = clean(root.path(), &[], None);
    assert!(!said.contains(&run.id), "a run with a folder elsewhere is somebody else's affair: {said}");
    drop(ensemble);
    assert_eq!(everything_of(&run.id), [""; 0], "one that is dropped is removed too");
}

#[test]
fn clean_says_nothing_of_docker_where_nobody_used_it() {
    let root = tempfile::tempdir().expect("a temp dir");
    let (ok, said) = clean(root.path(), &[], Some("unix:///nonexistent/docker.sock"));
    assert!(ok && said.contains("nothing to clean") && !said.to_lowercase().contains("docker"), "{said}");
}
