//! Runs on embedded servers: every fault takes effect there, and the results name the kind of servers.

use std::collections::BTreeSet;
use std::net::TcpListener;

use crate::run_support::scenario::{EMBEDDED, LENIENT, calm, scenario};
use crate::run_support::toxiproxy::toxiproxy;
use crate::run_support::{Bench, PROXIES_THAT_REFUSE, assert_verified_and_whole, cell};
use hustings_record::{FaultKind, Record};

const FAULTS: &str = r#"
[faults]
crash = { kind = "crash", for_t = 1.5 }
expire = { kind = "expire" }
partition = { kind = "partition", for_t = 1.5 }
elsewhere = { kind = "partition", for_t = 1.5, servers = [2] }
lost-reply = { kind = "lost-reply", target = "share", share = 1.0, for_ms = 2000, with = "expire", with_after_ms = 200 }
vanished = { kind = "parent-delete" }
server-kill = { kind = "server-kill", target = "ensemble-leader", for_ms = 2000 }
server-pause = { kind = "server-pause", target = "ensemble-leader", for_ms = 2500 }
server-partition = { kind = "server-partition", target = "ensemble-leader", for_ms = 2500 }
server-restart-all = { kind = "server-restart-all" }
"#;

const ON_HOSTS: &str = r#"matrix.fault=["crash", "expire", "partition", "elsewhere", "lost-reply", "vanished"]"#;
const ON_SERVERS: &str = r#"matrix.fault=["server-kill", "server-pause", "server-partition", "server-restart-all"]"#;

const CAVEAT: &str = "embedded ensemble: ";

#[test]
fn faults_on_hosts_links_and_servers_are_verified_on_embedded_servers() {
    let bench = Bench::new();
    let text = scenario("", FAULTS).replace("tick_ms = 100\n", "tick_ms = 100\nsync_limit = 10\n") + LENIENT;
    let on = |faults| [&EMBEDDED[..], &["--set", faults]].concat();
    let ran = bench.records(&text, [("hosts", &on(ON_HOSTS)), ("servers", &on(ON_SERVERS))]);
    use FaultKind as F;
    let on_hosts = [F::Crash, F::Expire, F::LostReply, F::ParentDelete, F::Partition];
    let on_servers = [F::ServerKill, F::ServerPause, F::ServerPartition, F::ServerRestartAll];
    let [hosts, servers] = ran.map(|ran| {
        ran.fails_nothing();
        assert!(ran.err.contains(CAVEAT), "{}", ran.err);
        let summary = ran.summary();
        summary.cells.iter().for_each(assert_verified_and_whole);
        summary
    });
    for (summary, wanted) in [(&hosts, BTreeSet::from(on_hosts)), (&servers, BTreeSet::from(on_servers))] {
        let verifications = summary.cells.iter().flat_map(|cell| &cell.faults.verifications);
        assert_eq!(verifications.map(|one| one.kind).collect::<BTreeSet<F>>(), wanted);
    }
    let verifications = |name: &str| &cell(&hosts, name).faults.verifications;
    let lost = verifications("lost-reply").iter().find(|one| one.kind == F::LostReply).expect("a verification");
    assert!(lost.evidence.contains("/election/") && lost.evidence.contains(" at 0x"), "{}", lost.evidence);
    let elsewhere = &verifications("elsewhere")[0];
    assert_eq!(elsewhere.servers, [2]);
    assert!(elsewhere.evidence.contains("read back on 1 links"), "{}", elsewhere.evidence);
}

#[test]
fn a_run_on_this_machine_does_not_use_the_proxies_that_the_environment_names() {
    let links = r#"
[faults]
partition = { kind = "partition", for_t = 1.5 }
slow = { kind = "slow", latency_ms = 30, for_ms = 1500 }
disconnect = { kind = "disconnect" }
"#;
    let bench = Bench::new();
    let (toxiproxy, api) = toxiproxy(&bench);
    let file = bench.scenario(&(scenario("", links) + LENIENT));
    let run = |out: &str, more: &[&str]| {
        let mut command = bench.command(&[&["run", &file, "--out", out, "--json"], &EMBEDDED[..], more].concat());
        command.envs(PROXIES_THAT_REFUSE).env_remove("NO_PROXY").env_remove("no_proxy");
        bench.start(command)
    };
    let runs = [run("embedded", &[]), run("toxiproxy", &["--toxiproxy", &api])];
    for ran in runs.map(|running| running.end()) {
        ran.fails_nothing();
        let summary = ran.summary();
        assert_eq!(summary.cells.len(), 3);
        summary.cells.iter().for_each(assert_verified_and_whole);
    }
    drop(toxiproxy);
    bench.assert_nothing_left();
}

