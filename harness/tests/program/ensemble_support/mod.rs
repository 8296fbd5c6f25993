//! Shared by the tests on ensembles.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hustings::ensemble::local::{LocalEnsemble, LocalOptions};
use hustings::ensemble::server_options::ServerOptions;
use hustings::ensemble::{Ensemble, four_letter};
use hustings::files::workdir::WorkDir;
use hustings::process::procfs::ProcessId;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};
use zookeeper_client::{Acls, Client, CreateMode, Error};

use crate::run_support::{ChildGuard, EXE};

/// How long an ensemble may take for what it does by itself, on any machine.
pub(crate) const WITHIN: Duration = Duration::from_secs(90);
/// How long one attempt to open a session goes on.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn options(servers: u32) -> LocalOptions {
    with(ServerOptions::of(servers))
}

pub(crate) fn with(servers: ServerOptions) -> LocalOptions {
    LocalOptions::new(servers, PathBuf::from(EXE))
}

/// A local ensemble, with the folders that it lives in.
pub(crate) struct LocalBench {
    // Dropped in this order: the servers before the folder that they write to.
    pub(crate) ensemble: LocalEnsemble,
    work: WorkDir,
    root: TempDir,
}

impl LocalBench {
    pub(crate) async fn start(options: LocalOptions) -> Self {
        let root = tempfile::tempdir().expect("a temp dir");
        let work = WorkDir::create_in(root.path(), "bench").expect("a folder");
        let ensemble = LocalEnsemble::start(options, &work).await.expect("it starts");
        Self { ensemble, work, root }
    }

    pub(crate) fn processes(&self) -> Vec<ProcessId> {
        let pids = self.ensemble.pids().into_iter().chain(self.ensemble.link_pids());
        pids.filter_map(ProcessId::of).collect()
    }

    /// Nothing may be left.
    pub(crate) async fn stop(self) {
        let processes = self.processes();
        self.ensemble.stop().await.expect("stopped");
        assert!(!processes.iter().any(|p| p.is_alive()), "stop waits until all processes are gone");
        assert!(!self.ensemble.folder().exists());
        self.ensemble.stop().await.expect("a second stop does nothing");
        self.work.remove().expect("removed");
        assert_eq!(fs::read_dir(self.root.path()).expect("listed").count(), 0);
    }
}

/// This test program again, as a harness in a process of its own that holds an ensemble in this test; and what it says
/// of it.
pub(crate) fn harness(test: &str, variables: &[(&str, &OsStr)]) -> (ChildGuard, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--ignored", "--exact", test, "--nocapture"]).envs(variables.iter().copied());
    let mut process = ChildGuard(command.stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut lines = BufReader::new(process.0.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let held = lines.find_map(|line| Some(line.strip_prefix("holding ")?.to_owned()));
    (process, held.expect("it holds an ensemble"))
}

/// Whether `hustings clean` succeeded, and what it said; `engine` is its DOCKER_HOST.
pub(crate) fn clean(root: &Path, arguments: &[&str], engine: Option<&str>) -> (bool, String) {
    let mut command = Command::new(EXE);
    command.arg("clean").args(arguments).env("HUSTINGS_TMP", root);
    if let Some(engine) = engine {
        command.env("DOCKER_HOST", engine);
    }
    let output = command.output().expect("clean runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Waits until none of the processes lives; false if one still does after a generous time.
pub(crate) async fn all_gone(processes: &[ProcessId]) -> bool {
    for _ in 0..1_000 {
        if !processes.iter().any(|p| p.is_alive()) {
            return true;
        }
        sleep(Duration::from_millis(20)).await;
    }
    false
}

/// All servers count what runs need.
pub(crate) async fn assert_counts(ensemble: &dyn Ensemble, servers: u32) {
    let metrics = ensemble.metrics().await.expect("all answer");
    assert_eq!(metrics.keys().copied().collect::<Vec<_>>(), (1..=servers).collect::<Vec<_>>());
    for of_server in metrics.values() {
        for key in ["sum_node_deleted_watch_count", "cnt_node_deleted_watch_count", "znode_count", "watch_count"] {
            assert!(of_server.contains_key(key), "{key} is missing");
        }
    }
}

/// What a server says it is; None while it does not serve or cannot be asked.
pub(crate) async fn mode(ensemble: &dyn Ensemble, server: u32) -> Option<String> {
    let addr = ensemble.servers()[server as usize - 1];
    let text = four_letter::ask(addr, "srvr", Duration::from_secs(2)).await.ok()?;
    four_letter::mode(&text).map(ToOwned::to_owned)
}

/// Waits until exactly one of these servers leads and the others follow, and returns the leader.
pub(crate) async fn leader_among(ensemble: &dyn Ensemble, servers: &[u32]) -> u32 {
    let until = Instant::now() + WITHIN;
    loop {
        let modes = futures::future::join_all(servers.iter().map(|server| mode(ensemble, *server))).await;
        let is = |wanted: &str| modes.iter().filter(|mode| mode.as_deref() == Some(wanted)).count();
        if is("leader") == 1 && is("follower") == servers.len() - 1 {
            let at = modes.iter().position(|mode| mode.as_deref() == Some("leader"));
            return servers[at.expect("it is there")];
        }
        assert!(Instant::now() < until, "servers {servers:?} are {modes:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until none of these servers serves: without a quorum they notice that after `syncLimit`.
pub(crate) async fn stops_serving(ensemble: &dyn Ensemble, servers: &[u32]) {
    let until = Instant::now() + WITHIN;
    for server in servers {
        while mode(ensemble, *server).await.is_some() {
            assert!(Instant::now() < until, "server {server} still serves");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn session(ensemble: &dyn Ensemble, server: u32) -> Client {
    let addr = ensemble.servers()[server as usize - 1].to_string();
    let until = Instant::now() + WITHIN;
    loop {
        // A server that has just been started may take a connection and never answer on it.
        let connecting = Client::connector().with_session_timeout(PATIENCE).connect(&addr);
        let failed = match timeout(WITHIN, connecting).await {
            Ok(Ok(client)) => return client,
            Ok(Err(error)) => error.to_string(),
            Err(late) => late.to_string(),
        };
        let log = ensemble.log(server).await;
        assert!(Instant::now() < until, "no session through server {server}: {failed}; its log: {log:?}");
    }
}

pub(crate) async fn create(ensemble: &dyn Ensemble, server: u32, path: &str) {
    let client = session(ensemble, server).await;
    client.create(path, b"told", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await.expect("created");
}

pub(crate) async fn has(ensemble: &dyn Ensemble, server: u32, path: &str) -> bool {
    let client = session(ensemble, server).await;
    client.sync("/").await.expect("synced");
    match client.get_data(path).await {
        Ok((data, _)) => data == b"told",
        Err(Error::NoNode) => false,
        Err(error) => panic!("{path}: {error}"),
    }
}
