//! Ensembles that somebody else runs: used, left as they were found, and refused with the reason when they do not do.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

// Real servers of somebody else.
use crate::ensemble_support::{LocalBench as Others, all_gone, options};
use crate::run_support::scenario::{LENIENT, endless, scenario};
use crate::run_support::toxiproxy::toxiproxy;
use crate::run_support::{Bench, ProgramOutput, RunningProgram, assert_verified, summary_of};
use hustings::access::Access;
use hustings::ensemble::external::{ExternalEnsemble, ExternalOptions};
use hustings::ensemble::{Ensemble as _, EnsembleError};
use hustings::files::workdir::WorkDir;
use hustings::process::procfs::ProcessId;
use hustings_record::LinkUse;
use rustix::process::Signal;
use zookeeper_client::{Acls, Client, CreateMode};

const END_WITHIN: Duration = Duration::from_secs(60);
const TICK_MS: u64 = 200;

impl Others {
    async fn serve(servers: u32, extra_config: &str) -> Self {
        let mut options = options(servers);
        options.servers.tick_ms = TICK_MS;
        options.extra_config = extra_config.to_owned();
        Self::start(options).await
    }

    fn addresses(&self) -> Vec<String> {
        self.ensemble.servers().iter().map(SocketAddr::to_string).collect()
    }

    fn cluster(&self) -> String {
        self.addresses().join(",")
    }

    async fn client(&self) -> Client {
        Client::connect(&self.cluster()).await.expect("a session")
    }

    /// Znodes at the top that runs make.
    async fn znodes_of_runs(&self) -> Vec<String> {
        let client = self.client().await;
        client.sync("/").await.expect("synced");
        let names = client.list_children("/").await.expect("listed");
        names.into_iter().filter(|name| name.starts_with("hustings-")).collect()
    }

    async fn create(&self, path: &str) {
        let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
        self.client().await.mkdir(path, &options).await.expect("created");
    }

    fn asked(&self, connect: &[usize]) -> ExternalOptions {
        let addresses = self.addresses();
        let named = |names: Vec<String>| connect.iter().map(|at| names[at - 1].clone()).collect();
        let zoos = (1..=addresses.len()).map(|id| format!("zoo{id}:2181")).collect();
        ExternalOptions {
            connect: named(addresses),
            upstreams: Some(named(zoos)),
            toxiproxy: None,
            access: Access::default(),
            sessions: 60,
            group_size: 3,
            within: Duration::from_secs(1),
            why: "a test asked for it".to_owned(),
        }
    }
}

async fn connect(options: ExternalOptions) -> Result<ExternalEnsemble, EnsembleError> {
    let root = tempfile::tempdir().expect("a temp dir");
    let work = WorkDir::create_in(root.path(), "connects").expect("a folder");
    ExternalEnsemble::connect(options, &work, "connects").await
}

async fn refused(options: ExternalOptions, words: &[&str]) {
    let told = connect(options).await.expect_err("refused").to_string();
    for word in words {
        assert!(told.contains(word), "{word:?} is not in: {told}");
    }
}

/// A run over links, with a fault on them.
fn with_a_partition() -> String {
    let cut = "[faults.cut]\nkind = \"partition\"\ntarget = \"host-leading-most\"\nfor_t = 1.5\n";
    scenario("", cut).replace("session_timeout_ms = 1000", "session_timeout_ms = 2000") + LENIENT
}

fn run(bench: &Bench, text: &str, more: &[&str]) -> RunningProgram {
    bench.start(bench.command(&[&["run", &bench.scenario(text), "--out", "record"], more].concat()))
}

/// It recorded a partition that was seen. A busy machine may stall, which makes a run inconclusive and nothing worse.
fn ran_through(bench: &Bench, ran: ProgramOutput) -> ProgramOutput {
    ran.fails_nothing();
    assert_verified(&summary_of(&bench.path("record")).cells[0]);
    ran
}

#[tokio::test]
async fn servers_of_somebody_else_are_asked_and_used_and_left_as_they_were() {
    let others = Others::serve(3, "").await;
    a_dry_run_asks_the_servers_and_changes_nothing_there(&others).await;
    a_toxiproxy_of_somebody_else_carries_the_links_to_servers_by_name(&others).await;
    a_run_leaves_servers_and_foreign_znodes_as_they_were_and_counts_by_the_servers_tick(&others).await;
    servers_are_numbered_by_their_ids_and_lists_that_are_no_ensemble_are_refused(&others).await;
    let cluster = others.cluster();
    others.ensemble.stop().await.expect("stopped");
    a_dry_run_shows_the_plan_though_no_server_can_be_reached(&cluster);
}

