//! Runs on containers, by the program itself: faults on links, candidates and servers, an orderly end, and the
//! leftovers of a disorderly one.
//!
//! Needs a Docker engine and the images in HUSTINGS_ZOOKEEPER_IMAGE and HUSTINGS_TOXIPROXY_IMAGE; the defaults are
//! those that ci/images/build.sh builds.

use std::path::Path;
use std::process::Command;

use crate::ensemble_docker::support::{IMAGES, docker};
use crate::run_support::scenario::{LENIENT, endless, on_one_server, scenario};
use crate::run_support::{Bench, RunningProgram, assert_verified, cell, check, recorded, summary_of};
use hustings_record::LinkUse;
use hustings_reports::verdict::Verdict;
use rustix::process::Signal;

/// The program on containers of this machine's images.
fn command(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.command(&[&["run", "--ensemble", "docker"], arguments].concat());
    for (variable, local) in IMAGES {
        if std::env::var(variable).is_ok_and(|name| !name.is_empty()) {
            continue;
        }
        command.env(variable, local);
    }
    command
}

/// Containers and networks of the runs whose temporary files are in this folder, or in one of its subfolders.
fn at_docker(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for kind in [&["ps", "-a"][..], &["network", "ls"]] {
        let format = "{{.ID}} {{.Label \"org.hustings.folder\"}}";
        let text = docker(&[kind, &["--filter", "label=org.hustings.run", "--format", format]].concat());
        let of_folder =
            |line: &&str| line.split_once(' ').is_some_and(|(_, label)| Path::new(label).starts_with(folder));
        found.extend(text.lines().filter(of_folder).map(ToOwned::to_owned));
    }
    found
}

#[test]
fn faults_on_links_candidates_and_servers_work_on_containers_and_nothing_is_left() {
    let bench = Bench::new();
    let faults = r#"
[faults]
partition = { kind = "partition", for_t = 1.5 }
resign = { kind = "resign" }
server-kill = { kind = "server-kill", for_ms = 3000 }
server-partition = { kind = "server-partition", for_ms = 6000 }
"#;
    let file = bench.scenario(&(patient_servers(&scenario("", faults)) + LENIENT));
    bench.start(command(&bench, &[&file, "--out", "record"])).end().fails_nothing();
    bench.assert_nothing_left();
    assert_eq!(at_docker(&bench.tmp()), Vec::<String>::new());
    let summary = summary_of(&bench.path("record"));
    assert!(summary.manifest.ensemble.starts_with("docker: 3 ZooKeeper"), "{}", summary.manifest.ensemble);
    for fault in ["-partition", "resign", "server-kill", "server-partition"] {
        let cell = match fault {
            "-partition" => summary.cells.iter().find(|cell| cell.info.fault == "partition").expect("the cell"),
            _ => cell(&summary, fault),
        };
        assert_verified(cell);
        assert_eq!(cell.leaderless.groups_at_end, 0, "{fault}");
        assert_eq!(cell.info.links != LinkUse::Direct, fault == "-partition", "{fault}");
    }
    for fault in ["server-kill", "server-partition"] {
        let cell = cell(&summary, fault);
        let found = check(cell, "server-elections");
        assert_ne!(found.verdict, Verdict::Fail, "{fault}: {found:#?}");
        let elections = &cell.ensemble.elections;
        assert!(elections.iter().any(|election| election.winner.is_some()), "{fault}: {elections:#?}");
    }
}

/// With ticks and sessions that suit a busy machine, on which containers start one after the other.
fn patient_servers(scenario: &str) -> String {
    scenario
        .replace("tick_ms = 100", "tick_ms = 500\nsync_limit = 4\ninit_limit = 20")
        .replace("session_timeout_ms = 1000", "session_timeout_ms = 4000")
}

/// A run in the middle of a fault that lasts for ten minutes.
fn in_the_middle(bench: &Bench, text: &str, name: &str) -> RunningProgram {
    let file = bench.scenario(&patient_servers(text));
    let mut running = bench.start(command(bench, &[&file, "--out", name]));
    let record = bench.path(name);
    running.until_within("the fault's verification", std::time::Duration::from_secs(150), || {
        recorded(&record, r#""e":"receipt""#)
    });
    running
}

#[test]
fn after_a_kill_clean_removes_that_run_and_leaves_another_alone() {
    let bench = Bench::new();
    let killed = in_the_middle(&bench, &endless("partition"), "killed");
    let of_killed = at_docker(&bench.tmp());
    assert!(of_killed.len() >= 5, "three servers, a Toxiproxy and networks: {of_killed:?}");
    let running = in_the_middle(&bench, &on_one_server(&endless("partition")), "running");
    let of_both = at_docker(&bench.tmp());
    assert!(of_both.len() > of_killed.len(), "{of_both:?}");

    killed.signal(Signal::KILL);
    killed.end().expect(128 + 9);
    bench.run(&["clean"]).expect(0);
    let left = at_docker(&bench.tmp());
    assert!(left.iter().all(|thing| !of_killed.contains(thing)), "{left:?}");
    assert_eq!(left.len(), of_both.len() - of_killed.len(), "the other run has all that it had");
    assert_eq!(bench.leftovers().len(), 1, "and its folder");

    running.signal(Signal::INT);
    let ran = running.end().expect(130);
    assert!(
        recorded(&bench.path("running"), r#""e":"receipt""#) || bench.path("running/report.html").exists(),
        "{}",
        ran.err
    );
    assert_eq!(at_docker(&bench.tmp()), Vec::<String>::new());
    bench.assert_nothing_left();
}

#[test]
fn what_is_missing_is_named_with_its_remedy() {
    let bench = Bench::new();
    let file = bench.scenario(&endless("partition"));
    let mut missing = command(&bench, &[&file, "--out", "record", "--zookeeper-image", "localhost:1/no/such:image"]);
    missing.env_remove("HUSTINGS_ZOOKEEPER_IMAGE");
    let ran = bench.start(missing).end().expect(4);
    ran.error(&["localhost:1/no/such:image", "--zookeeper-image", "ci/images/build.sh"]);
    let mut nowhere = command(&bench, &[&file, "--out", "record"]);
    nowhere.env("DOCKER_HOST", "unix:///no/such/docker.sock");
    bench.start(nowhere).end().expect(4).error(&["/no/such/docker.sock", "DOCKER_HOST"]);
    assert!(!bench.path("record").exists());
    bench.assert_nothing_left();
}
