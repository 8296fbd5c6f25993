//! The ensemble of docker-compose.yml: started, used by a run with the manual's command, and taken down.
//!
//! Needs a Docker engine, Compose, and the images in HUSTINGS_ZOOKEEPER_IMAGE and HUSTINGS_TOXIPROXY_IMAGE; the
//! defaults are those that ci/images/build.sh builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::ensemble_docker::support::{IMAGES, docker};
use crate::run_support::scenario::{LENIENT, scenario};
use crate::run_support::{Bench, assert_verified, summary_of};
use hustings_record::LinkUse;
use zookeeper_client::Client;

const CLUSTER: &str = "127.0.0.1:12181,127.0.0.1:12182,127.0.0.1:12183";

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

fn image(at: usize) -> String {
    std::env::var(IMAGES[at].0).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| IMAGES[at].1.to_owned())
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The processes that hold the ports published for links: a start may find one taken.
fn holders() -> String {
    let asked = Command::new("ss").args(["-Htanp", "( sport >= :21000 and sport <= :21029 )"]).output();
    asked.map_or_else(|e| format!("ss: {e}"), |output| said(&output))
}

/// The test's own project; taken down on drop.
struct Project {
    name: String,
}

impl Project {
    fn up() -> Self {
        for at in [0, 1] {
            let (name, variable) = (image(at), IMAGES[at].0);
            let there = Command::new("docker").args(["image", "inspect", &name]).output();
            let there = there.unwrap_or_else(|e| panic!("this test needs Docker, and docker cannot be run: {e}"));
            let told = said(&there);
            assert!(there.status.success(), "{name} is needed: run ci/images/build.sh, or set {variable}; {told}");
        }
        let project = Self { name: format!("hustings-test-{}", std::process::id()) };
        let output = project.compose(&["up", "-d"]);
        assert!(output.status.success(), "{}; its ports: {}", said(&output), holders());
        project
    }

    fn compose(&self, arguments: &[&str]) -> Output {
        let plugin = Command::new("docker").args(["compose", "version"]).output();
        let plugin = plugin.is_ok_and(|output| output.status.success());
        let mut command = Command::new(if plugin { "docker" } else { "docker-compose" });
        command.args(plugin.then_some("compose")).args(["-p", &self.name]).args(arguments).current_dir(top());
        command.envs([0, 1].map(|at| (IMAGES[at].0, image(at))));
        command.output().unwrap_or_else(|e| panic!("this test needs Compose, and it cannot be run: {e}"))
    }

    /// Names of its containers that match these filters.
    fn containers(&self, more: &[&str]) -> Vec<String> {
        let label = format!("label=com.docker.compose.project={}", self.name);
        let listed = docker(&[&["ps", "-a", "--filter", &label, "--format", "{{.Names}}"], more].concat());
        listed.lines().map(ToOwned::to_owned).collect()
    }

    fn down(&self) -> Output {
        self.compose(&["down", "-v", "--timeout", "1"])
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = self.down();
    }
}

/// The manual's command for this ensemble, without the program's name, and with another scenario.
fn command_of_the_manual(scenario: &str) -> Vec<String> {
    let text = std::fs::read_to_string(top().join("harness/README.md")).expect("the manual");
    let begins = "hustings run quick --ensemble external ";
    let printed = text.lines().find_map(|line| line.strip_prefix(begins)).expect("the command");
    let start = ["run", scenario, "--ensemble", "external"].into_iter();
    start.chain(printed.split_whitespace()).map(ToOwned::to_owned).collect()
}

#[test]
fn the_manuals_command_runs_a_partition_on_the_composed_ensemble_and_leaves_it_as_it_was() {
    let project = Project::up();
    assert_eq!(project.containers(&["--filter", "health=healthy"]).len(), 3, "the servers serve when `up` returns");

    let bench = Bench::new();
    let cut = "[faults.cut]\nkind = \"partition\"\ntarget = \"host-leading-most\"\nfor_t = 1.5\n";
    let text = scenario("", cut).replace("session_timeout_ms = 1000", "session_timeout_ms = 2000") + LENIENT;
    let words = command_of_the_manual(&bench.scenario(&text));
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--out", "record"]).collect();
    let ran = bench.run(&words);
    ran.fails_nothing();
    bench.assert_nothing_left();
    let summary = summary_of(&bench.path("record"));
    let cell = &summary.cells[0];
    assert_verified(cell);
    // The image built here contains the embedded proxy; the official one does not.
    assert!(cell.info.links != LinkUse::Direct && cell.info.tick_ms == 500, "{:?}", cell.info);
    assert!(summary.manifest.ensemble.starts_with("external: 3 ZooKeeper"), "{}", summary.manifest.ensemble);

    assert_eq!(project.containers(&["--filter", "status=running"]).len(), 4, "all of it runs on");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let left = runtime.block_on(async {
        let client = Client::connect(CLUSTER).await.expect("a session");
        client.sync("/").await.expect("synced");
        client.list_children("/").await.expect("listed")
    });
    assert_eq!(left, ["zookeeper"], "no znode of the run is left");
    let output = project.down();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(project.containers(&[]), Vec::<String>::new());
}