async fn a_run_leaves_servers_and_foreign_znodes_as_they_were_and_counts_by_the_servers_tick(others: &Others) {
    others.create("/hustings-others-1/election/theirs").await;
    others.create("/theirs").await;
    let pids: Vec<ProcessId> = others.ensemble.pids().into_iter().filter_map(ProcessId::of).collect();

    let bench = Bench::new();
    let ran = ran_through(&bench, run(&bench, &with_a_partition(), &["--connect", &others.cluster()]).end());
    bench.assert_nothing_left();
    let summary = summary_of(&bench.path("record"));
    assert!(summary.manifest.ensemble.starts_with("external: 3 ZooKeeper 3."), "{}", summary.manifest.ensemble);
    let told = |text: &str| text.contains("tick of 100 ms") && text.contains("200 ms");
    assert!(told(&ran.err) && summary.manifest.warnings.iter().any(|warning| told(&warning.text)), "{}", ran.err);
    assert_eq!(summary.cells[0].info.tick_ms, TICK_MS);

    assert_eq!(others.znodes_of_runs().await, ["hustings-others-1"]);
    let client = others.client().await;
    for path in ["/hustings-others-1/election/theirs", "/theirs"] {
        assert!(client.check_stat(path).await.expect("read").is_some(), "{path} was not the run's to remove");
    }
    assert!(pids.len() == 3 && pids.iter().all(|pid| pid.is_alive()), "the servers run on");
}

async fn a_dry_run_asks_the_servers_and_changes_nothing_there(others: &Others) {
    let bench = Bench::new();
    let ran = run(&bench, &with_a_partition(), &["--connect", &others.cluster(), "--dry-run"]).end().expect(0);
    for told in ["tick 200 ms", "timeouts from 400 to 4000 ms", "srvr, conf and mntr", "44 connections", "T 2000 ms"] {
        assert!(ran.out.contains(told), "{told}: {}", ran.out);
    }
    assert!(ran.out.contains("warning: the scenario asks for a tick of 100 ms"), "{}", ran.out);
    assert!(!ran.out.contains("fsync"), "nobody said so: {}", ran.out);
    assert_eq!(others.znodes_of_runs().await, Vec::<String>::new());
    assert!(!bench.path("record").exists());
    let below = format!("{}/nosuch", others.cluster());
    let ran = run(&bench, &with_a_partition(), &["--connect", &below, "--dry-run"]).end().expect(4);
    let told = ran.error(&["/nosuch", "is not there", "create /nosuch"]);
    let in_earnest = run(&bench, &with_a_partition(), &["--connect", &below]).end().expect(4);
    assert_eq!(in_earnest.error(&[]), told, "the run says the same");
    assert!(ran.out.contains("tick 200 ms") && !ran.out.contains("not asked"), "{}", ran.out);
    bench.assert_nothing_left();
}

fn a_dry_run_shows_the_plan_though_no_server_can_be_reached(cluster: &str) {
    let bench = Bench::new();
    let ran = run(&bench, &with_a_partition(), &["--connect", cluster, "--dry-run"]).end().expect(4);
    ran.error(&["cannot be reached"]);
    assert!(ran.out.contains("not asked") && ran.out.contains("expected: "), "the plan all the same: {}", ran.out);
    bench.assert_nothing_left();
}

async fn a_toxiproxy_of_somebody_else_carries_the_links_to_servers_by_name(others: &Others) {
    let bench = Bench::new();
    let (first, last) = (27_300, 27_308);
    let (proxy, api) = toxiproxy(&bench);
    let ports: Vec<u16> = others.ensemble.servers().iter().map(SocketAddr::port).collect();
    let named = |ports: &[u16]| ports.iter().map(|port| format!("localhost:{port}")).collect::<Vec<_>>().join(",");
    let cluster = others.cluster();
    let over = |ports: &str, upstreams: &str| {
        let words = ["--connect", &cluster, "--toxiproxy", &api, "--toxiproxy-ports", ports];
        let words = [&words[..], &["--toxiproxy-upstreams", upstreams]].concat();
        run(&bench, &with_a_partition(), &words).end()
    };

    let ran = over("27300-27307", &named(&ports)).expect(4);
    ran.error(&["3 hosts x 3 servers = 9 ports", "27300 to 27307 are 8", "--toxiproxy-ports"]);
    assert!(!ran.err.contains("ensemble:"), "found out before anything is started: {}", ran.err);

    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port();
    let wrong = over(&format!("{first}-{last}"), &named(&[ports[0], nobody, ports[2]])).expect(4);
    wrong.error(&["server 2", &format!("localhost:{nobody}"), "--toxiproxy-upstreams"]);
    assert!(!bench.path("record").exists(), "a record of nothing");
    assert_eq!(others.znodes_of_runs().await, Vec::<String>::new());

    ran_through(&bench, over(&format!("{first}-{last}"), &named(&ports)));
    assert_eq!(summary_of(&bench.path("record")).cells[0].info.links, LinkUse::External);
    assert_eq!(others.znodes_of_runs().await, Vec::<String>::new());
    drop(proxy);
    bench.assert_nothing_left();
}

