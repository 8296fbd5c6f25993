//! The end of the sequence numbers, on servers whose snapshots were written by ZooKeeper's own classes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hustings::client::session::ZkSession;
use hustings::ensemble::{Ensemble as _, ServerControl as _};
use hustings_workloads::coordination::Session as _;
use hustings_workloads::recipes::{RecipeKind, names};

use super::group::{Group, TIMEOUT, make_path};
use crate::real_support::{CLOSE_AT_MOST, ServerStage};

const JARS: &str = "/usr/share/java";
const ZOOKEEPER: [&str; 6] =
    ["zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "metrics-core", "snappy-java"];
const CANDIDATES: usize = 8;
const SERVED_WITHIN: Duration = Duration::from_secs(60);

/// Queues in which every znode has the same number, including the leader's.
pub(crate) async fn numbers_that_repeat_let_nobody_past_who_came_first(stage: &ServerStage) {
    let mut groups = Vec::new();
    for recipe in [RecipeKind::PredecessorWatch, RecipeKind::Naive] {
        let group = Group::new(stage, recipe).await;
        make_path(&group.outsider, &group.election.path).await;
        groups.push(group);
    }
    let paths: Vec<&str> = groups.iter().map(|group| group.election.path.as_str()).collect();
    count_from(stage, i32::MAX, &paths).await;
    for group in &mut groups {
        // While the servers are down for long, the earlier session expires.
        group.outsider = served(stage, &group.election.path).await;
        for _ in 0..CANDIDATES {
            group.joins(stage.direct(TIMEOUT).await).await;
            group.is_led_by(0).await;
        }
        let numbers: Vec<_> = group.children().await.iter().filter_map(|name| names::sequence(name)).collect();
        assert_eq!(numbers, [i32::MAX; CANDIDATES], "the counter sticks");
        for number in 1..CANDIDATES as u32 {
            group.resigns(number - 1).await;
            group.is_led_by(number).await;
        }
        group.never_two();
    }
}

/// Stops all servers, sets the counters of these znodes in each one's data to this count, and restarts the servers.
async fn count_from(stage: &ServerStage, count: i32, paths: &[&str]) {
    each_server_has(stage, paths).await;
    for server in 1..=3 {
        stage.ensemble.kill(server).await.expect("killed");
        let data = data_of(stage.ensemble.folder(), server);
        let jars = ZOOKEEPER.map(|jar| format!("{JARS}/{jar}.jar")).join(":");
        let mut java = Command::new("java");
        java.args(["-Xmx128m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", &jars]);
        java.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/real_recipes/EndOfTheCounter.java"));
        let written = java.arg(data).arg(count.to_string()).args(paths).output();
        let written = written.expect("java runs: run ci/setup.sh --tests");
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    }
    for server in 1..=3 {
        stage.ensemble.start(server, false).await.expect("started");
    }
}

/// Waits until each server has these znodes: the data of a lagging one would have no counter to set.
async fn each_server_has(stage: &ServerStage, paths: &[&str]) {
    for server in stage.ensemble.servers() {
        let session = ZkSession::connect(&server.to_string(), TIMEOUT).await.expect("a session");
        for path in paths {
            session.sync(path).await.expect("the server has caught up");
        }
        assert!(session.close(CLOSE_AT_MOST).await, "closed");
    }
}

/// The data directory in its configuration.
fn data_of(folder: &Path, server: u32) -> PathBuf {
    let config = folder.join(format!("server-{server}/zoo.cfg"));
    let text = std::fs::read_to_string(&config).unwrap_or_else(|error| panic!("{}: {error}", config.display()));
    text.lines().find_map(|line| line.strip_prefix("dataDir=")).expect("a data directory").into()
}

/// A session once there is a quorum again.
async fn served(stage: &ServerStage, path: &str) -> ZkSession {
    let begun = Instant::now();
    loop {
        if let Ok(session) = ZkSession::connect(&stage.cluster, TIMEOUT).await
            && session.sync(path).await.is_ok()
        {
            return session;
        }
        assert!(begun.elapsed() < SERVED_WITHIN, "nobody serves");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
