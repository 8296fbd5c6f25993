//! Failed starts report why, and leave nothing behind.

use std::net::TcpListener;

use hustings::ensemble::EnsembleError;
use hustings::ensemble::docker::{DockerEnsemble, DockerOptions};
use hustings::ensemble::server_options::ServerOptions;
use tokio::time::timeout;

use super::support::{Run, everything_of, options};

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing_behind() {
    for given_up_after in [200, 1_500] {
        let run = Run::new(&format!("given-up-{given_up_after}"));
        let start = DockerEnsemble::start(options(3), &run.work, &run.id);
        let given_up = timeout(std::time::Duration::from_millis(given_up_after), start).await;
        drop(given_up);
        assert_eq!(everything_of(&run.id), [""; 0], "after {given_up_after} ms");
    }
}

#[tokio::test]
async fn an_image_that_is_nowhere_is_named_with_the_remedy() {
    let run = Run::new("image");
    let image = "localhost:1/hustings/nowhere:1";
    let error = run.fails(DockerOptions { zookeeper_image: image.to_owned(), ..options(1) }).await;
    assert!(matches!(error, EnsembleError::NoImage { .. }), "{error}");
    let told = error.to_string();
    for part in [image, "--zookeeper-image", "ci/images/build.sh", "connection refused"] {
        assert!(told.contains(part), "{part} is not in: {told}");
    }
    let error = run.fails(DockerOptions { toxiproxy_image: image.to_owned(), link_ports: 1, ..options(1) }).await;
    assert!(error.to_string().contains("--toxiproxy-image"), "{error}");
}

#[tokio::test]
async fn a_container_that_dies_at_start_is_told_with_its_last_log_lines() {
    let run = Run::new("dies");
    let error = run.fails(DockerOptions { extra_config: "electionAlg=0\n".to_owned(), ..options(3) }).await;
    assert!(matches!(&error, EnsembleError::Died { server: 1, status: s, .. } if s.contains("exit code 2")), "{error}");
    assert!(error.to_string().contains("electionAlg"), "{error}");
}

#[tokio::test]
async fn a_taken_port_of_an_asked_base_is_named() {
    let held = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = held.local_addr().expect("its address").port();
    let run = Run::new("port");
    let error = run.fails(DockerOptions { base_port: Some(port), ..options(1) }).await;
    assert!(matches!(error, EnsembleError::PortTaken { port: named, role: "client", server: 1, .. } if named == port));
    let (below, held) = a_free_port_and_a_taken_one();
    let links = DockerOptions { base_port: Some(below), link_ports: 2, ..options(1) };
    let error = run.fails(links).await;
    let taken = held.local_addr().expect("its address").port();
    assert!(matches!(error, EnsembleError::ToxiproxyPortTaken { port: named, .. } if named == taken), "{error}");
}

/// A free port, and the next one, held. Both are below the range of outgoing connections, from which any test may take
/// a free one a moment later.
fn a_free_port_and_a_taken_one() -> (u16, TcpListener) {
    let bind = |port| TcpListener::bind(("127.0.0.1", port)).ok();
    let two = |below: u16| Some((below, bind(below)?, bind(below + 1)?));
    let (below, _free_again, held) = (20_000..30_000).step_by(2).find_map(two).expect("two free ports in a row");
    (below, held)
}

#[tokio::test]
async fn sizes_and_ticks_that_make_no_ensemble_are_refused() {
    let run = Run::new("sizes");
    assert!(matches!(run.fails(options(2)).await, EnsembleError::BadSize(2)));
    let no_tick = DockerOptions::new(ServerOptions { tick_ms: 0, ..ServerOptions::of(1) });
    assert!(matches!(run.fails(no_tick).await, EnsembleError::BadTick(0)));
}

#[test]
fn an_engine_that_is_not_there_is_told_with_the_remedy() {
    let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_hustings"));
    let output = doctor.arg("doctor").env("DOCKER_HOST", "unix:///nonexistent/docker.sock").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    for part in ["no Docker engine answers at unix:///nonexistent/docker.sock", "dockerd", "DOCKER_HOST"] {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
}
