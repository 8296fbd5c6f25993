//! A client of another language and its own recipes find no difference between embedded servers and real ones.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use hustings::ensemble::embedded::{EmbeddedEnsemble, EmbeddedOptions};
use hustings::ensemble::{Ensemble, ServerControl as _};
use hustings::workdir::WorkDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

const AT_MOST: Duration = Duration::from_secs(120);
/// Debian's own, which its packages are for.
const PYTHON: &str = "/usr/bin/python3";
const ALL: [&str; 8] = ["basics", "transactions", "identities", "watches", "lock", "election", "kill", "failover"];

#[test]
fn kazoos_recipes_work_on_embedded_servers() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let root = tempfile::tempdir().expect("a temp dir");
        let work = WorkDir::create_in(root.path(), "kazoo").expect("a folder");
        let options = EmbeddedOptions::new(PathBuf::from(env!("CARGO_BIN_EXE_hustings")));
        let ensemble = EmbeddedEnsemble::start(options, &work).await.expect("servers");
        let told = tokio::time::timeout(AT_MOST, recipes(&ensemble)).await.expect("it ends");
        assert_eq!(told, ALL);
        ensemble.stop().await.expect("stopped");
    });
}

/// Runs the script, and kills the servers' leader when it asks for that. Gives its lines.
async fn recipes(ensemble: &EmbeddedEnsemble) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/embedded_kazoo/recipes.py");
    let cluster: Vec<String> = ensemble.servers().iter().map(ToString::to_string).collect();
    let mut command = tokio::process::Command::new(PYTHON);
    command.args([script, &cluster.join(",")]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().expect("it is there: run ci/setup.sh --tests");
    let mut orders = child.stdin.take().expect("its input");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut told = Vec::new();
    while let Some(line) = lines.next_line().await.expect("readable") {
        if line == "kill" {
            let leader = leader(ensemble).await;
            ensemble.kill(leader).await.expect("killed");
            orders.write_all(b"killed\n").await.expect("told");
        }
        told.push(line);
    }
    let status = child.wait().await.expect("it ends");
    assert!(status.success(), "{status} after {told:?}; is kazoo there? ci/setup.sh --tests installs it");
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
