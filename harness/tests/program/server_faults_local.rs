//! Faults on real local servers: what is done to them is seen, the ensemble goes on without them, and nothing is left behind.

use std::collections::BTreeSet;
use std::fs;

use crate::ensemble_support::{LocalBench, all_gone, create, has, leader_among, options, stops_serving};
use hustings::ensemble::local::{LocalEnsemble, LocalOptions};
use hustings::ensemble::server_options::ServerOptions;
use hustings::ensemble::{Ensemble, EnsembleError, ServerControl};
use hustings::files::workdir::WorkDir;
use hustings::process::procfs::{ProcessId, process_state};

/// A lost server is noticed within about 2 s.
fn quick(servers: u32, quorum_links: bool) -> LocalOptions {
    let mut options = LocalOptions { quorum_links, ..options(servers) };
    options.servers = ServerOptions { tick_ms: 200, init_limit: Some(25), sync_limit: Some(10), ..options.servers };
    options
}

impl LocalBench {
    fn control(&self) -> &dyn ServerControl {
        self.ensemble.control().expect("its servers are its own")
    }

    async fn leader_of(&self, servers: &[u32]) -> u32 {
        leader_among(&self.ensemble, servers).await
    }

    fn others(&self, server: u32) -> Vec<u32> {
        (1..=self.ensemble.servers().len() as u32).filter(|id| *id != server).collect()
    }

    async fn write(&self, server: u32, path: &str) {
        create(&self.ensemble, server, path).await;
    }

    async fn has(&self, server: u32, path: &str) -> bool {
        has(&self.ensemble, server, path).await
    }
}

fn refused<T: std::fmt::Debug>(seen: Result<T, EnsembleError>, because: &str) {
    let error = seen.expect_err("it cannot be done").to_string();
    assert!(error.contains(because), "{error}");
}

fn is_timed(line: &str) -> bool {
    let shape = "dddd-dd-ddTdd:dd:dd.dddZ ";
    line.len() > shape.len()
        && shape.bytes().zip(line.bytes()).all(|(s, c)| if s == b'd' { c.is_ascii_digit() } else { c == s })
}

#[tokio::test]
async fn servers_are_killed_paused_and_started_again_with_their_data_or_without() {
    let bench = LocalBench::start(quick(3, false)).await;
    nothing_is_cut_where_no_links_are(&bench).await;
    a_killed_leader_is_replaced_and_follows_once_it_is_started_again(&bench).await;
    a_paused_leader_is_replaced_and_follows_once_it_goes_on(&bench).await;
    a_server_that_is_started_empty_gets_its_data_from_the_leader(&bench).await;
    all_servers_at_once_are_killed_and_keep_their_data(&bench).await;
    bench.stop().await;
}

async fn nothing_is_cut_where_no_links_are(bench: &LocalBench) {
    refused(bench.control().cut(&[1]).await, "quorum links");
    refused(bench.control().rejoin(&[1]).await, "quorum links");
}

async fn a_killed_leader_is_replaced_and_follows_once_it_is_started_again(bench: &LocalBench) {
    let old = bench.leader_of(&[1, 2, 3]).await;
    let control = bench.control();
    let process = ProcessId::of(bench.ensemble.pids()[old as usize - 1]).expect("it lives");
    refused(control.start(old, false).await, "it runs still");
    let seen = control.kill(old).await.expect("killed");
    assert!(seen.contains(&process.pid.to_string()) && seen.contains("SIGKILL"), "{seen}");
    assert!(!process.is_alive(), "it is gone when the kill returns");
    bench.ensemble.check_alive().await.expect("nobody misses a server that was killed on purpose");
    for again in [control.kill(old).await, control.pause(old).await, control.resume(old).await] {
        refused(again, "it is dead");
    }

    let new = bench.leader_of(&bench.others(old)).await;
    assert_ne!(new, old);
    bench.write(new, "/while-killed").await;
    let seen = control.start(old, false).await.expect("started");
    let pid = bench.ensemble.pids()[old as usize - 1];
    assert!(pid != process.pid && seen.contains(&pid.to_string()), "{seen}");
    assert_eq!(bench.leader_of(&[1, 2, 3]).await, new, "it follows");
    assert!(bench.has(old, "/while-killed").await);

    let log = bench.ensemble.log(old).await.expect("read").expect("there is one");
    assert_eq!(log.matches("Reading configuration from").count(), 2, "both lives are in its log");
    assert!(log.lines().filter(|line| line.contains(" INFO ")).all(is_timed), "{log}");
    assert!(log.contains("LEADING") && log.contains("FOLLOWING"), "what the quorum does is logged");
    assert!(matches!(bench.ensemble.log(4).await, Err(EnsembleError::NoSuchServer(4))));
}

