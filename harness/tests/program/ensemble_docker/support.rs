//! What the tests on Docker ensembles share.

use std::process::Command;

use hustings::ensemble::docker::{DockerEnsemble, DockerOptions};
use hustings::ensemble::server_options::ServerOptions;
use hustings::ensemble::{Ensemble, EnsembleError, ServerControl};
use hustings::files::workdir::WorkDir;

/// Of the images that the environment names. Without an engine or the images, starting fails, and the test with it.
pub(crate) fn options(servers: u32) -> DockerOptions {
    DockerOptions::new(ServerOptions::of(servers))
}

/// An id that no other test run has.
pub(crate) fn run_id(test: &str) -> String {
    format!("test-{test}-{}", std::process::id())
}

/// Variables that name the images of runs, and this machine's own images.
pub(crate) const IMAGES: [(&str, &str); 2] = [
    ("HUSTINGS_ZOOKEEPER_IMAGE", "hustings/zookeeper:local"),
    ("HUSTINGS_TOXIPROXY_IMAGE", "hustings/toxiproxy:local"),
];

/// What the docker command answers.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output();
    let output = output.unwrap_or_else(|e| panic!("this test needs Docker, and docker cannot be run: {e}"));
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
