//! Clients of other languages and their own recipes find no difference between embedded servers and real ones.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use hustings::ensemble::embedded::{EmbeddedEnsemble, EmbeddedOptions};
use hustings::ensemble::local::{LocalEnsemble, LocalOptions};
use hustings::ensemble::server_options::ServerOptions;
use hustings::ensemble::{Ensemble, ServerControl};
use hustings::files::workdir::WorkDir;
use hustings_workloads::adapters::{ADAPTERS, Adapter};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

const EXE: &str = env!("CARGO_BIN_EXE_hustings");
const AT_MOST: Duration = Duration::from_secs(120);
/// Debian's own, which its packages are for.
const PYTHON: &str = "/usr/bin/python3";
const JARS: &str = "/usr/share/java";
/// Curator, ZooKeeper's own client, and what they need. The logger's lines go to standard error.
const CURATOR: [&str; 8] = [
    "curator-recipes",
    "curator-framework",
    "curator-client",
    "guava",
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "slf4j-simple",
];

#[test]
fn kazoos_recipes_work_on_embedded_servers() {
    assert_eq!(on_embedded_servers(kazoo()), KAZOO_TELLS);
}

#[test]
fn curators_recipes_work_on_embedded_servers() {
    assert_eq!(on_embedded_servers(curator()), CURATOR_TELLS);
}

#[test]
fn real_servers_show_the_same_to_kazoo_and_to_curator() {
    on_one_thread("real", async |work| {
        let options = LocalOptions::new(ServerOptions::of(3), PathBuf::from(EXE));
        let ensemble = LocalEnsemble::start(options, work).await.expect("servers");
        assert_eq!(bounded(&ensemble, kazoo()).await, KAZOO_TELLS);
        assert_eq!(bounded(&ensemble, curator()).await, CURATOR_TELLS);
        ensemble.stop().await.expect("stopped");
    });
}

/// The servers' configuration, with their own addresses: a client that follows it watches this znode.
const CONFIGURATION: &str = "/zookeeper/config";

#[test]
fn curators_adapters_follow_no_addresses_of_the_ensemble() {
    on_one_thread("adapters", async |work| {
        let options = EmbeddedOptions::new(ServerOptions::of(3), PathBuf::from(EXE));
        let ensemble = EmbeddedEnsemble::start(options, work).await.expect("servers");
        let of_curator = ADAPTERS.iter().filter(|adapter| adapter.packages.contains(&"libcurator-recipes-java"));
        let of_curator: Vec<&Adapter> = of_curator.collect();
        assert!(of_curator.len() > 1, "{of_curator:?}");
        for adapter in of_curator {
            let watched = tokio::time::timeout(AT_MOST, watched_by(&ensemble, adapter)).await.expect("one waits");
            assert!(!watched.contains(CONFIGURATION), "{}: {watched:?}", adapter.name);
        }
        ensemble.stop().await.expect("stopped");
    });
}

/// The paths that clients watch once one slot of the adapter waits behind another one.
async fn watched_by(ensemble: &EmbeddedEnsemble, adapter: &Adapter) -> BTreeSet<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads/adapters");
    let words: Vec<String> = adapter.command.iter().map(|word| word.replace("{adapters}", folder)).collect();
    let mut program = Command::new(&words[0]);
    program.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
    let mut child = program.spawn().expect("it is there: run ci/setup.sh --tests");
    let mut orders = child.stdin.take().expect("its input");
    let group = format!("/{}", adapter.name);
    for slot in 0..2 {
        let start = json!({
            "m": "start",
            "slot": slot,
            "group": group,
            "connect": connect_string(ensemble),
            "timeout_ms": 10_000,
            // Nobody is there, and what becomes of writes is of no interest.
            "resource": "http://127.0.0.1:9/",
            "write_every_ms": 1_000,
            "rejoin_after_ms": 100,
            "step_down": "on-disconnect",
            "config": {},
        });
        orders.write_all(format!("{start}\n").as_bytes()).await.expect("read");
    }
    let watched = loop {
        let watched = watched_paths(ensemble).await;
        if watched.iter().any(|path| path.starts_with(&format!("{group}/"))) {
            break watched;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    // The end of its input is the order to end.
    drop(orders);
    child.wait().await.expect("it ends");
    watched
}

/// All paths that are watched on some server.
async fn watched_paths(ensemble: &EmbeddedEnsemble) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for server in (1..).take(ensemble.servers().len()) {
        let text = ensemble.ask(server, "wchp").await.expect("an answer");
        paths.extend(text.lines().filter(|line| line.starts_with('/')).map(str::to_owned));
    }
    paths
}