/// In the end one of the servers is killed.
async fn servers_are_numbered_by_their_ids_and_lists_that_are_no_ensemble_are_refused(others: &Others) {
    let ensemble = connect(others.asked(&[3, 1, 2])).await.expect("it serves");
    assert_eq!(ensemble.servers(), others.ensemble.servers());
    assert_eq!(ensemble.upstreams(), ["zoo1:2181", "zoo2:2181", "zoo3:2181"]);
    assert_eq!(ensemble.tick_ms(), Some(TICK_MS));
    assert_eq!(ensemble.timeout_bounds_ms(), Some((2 * TICK_MS, 20 * TICK_MS)));
    assert!(ensemble.ask(2, "conf").await.expect("answered").contains("serverId=2"));
    assert!(ensemble.control().is_none());
    assert!(matches!(ensemble.ask(4, "conf").await, Err(EnsembleError::NoSuchServer(4))));
    assert_eq!(ensemble.metrics().await.expect("counted").len(), 3);

    refused(others.asked(&[1, 3]), &["has 3 servers", "names 2", "server.2 is missing"]).await;
    refused(others.asked(&[1, 2, 2]), &["the same server (id 2)", "once"]).await;
    let nameless = ExternalOptions { connect: vec!["localhost".to_owned()], upstreams: None, ..others.asked(&[]) };
    refused(nameless, &["--connect localhost", "HOST:PORT"]).await;
    let fewer = ExternalOptions { upstreams: Some(vec!["zoo1:2181".to_owned()]), ..others.asked(&[1, 2, 3]) };
    refused(fewer, &["3 servers", "1 in --toxiproxy-upstreams"]).await;

    let alone = Others::serve(1, "").await;
    let single = connect(alone.asked(&[1])).await.expect("it serves");
    assert_eq!(single.servers().len(), 1);
    let both = [others.addresses(), alone.addresses()].concat();
    let mixed = ExternalOptions { connect: both, upstreams: None, ..others.asked(&[]) };
    refused(mixed, &["not servers of one ensemble"]).await;
    alone.ensemble.stop().await.expect("stopped");

    let third = others.ensemble.pids()[2];
    let process = ProcessId::of(third).expect("it lives");
    let third = i32::try_from(third).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    rustix::process::kill_process(third, Signal::KILL).expect("it runs");
    assert!(all_gone(&[process]).await, "it is killed");
    refused(others.asked(&[1, 2, 3]), &[&others.addresses()[2], "cannot be reached", "is it running"]).await;
}

#[tokio::test]
async fn too_few_connections_and_words_that_are_not_allowed_are_refused_with_the_setting() {
    let few = Others::serve(3, "maxClientCnxns=70\n").await;
    let first = few.addresses()[0].clone();
    // 60 sessions on three servers: 2 x 20 + 32.
    refused(few.asked(&[1, 2, 3]), &[&first, "maxClientCnxns=70", "72", "60 sessions / 3", "maxClientCnxns=0"]).await;
    let fewer = ExternalOptions { sessions: 57, ..few.asked(&[1, 2, 3]) };
    assert!(connect(fewer).await.is_ok(), "2 x 19 + 32 are 70");

    let bench = Bench::new();
    let sixty = with_a_partition().replace("groups = 6", "groups = 20");
    let ran = run(&bench, &sixty, &["--connect", &few.cluster()]).end().expect(4);
    ran.error(&["maxClientCnxns=70", "maxClientCnxns=0", "--set election.groups=19"]);
    let dry = run(&bench, &sixty, &["--connect", &few.cluster(), "--dry-run"]).end().expect(4);
    dry.error(&["maxClientCnxns=70", "--set election.groups=19"]);
    assert!(dry.out.contains("tick 200 ms") && !dry.out.contains("not asked"), "they answered: {}", dry.out);
    let fits = ["--connect", &few.cluster(), "--set", "election.groups=19", "--dry-run"];
    run(&bench, &sixty, &fits).end().expect(0);
    bench.assert_nothing_left();
    few.ensemble.stop().await.expect("stopped");

    let mute = Others::serve(1, "4lw.commands.whitelist=srvr,conf\n").await;
    refused(mute.asked(&[1]), &[&mute.addresses()[0], "mntr", "4lw.commands.whitelist=*"]).await;
    mute.ensemble.stop().await.expect("stopped");
}