async fn a_paused_leader_is_replaced_and_follows_once_it_goes_on(bench: &LocalBench) {
    let old = bench.leader_of(&[1, 2, 3]).await;
    let control = bench.control();
    let pid = bench.ensemble.pids()[old as usize - 1];
    refused(control.resume(old).await, "it is not stopped");
    let seen = control.pause(old).await.expect("paused");
    assert!(seen.contains("state T") && process_state(pid) == Some('T'), "{seen}");
    refused(control.pause(old).await, "stopped already");
    bench.ensemble.check_alive().await.expect("it lives");

    let new = bench.leader_of(&bench.others(old)).await;
    bench.write(new, "/while-paused").await;
    let seen = control.resume(old).await.expect("resumed");
    assert!(!seen.contains("state T") && process_state(pid) != Some('T'), "{seen}");
    assert_eq!(bench.leader_of(&[1, 2, 3]).await, new, "it follows");
    assert!(bench.has(old, "/while-paused").await);
}

async fn a_server_that_is_started_empty_gets_its_data_from_the_leader(bench: &LocalBench) {
    let leader = bench.leader_of(&[1, 2, 3]).await;
    let follower = bench.others(leader)[0];
    bench.write(leader, "/told").await;
    let data = bench.ensemble.folder().join(format!("server-{follower}/data"));
    fs::write(data.join("old"), "").expect("marked");
    let control = bench.control();
    control.kill(follower).await.expect("killed");
    let seen = control.start(follower, true).await.expect("started");
    assert!(seen.contains("without data"), "{seen}");
    assert!(!data.join("old").exists(), "its data is gone");
    assert_eq!(fs::read_to_string(data.join("myid")).expect("read"), format!("{follower}\n"));
    bench.leader_of(&[1, 2, 3]).await;
    assert!(bench.has(follower, "/told").await);
}

async fn all_servers_at_once_are_killed_and_keep_their_data(bench: &LocalBench) {
    bench.write(1, "/before").await;
    let control = bench.control();
    for seen in futures::future::join_all((1..=3).map(|server| control.kill(server))).await {
        seen.expect("killed");
    }
    assert!(bench.ensemble.pids().is_empty());
    bench.ensemble.check_alive().await.expect("all are dead on purpose");
    for seen in futures::future::join_all((1..=3).map(|server| control.start(server, false))).await {
        seen.expect("started");
    }
    bench.leader_of(&[1, 2, 3]).await;
    for server in 1..=3 {
        assert!(bench.has(server, "/before").await);
    }
}

#[tokio::test]
async fn a_single_server_cannot_be_cut_off_and_is_missed_and_not_started_again_once_it_has_died_by_itself() {
    let bench = LocalBench::start(quick(1, true)).await;
    for servers in [&[][..], &[1]] {
        refused(bench.control().cut(servers).await, "both of its sides");
    }
    assert!(matches!(bench.control().cut(&[2]).await, Err(EnsembleError::NoSuchServer(2))));

    let process = bench.processes()[0];
    process.kill_if(|_| true).expect("killed");
    assert!(all_gone(&[process]).await);
    refused(bench.control().kill(1).await, "it is dead");
    refused(bench.control().start(1, false).await, "has died by itself");
    let error = bench.ensemble.check_alive().await.expect_err("it is dead");
    assert!(matches!(&error, EnsembleError::Died { server: 1, status, .. } if status.contains("SIGKILL")), "{error}");
    assert!(bench.ensemble.metrics().await.is_err(), "a dead server has no counters");
    bench.stop().await;
}

#[tokio::test]
async fn a_leader_is_cut_off_and_rejoins_and_dead_paused_and_cut_servers_leave_nothing_behind() {
    let bench = LocalBench::start(quick(3, true)).await;
    a_leader_that_is_cut_off_is_replaced_and_follows_once_it_rejoins(&bench).await;
    bench.leader_of(&[1, 2, 3]).await;
    assert_eq!(bench.ensemble.link_pids().len(), 1);
    assert_eq!(bench.processes().len(), 4);
    let control = bench.control();
    control.cut(&[1]).await.expect("cut off");
    control.kill(2).await.expect("killed");
    control.pause(3).await.expect("paused");
    bench.stop().await;
}

async fn a_leader_that_is_cut_off_is_replaced_and_follows_once_it_rejoins(bench: &LocalBench) {
    let old = bench.leader_of(&[1, 2, 3]).await;
    let control = bench.control();
    refused(control.rejoin(&[old]).await, "does not bear the toxic");
    let (seen, _) = control.cut(&[old]).await.expect("cut off");
    assert!(seen.contains("8 links") && seen.contains("no byte passed"), "{seen}");
    refused(control.cut(&[old]).await, "already");
    refused(control.cut(&bench.others(old)).await, "already");

    let new = bench.leader_of(&bench.others(old)).await;
    stops_serving(&bench.ensemble, &[old]).await;
    let told = bench.ensemble.ask(old, "srvr").await.expect("clients still reach it");
    assert!(told.contains("not currently serving"), "{told}");
    bench.write(new, "/meanwhile").await;
    refused(control.cut(&[bench.others(old)[0]]).await, "already");

    let seen = control.rejoin(&[old]).await.expect("rejoined");
    assert!(seen.contains("8 links"), "{seen}");
    refused(control.rejoin(&[old]).await, "does not bear the toxic");
    bench.leader_of(&[1, 2, 3]).await;
    assert!(bench.has(old, "/meanwhile").await);
    control.cut(&[old]).await.expect("it can be cut off again");
    control.rejoin(&[old]).await.expect("and rejoin");
}