fn connect_string(ensemble: &impl Ensemble) -> String {
    let servers: Vec<String> = ensemble.servers().iter().map(ToString::to_string).collect();
    servers.join(",")
}

const KAZOO_TELLS: [&str; 8] =
    ["basics", "transactions", "identities", "watches", "lock", "election", "kill", "failover"];

fn kazoo() -> Command {
    let mut python = Command::new(PYTHON);
    python.arg(source("kazoo_recipes.py"));
    python
}

const CURATOR_TELLS: [&str; 8] = ["basics", "transactions", "cache", "mutex", "latch", "selector", "kill", "failover"];

fn curator() -> Command {
    let jars = CURATOR.map(|jar| format!("{JARS}/{jar}.jar")).join(":");
    let mut java = Command::new("java");
    java.args(["-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", &jars]);
    java.arg(source("CuratorRecipes.java"));
    java
}

fn source(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/embedded_clients").join(file)
}

fn on_embedded_servers(client: Command) -> Vec<String> {
    on_one_thread("embedded", async |work| {
        let options = EmbeddedOptions::new(ServerOptions::of(3), PathBuf::from(EXE));
        let ensemble = EmbeddedEnsemble::start(options, work).await.expect("servers");
        let told = bounded(&ensemble, client).await;
        ensemble.stop().await.expect("stopped");
        told
    })
}

fn on_one_thread<T>(name: &str, body: impl AsyncFnOnce(&WorkDir) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let root = tempfile::tempdir().expect("a temp dir");
    let work = WorkDir::create_in(root.path(), name).expect("a folder");
    runtime.block_on(body(&work))
}

/// Runs the client with the servers' addresses as its last argument. Gives the lines that it prints.
async fn bounded<E: Ensemble + ServerControl>(ensemble: &E, client: Command) -> Vec<String> {
    tokio::time::timeout(AT_MOST, run(ensemble, client)).await.expect("it ends")
}

/// Runs it, and kills the servers' leader when it asks for that; until it has ended.
async fn run<E: Ensemble + ServerControl>(ensemble: &E, mut client: Command) -> Vec<String> {
    client.arg(connect_string(ensemble)).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = client.kill_on_drop(true).spawn().expect("it is there: run ci/setup.sh --tests");
    let mut orders = child.stdin.take().expect("its input");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let (mut told, mut killed) = (Vec::new(), None);
    while let Some(line) = lines.next_line().await.expect("readable") {
        if line == "kill" {
            let leader = *killed.insert(leader(ensemble).await);
            ensemble.kill(leader).await.expect("killed");
            orders.write_all(b"killed\n").await.expect("told");
        }
        told.push(line);
    }
    let status = child.wait().await.expect("it ends");
    assert!(status.success(), "{status} after {told:?}; is the client there? ci/setup.sh --tests installs it");
    if let Some(server) = killed {
        ensemble.start(server, false).await.expect("it serves again");
    }
    told
}

async fn leader(ensemble: &impl Ensemble) -> u32 {
    for server in (1..).take(ensemble.servers().len()) {
        let text = ensemble.ask(server, "srvr").await.expect("an answer");
        if hustings::ensemble::four_letter::mode(&text) == Some("leader") {
            return server;
        }
    }
    panic!("nobody leads");
}
