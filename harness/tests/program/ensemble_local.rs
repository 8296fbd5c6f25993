//! Local ensembles of real ZooKeeper servers: they serve, they count, and they leave nothing behind.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::ensemble_support::{LocalBench, assert_counts, create, has, options, with};
use hustings::ensemble::local::{LocalEnsemble, LocalOptions};
use hustings::ensemble::server_options::ServerOptions;
use hustings::ensemble::{Ensemble, EnsembleError};
use hustings::files::workdir::WorkDir;
use hustings::process::procfs::ProcessId;

async fn serves_counts_and_stops(options: LocalOptions) {
    let servers = options.servers.count;
    let begin = std::time::Instant::now();
    let bench = LocalBench::start(options).await;
    let ensemble = &bench.ensemble;
    println!("{servers} servers served after {:?}: {}", begin.elapsed(), ensemble.describe());
    assert_eq!(ensemble.servers().len(), servers as usize);
    assert!(ensemble.version().starts_with("3."), "{}", ensemble.version());
    assert!(ensemble.describe().contains("chosen because"), "{}", ensemble.describe());
    create(ensemble, 1, "/told").await;
    assert!(has(ensemble, servers, "/told").await, "written by one server, read by another");

    assert_counts(ensemble, servers).await;
    assert!(ensemble.ask(servers, "conf").await.expect("answered").contains("maxClientCnxns=0"));
    assert!(matches!(ensemble.ask(servers + 1, "ruok").await, Err(EnsembleError::NoSuchServer(_))));
    ensemble.check_alive().await.expect("all live");
    assert_eq!(bench.processes().len(), servers as usize);
    bench.stop().await;
}

#[tokio::test]
async fn one_server_serves_counts_and_leaves_nothing_behind() {
    serves_counts_and_stops(options(1)).await;
}

#[tokio::test]
async fn three_servers_with_a_small_tick_and_synced_writes_serve_count_and_leave_nothing_behind() {
    serves_counts_and_stops(with(ServerOptions { tick_ms: 100, fsync: true, heap_mb: 600, ..ServerOptions::of(3) }))
        .await;
}

#[tokio::test]
async fn a_release_directory_serves() {
    let home = tempfile::tempdir().expect("a temp dir");
    let lib = home.path().join("lib");
    fs::create_dir(&lib).expect("made");
    for (jar, name) in [
        ("zookeeper", "zookeeper-3.8.0"),
        ("zookeeper-jute", "zookeeper-jute-3.8.0"),
        ("slf4j-api", "slf4j-api-1.7.32"),
        ("slf4j-simple", "slf4j-simple-1.7.32"),
        ("metrics-core", "metrics-core-3.2.6"),
        ("snappy-java", "snappy-java-1.1.8.3"),
    ] {
        symlink(format!("/usr/share/java/{jar}.jar"), lib.join(format!("{name}.jar"))).expect("linked");
    }
    let mut options = options(1);
    options.places.zookeeper_home = Some(home.path().to_owned());
    serves_counts_and_stops(options).await;
}

#[tokio::test]
async fn two_ensembles_at_once_do_not_meet() {
    let root = tempfile::tempdir().expect("a temp dir");
    let work = WorkDir::create_in(root.path(), "two").expect("a folder");
    let (one, two) = futures::join!(LocalEnsemble::start(options(1), &work), LocalEnsemble::start(options(1), &work));
    let (one, two) = (one.expect("it starts"), two.expect("it starts"));
    assert_ne!(one.servers(), two.servers());
    assert_ne!(one.folder(), two.folder());
    one.stop().await.expect("stopped");
    two.check_alive().await.expect("the other lives on");
    two.ask(1, "srvr").await.expect("and answers");
    two.stop().await.expect("stopped");
}

async fn fails_to_start(options: LocalOptions) -> EnsembleError {
    let root = tempfile::tempdir().expect("a temp dir");
    let work = WorkDir::create_in(root.path(), "fails").expect("a folder");
    let error = LocalEnsemble::start(options, &work).await.expect_err("it cannot start");
    let notes = fs::read_to_string(work.path().join("children")).expect("notes");
    for line in notes.lines() {
        let pid = line.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a pid");
        let of_this_run = ProcessId::of(pid).is_some_and(|p| line.ends_with(&format!(" {}", p.started)));
        assert!(!of_this_run, "process {pid} was left running");
    }
    let left: Vec<_> = fs::read_dir(work.path()).expect("listed").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 2, "only the run's own notes stay: {left:?}");
    error
}