#[test]
fn faults_on_servers_of_somebody_else_are_refused_before_anything_is_started() {
    let bench = Bench::new();
    let kill = "[faults.calm]\nkind = \"none\"\nfor_ms = 100\n[faults.lost]\nkind = \"server-kill\"\nfor_ms = 500\n";
    // Nobody listens there, and nobody is asked.
    let ran = run(&bench, &(scenario("", kill) + LENIENT), &["--connect", "127.0.0.1:1"]).end().expect(2);
    ran.error(&["server-kill", "cell predecessor-watch-lost", "--ensemble local", "--ensemble docker"]);
    assert!(!bench.path("record").exists());
    bench.assert_nothing_left();
}

#[test]
fn servers_that_do_not_answer_are_named() {
    let bench = Bench::new();
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").to_string();
    let ran = run(&bench, &with_a_partition(), &["--connect", &free]).end().expect(4);
    ran.error(&[&free, "cannot be reached", "refused", "is it running"]);
    assert!(!bench.path("record").exists());
    bench.assert_nothing_left();
}

/// A run on the servers, in the middle of its fault.
fn in_the_middle(bench: &Bench, others: &Others) -> RunningProgram {
    let running = run(bench, &endless("partition"), &["--ensemble", "external", "--connect", &others.cluster()]);
    running.in_its_fault(&bench.path("record"))
}

#[tokio::test]
async fn runs_that_end_in_any_way_leave_no_znode_once_all_is_cleaned_and_a_note_until_then() {
    let others = Others::serve(1, "").await;
    an_end_at_once_leaves_no_znode_that_clean_does_not_know_of(&others).await;
    ctrl_c_and_kill_leave_no_znode_once_all_is_cleaned(&others).await;
    znodes_that_cannot_be_removed_are_told_and_their_note_stays(&others).await;
}

async fn ctrl_c_and_kill_leave_no_znode_once_all_is_cleaned(others: &Others) {
    let bench = Bench::new();
    let running = in_the_middle(&bench, others);
    assert!(!others.znodes_of_runs().await.is_empty(), "its znodes are there");
    running.signal(Signal::INT);
    running.end_within(END_WITHIN).expect(130);
    assert_eq!(others.znodes_of_runs().await, Vec::<String>::new());
    bench.assert_nothing_left();

    others.create("/hustings-others-1/election/theirs").await;
    let killed = Bench::new();
    let running = in_the_middle(&killed, others);
    running.signal(Signal::KILL);
    running.end_within(END_WITHIN).expect(137);
    killed.assert_no_process_left();
    assert_eq!(killed.leftovers().len(), 1, "its notes");
    let before = others.znodes_of_runs().await;
    assert!(before.len() >= 2, "its znodes are left: {before:?}");
    let dry = killed.run(&["clean", "--dry-run"]).expect(0);
    assert!(dry.err.contains("remove the znodes /hustings-") && dry.err.contains(&others.cluster()), "{}", dry.err);
    assert_eq!(others.znodes_of_runs().await, before);
    let cleaned = killed.run(&["clean"]).expect(0);
    assert!(cleaned.err.contains("znodes /hustings-") && cleaned.err.contains("removed"), "{}", cleaned.err);
    assert_eq!(others.znodes_of_runs().await, ["hustings-others-1"], "others' are left alone");
    killed.assert_nothing_left();
}

async fn an_end_at_once_leaves_no_znode_that_clean_does_not_know_of(others: &Others) {
    let bench = Bench::new();
    let running = in_the_middle(&bench, others);
    running.signal(Signal::INT);
    // Two signals of a kind that wait at the same time are one.
    std::thread::sleep(Duration::from_millis(50));
    running.signal(Signal::INT);
    let ran = running.end_within(END_WITHIN).expect(130);
    bench.assert_no_process_left();
    // The first one may have been enough, on a fast machine.
    let told = ran.err.contains("may be left") && ran.err.contains("`hustings clean` removes them");
    assert!(told || others.znodes_of_runs().await.is_empty(), "{}", ran.err);
    bench.run(&["clean"]).expect(0);
    assert_eq!(others.znodes_of_runs().await, Vec::<String>::new());
    bench.assert_nothing_left();
}

/// In the end the servers are stopped.
async fn znodes_that_cannot_be_removed_are_told_and_their_note_stays(others: &Others) {
    let bench = Bench::new();
    let running = in_the_middle(&bench, others);
    running.signal(Signal::KILL);
    running.end_within(END_WITHIN).expect(137);
    bench.assert_no_process_left();
    let (note, cluster) = (bench.leftovers(), others.cluster());
    others.ensemble.stop().await.expect("stopped");
    let ran = bench.run(&["clean"]).expect(4);
    for word in ["could not be removed", &cluster, "when the servers can be reached"] {
        assert!(ran.err.contains(word), "{word:?} is not in: {}", ran.err);
    }
    assert_eq!(bench.leftovers(), note);
}