#[test]
fn a_machine_without_java_and_docker_gets_embedded_servers_and_is_told_so() {
    let bench = Bench::new();
    let file = bench.scenario(&calm());
    let mut command = bench.command(&["run", &file, "--out", "record", "--json"]);
    command.env("PATH", "/nonexistent").env("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    command.env_remove("JAVA_HOME").env_remove("ZOOKEEPER_HOME");
    let ran = bench.start(command).end();
    bench.assert_nothing_left();
    ran.fails_nothing();
    let record = Record::read(&bench.path("record")).expect("a record");
    let manifest = &record.manifest;
    assert!(manifest.ensemble.starts_with("embedded: "), "{}", manifest.ensemble);
    for why in ["no Java found", "/nonexistent/docker.sock"] {
        assert!(manifest.ensemble.contains(why), "{}", manifest.ensemble);
    }
    let first = manifest.warnings.first().expect("a warning");
    assert!(first.text.starts_with(CAVEAT) && first.text.contains("ci/setup.sh"), "{first:?}");
    let report = std::fs::read_to_string(bench.path("record").join("report.html")).expect("a report");
    assert!(report.contains(CAVEAT), "the report says so");
}

#[test]
fn cells_with_other_servers_run_on_an_ensemble_of_their_own_and_in_the_same_record() {
    let bench = Bench::new();
    let sets = ["--set", "matrix.servers=[1,3]", "--set", "matrix.work_interval_ms=[20,50]"];
    let ran = bench.record(&calm(), &[&EMBEDDED[..], &sets].concat());
    ran.fails_nothing();
    let record = Record::read(&bench.path("record")).expect("a record");
    let manifest = &record.manifest;
    assert_eq!(manifest.cells_planned, 4);
    assert_eq!(manifest.ensemble.matches("embedded: ").count(), 2, "{}", manifest.ensemble);
    assert!(
        ["of 1 ZooKeeper server ", "of 3 ZooKeeper servers "].iter().all(|of| manifest.ensemble.contains(of)),
        "{}",
        manifest.ensemble
    );
    let caveats = manifest.warnings.iter().filter(|warning| warning.text.starts_with(CAVEAT));
    assert_eq!(caveats.count(), 1, "what holds of both is told once");
    let summary = ran.summary();
    let seen: Vec<(u32, u64)> = summary.cells.iter().map(|c| (c.info.servers, c.info.work_interval_ms)).collect();
    assert_eq!(seen, [(1, 20), (1, 50), (3, 20), (3, 50)]);
    assert!(summary.cells.iter().all(|one| one.standing.end.is_some_and(|listed| listed.judged > 0)), "all list");
}

#[test]
fn an_ensemble_that_cannot_be_started_leaves_the_record_of_those_before_it() {
    let bench = Bench::new();
    let file = bench.scenario(&calm());
    // A single server's port is free, the third one's is taken.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = (taken.local_addr().expect("bound").port() - 2).to_string();
    let sets = ["--set", "matrix.servers=[1,3]", "--base-port", &base];
    let run = ["run", &file, "--out", "record"];
    let ran = bench.run(&[&run[..], &EMBEDDED, &sets].concat()).expect(4);
    drop(taken);
    bench.assert_nothing_left();
    assert!(ran.err.contains("what was recorded until then is in record"), "{}", ran.err);
    let record = Record::read(&bench.path("record")).expect("a record");
    assert_eq!((record.manifest.cells.len(), record.manifest.cells_planned), (1, 2));
    assert!(record.manifest.cells[0].complete);
    assert_eq!(record.manifest.state, hustings_record::RunState::Aborted);
}