#[tokio::test]
async fn missing_java_is_told_with_a_remedy() {
    let mut nowhere = options(1);
    nowhere.places.java_home = None;
    nowhere.places.path = "/nonexistent:".into();
    let told = fails_to_start(nowhere).await.to_string();
    assert!(["no Java found", "ci/setup.sh", "default-jre-headless"].iter().all(|part| told.contains(part)), "{told}");

    let mut wrong_home = options(1);
    wrong_home.places.java_home = Some("/nonexistent".into());
    let told = fails_to_start(wrong_home).await.to_string();
    assert!(told.contains("JAVA_HOME is /nonexistent"), "{told}");
}

#[tokio::test]
async fn missing_jars_are_named_with_a_remedy() {
    let empty = tempfile::tempdir().expect("a temp dir");
    let mut options = options(1);
    options.places.packaged_jars = empty.path().to_owned();
    let told = fails_to_start(options).await.to_string();
    for part in ["zookeeper.jar", "snappy-java.jar", "ci/setup.sh", "libzookeeper-java", "--zookeeper-home"] {
        assert!(told.contains(part), "{part} is not in: {told}");
    }
}

#[tokio::test]
async fn a_broken_zookeeper_home_is_told_with_what_it_lacks() {
    let home = tempfile::tempdir().expect("a temp dir");
    let with = |path: &Path| {
        let mut options = options(1);
        options.places.zookeeper_home = Some(path.to_owned());
        options
    };
    let told = fails_to_start(with(&home.path().join("nowhere"))).await.to_string();
    assert!(told.contains("there is no such folder"), "{told}");
    let told = fails_to_start(with(home.path())).await.to_string();
    assert!(told.contains("lacks lib/;"), "{told}");
    fs::create_dir(home.path().join("lib")).expect("made");
    fs::write(home.path().join("lib/zookeeper-jute-3.8.0.jar"), "").expect("written");
    let told = fails_to_start(with(home.path())).await.to_string();
    assert!(told.contains("lacks lib/zookeeper-<version>.jar, lib/slf4j-api-<version>.jar;"), "{told}");
    assert!(told.contains(&home.path().display().to_string()), "{told}");
}

#[tokio::test]
async fn a_taken_port_of_an_asked_base_is_named() {
    let held = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = held.local_addr().expect("its address").port();
    let error = fails_to_start(LocalOptions { base_port: Some(port), ..options(3) }).await;
    assert!(matches!(error, EnsembleError::PortTaken { port: named, role: "client", server: 1, .. } if named == port));
    assert!(error.to_string().contains(&port.to_string()), "{error}");
}

#[tokio::test]
async fn a_port_that_is_lost_between_choice_and_bind_is_tried_elsewhere_and_not_forever() {
    let held = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = held.local_addr().expect("its address").port();
    let lost = LocalOptions { extra_config: format!("clientPort={port}\n"), ..options(1) };
    let error = fails_to_start(lost).await;
    assert!(matches!(error, EnsembleError::Died { server: 1, .. }), "{error}");
    assert!(error.to_string().contains("Address already in use"), "{error}");
}

#[tokio::test]
async fn a_server_that_dies_at_start_is_told_with_its_last_log_lines() {
    let bad = LocalOptions { extra_config: "electionAlg=0\n".to_owned(), ..options(3) };
    let error = fails_to_start(bad).await;
    let EnsembleError::Died { server: 1, status, .. } = &error else { panic!("{error}") };
    assert!(status.contains("exit status: 2"), "{error}");
    assert!(error.to_string().contains("electionAlg"), "{error}");
}

#[tokio::test]
async fn a_heap_that_no_jvm_accepts_is_told_in_the_jvms_words() {
    let error = fails_to_start(with(ServerOptions { heap_mb: 1, ..ServerOptions::of(1) })).await;
    assert!(matches!(error, EnsembleError::Died { server: 1, .. }), "{error}");
    assert!(error.to_string().contains("heap"), "{error}");
}

#[tokio::test]
async fn servers_that_find_no_quorum_are_given_up_in_time() {
    // Server 1 believes in peers that are not there, and the others do not hear from it.
    let extra_config =
        "server.2=127.0.0.1:1:2\nserver.3=127.0.0.1:3:4\nserver.4=127.0.0.1:5:6\nserver.5=127.0.0.1:7:8\n";
    let options = LocalOptions {
        extra_config: extra_config.to_owned(),
        start_within: std::time::Duration::from_secs(10),
        ..options(3)
    };
    let error = fails_to_start(options).await;
    assert!(matches!(error, EnsembleError::NotServing { server: 1, .. }), "{error}");
    assert!(error.to_string().contains("not currently serving"), "{error}");
}

#[tokio::test]
async fn sizes_and_ticks_that_make_no_ensemble_are_refused() {
    assert!(matches!(fails_to_start(options(2)).await, EnsembleError::BadSize(2)));
    let no_tick = with(ServerOptions { tick_ms: 0, ..ServerOptions::of(1) });
    assert!(matches!(fails_to_start(no_tick).await, EnsembleError::BadTick(0)));
}