#[tokio::test]
async fn five_servers_lose_two_behind_a_cut_and_one_to_a_kill_and_serve_on() {
    let bench = LocalBench::start(quick(5, true)).await;
    let old = bench.leader_of(&[1, 2, 3, 4, 5]).await;
    let control = bench.control();
    let with = bench.others(old)[0];
    let majority: Vec<u32> = bench.others(old)[1..].to_vec();
    let (seen, _) = control.cut(&[old, with]).await.expect("cut off");
    assert!(seen.contains("24 links"), "{seen}");
    bench.leader_of(&majority).await;
    stops_serving(&bench.ensemble, &[old, with]).await;
    control.kill(with).await.expect("killed");
    control.start(with, false).await.expect("started behind the cut");
    control.rejoin(&[old, with]).await.expect("rejoined");
    bench.leader_of(&[1, 2, 3, 4, 5]).await;

    control.kill(majority[0]).await.expect("killed");
    bench.leader_of(&bench.others(majority[0])).await;
    bench.stop().await;
}

#[tokio::test]
async fn limits_of_no_ticks_are_refused() {
    let root = tempfile::tempdir().expect("a temp dir");
    let work = WorkDir::create_in(root.path(), "limits").expect("a folder");
    let mut options = options(3);
    options.servers.sync_limit = Some(0);
    let error = LocalEnsemble::start(options, &work).await.expect_err("it is refused").to_string();
    assert!(error.contains("syncLimit"), "{error}");
}

/// The numbers in a column of /proc/net/tcp that bear this process's inodes: (local port, remote port) of its connections.
fn connections(pid: u32) -> Vec<(u16, u16)> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).expect("listed").flatten();
    let inodes: BTreeSet<String> = links
        .filter_map(|link| fs::read_link(link.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let table = fs::read_to_string("/proc/net/tcp").expect("read");
    let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let established = fields.get(3) == Some(&"01");
        (established && inodes.contains(*fields.get(9)?)).then_some((port(fields[1])?, port(fields[2])?))
    };
    table.lines().filter_map(row).collect()
}

/// Quorum and election port of a server of the configuration of `of`.
fn peer(bench: &LocalBench, of: u32, server: u32) -> [u16; 2] {
    let path = bench.ensemble.folder().join(format!("server-{of}/zoo.cfg"));
    let text = fs::read_to_string(path).expect("read");
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("server.{server}=127.0.0.1:")));
    let (quorum, election) = line.and_then(|ports| ports.split_once(':')).expect("it is configured");
    [quorum, election].map(|port| port.parse().expect("a port"))
}

/// Every connection that a server makes to another one goes to a link, and there are enough of them.
fn all_go_over_links(bench: &LocalBench) {
    let own: BTreeSet<u16> = (1..=3).flat_map(|id| peer(bench, id, id)).collect();
    let mut over_links = 0;
    for (id, pid) in (1..).zip(bench.ensemble.pids()) {
        let links: BTreeSet<u16> = bench.others(id).into_iter().flat_map(|other| peer(bench, id, other)).collect();
        assert!(links.is_disjoint(&own));
        for (local, remote) in connections(pid) {
            assert!(!own.contains(&remote), "server {id} is connected from {local} to port {remote} past every link");
            over_links += usize::from(links.contains(&remote));
        }
    }
    // Two followers with their leader, and three pairs that vote.
    assert!(over_links >= 5, "{over_links} connections over links");
}

#[tokio::test]
async fn no_server_finds_a_way_past_the_links_and_a_dropped_ensemble_takes_servers_and_proxies_along() {
    let bench = LocalBench::start(quick(3, true)).await;
    let old = bench.leader_of(&[1, 2, 3]).await;
    all_go_over_links(&bench);
    let control = bench.control();
    // Whoever starts last connects to all others, those with larger ids and those with smaller ones.
    for server in [old, 1, 3] {
        control.kill(server).await.expect("killed");
        bench.leader_of(&bench.others(server)).await;
        control.start(server, false).await.expect("started");
        bench.leader_of(&[1, 2, 3]).await;
        all_go_over_links(&bench);
    }
    let processes = bench.processes();
    assert_eq!(processes.len(), 4);
    drop(bench.ensemble);
    assert!(all_gone(&processes).await);
}
