//! What the tests on Docker ensembles share.

use std::process::Command;
use std::time::Duration;

use hustings::ensemble::docker::{DockerEnsemble, DockerOptions};
use hustings::ensemble::server_options::ServerOptions;
use hustings::ensemble::{Ensemble, EnsembleError, ServerControl, four_letter};
use hustings::files::workdir::WorkDir;
use tokio::time::{Instant, sleep, timeout};
use zookeeper_client::{Acls, Client, CreateMode};

/// How long an ensemble may take for what it does by itself, on any machine.
pub(crate) const WITHIN: Duration = Duration::from_secs(90);
/// How long one attempt to open a session goes on.
const PATIENCE: Duration = Duration::from_secs(10);

/// Of the images that the environment names. Without an engine or the images, starting fails, and the test with it.
pub(crate) fn options(servers: u32) -> DockerOptions {
    DockerOptions::new(ServerOptions::of(servers))
}

/// An id that no other test run has.
pub(crate) fn run_id(test: &str) -> String {
    format!("test-{test}-{}", std::process::id())
}

/// What the docker command answers.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().expect("the docker command runs");
    assert!(output.status.success(), "docker {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// All containers, networks and volumes of a run; of volumes those that its containers use.
pub(crate) fn everything_of(run: &str) -> Vec<String> {
    let label = format!("label=org.hustings.run={run}");
    let containers = docker(&["ps", "-aq", "--filter", &label]);
    let mut all: Vec<String> = containers.lines().map(|id| format!("container {id}")).collect();
    all.extend(docker(&["network", "ls", "-q", "--filter", &label]).lines().map(|id| format!("network {id}")));
    for id in containers.lines() {
        let names = docker(&["inspect", "--format", "{{range .Mounts}}{{.Name}} {{end}}", id]);
        all.extend(names.split_whitespace().map(|name| format!("volume {name}")));
    }
    all
}

/// Whether one of these, as [`everything_of`] tells them, is still there.
pub(crate) fn is_there(thing: &str) -> bool {
    let (kind, id) = thing.split_once(' ').expect("a kind and an id");
    Command::new("docker").args([kind, "inspect", id]).output().expect("the docker command runs").status.success()
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

/// A run with a folder of its own.
pub(crate) struct Run {
    pub(crate) id: String,
    _root: tempfile::TempDir,
    pub(crate) work: WorkDir,
}

impl Run {
    pub(crate) fn new(test: &str) -> Self {
        let root = tempfile::tempdir().expect("a temp dir");
        let id = run_id(test);
        let work = WorkDir::create_in(root.path(), &id).expect("a folder");
        Self { id, _root: root, work }
    }

    pub(crate) async fn start(&self, options: DockerOptions) -> DockerEnsemble {
        match DockerEnsemble::start(options, &self.work, &self.id).await {
            Ok(ensemble) => ensemble,
            Err(error) => panic!("this test needs Docker and images (ci/images/build.sh, ci/test.sh): {error}"),
        }
    }

    pub(crate) async fn fails(&self, options: DockerOptions) -> EnsembleError {
        let error = DockerEnsemble::start(options, &self.work, &self.id).await.expect_err("it cannot start");
        assert_eq!(everything_of(&self.id), [""; 0], "nothing is left after: {error}");
        error
    }
}

pub(crate) fn control(ensemble: &DockerEnsemble) -> &dyn ServerControl {
    ensemble.control().expect("its servers are its own")
}

pub(crate) async fn session(ensemble: &DockerEnsemble, server: u32) -> Client {
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

pub(crate) async fn create(ensemble: &DockerEnsemble, server: u32, path: &str) {
    let client = session(ensemble, server).await;
    client.create(path, b"told", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await.expect("created");
}

pub(crate) async fn has(ensemble: &DockerEnsemble, server: u32, path: &str) -> bool {
    let client = session(ensemble, server).await;
    client.sync("/").await.expect("synced");
    client.check_stat(path).await.expect("asked").is_some()
}
