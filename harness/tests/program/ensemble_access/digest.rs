//! A separate znode on shared servers, and the scheme `digest`.

use rustix::process::Signal;
use zookeeper_client::{Acls, CreateMode};

use super::server::Server;
use super::stage::{
    ObserverIdentity, USER, below, in_the_middle, is_open, lock_down, passes, refused, secret, with_faults,
};
use crate::run_support::Bench;
use crate::run_support::scenario::calm;

const ROOT: &str = "/shared/ours";
/// Then servers answer only authenticated clients, including those that end sessions.
const DEMANDS: &str = "enforce.auth.enabled=true\nenforce.auth.schemes=digest\n";

/// A server with one znode that only one user may change, and that user.
async fn locked(config: &str) -> Server {
    let server = Server::start(config, &[]).await;
    lock_down(&ObserverIdentity::Digest.client(&server.address()).await, ROOT).await;
    for path in ["", "/shared", ROOT] {
        assert!(!is_open(&server.address(), path).await, "{path} is locked");
    }
    server
}

async fn ours(server: &Server) -> Vec<String> {
    below(ObserverIdentity::Digest, &server.address(), ROOT).await
}

#[tokio::test]
async fn a_run_stays_below_its_path_and_leaves_it_empty() {
    let server = Server::start("", &[]).await;
    let (bench, connect) = (Bench::new(), format!("{}{ROOT}", server.address()));
    refused(
        &bench,
        &["--connect", &connect],
        &[],
        &[ROOT, "is not there", &server.address(), "create it", "leave it out"],
    );
    let client = ObserverIdentity::Anybody.client(&server.address()).await;
    client.mkdir(ROOT, &CreateMode::Persistent.with_acls(Acls::anyone_all())).await.expect("created");
    let ran = super::stage::start(&bench, &calm(), &["--connect", &connect], &[]).end().expect(0);
    assert!(ran.err.contains(&format!("below {ROOT}")), "{}", ran.err);
    bench.assert_nothing_left();
    assert_eq!(
        below(ObserverIdentity::Anybody, &server.address(), "/").await.len(),
        2,
        "the servers' own and what was there"
    );
    assert_eq!(ours(&server).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_locked_znode_of_a_user_bears_a_run_that_shows_no_secret() {
    let server = locked(DEMANDS).await;
    let (bench, connect) = (Bench::new(), format!("{}{ROOT}", server.address()));
    let file = bench.file("secret", &format!("{}\n", secret())).display().to_string();
    passes(&bench, &with_faults(""), &["--connect", &connect, "--auth-file", &file], &[]);
    assert_eq!(ours(&server).await, Vec::<String>::new());
    assert_eq!(below(ObserverIdentity::Digest, &server.address(), "/shared").await, ["ours"]);
}

#[tokio::test]
async fn the_environment_has_the_secret_too_and_a_wrong_or_missing_one_is_told() {
    let server = locked("").await;
    let (bench, connect) = (Bench::new(), format!("{}{ROOT}", server.address()));
    let there = ["--connect", connect.as_str()];
    let wrong = format!("{USER}:wrong");
    refused(&bench, &there, &[], &[ROOT, "may not be listed", "--auth-file", "HUSTINGS_AUTH"]);
    refused(
        &bench,
        &there,
        &[("HUSTINGS_AUTH", &wrong)],
        &[ROOT, "may not be", "user and password of --auth-file", "right"],
    );
    assert_eq!(ours(&server).await, Vec::<String>::new());
    let enough = with_faults("").split("[faults.crash]").next().expect("a part").to_owned();
    passes(&bench, &enough, &there, &[("HUSTINGS_AUTH", &secret())]);
    assert_eq!(ours(&server).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_a_killed_run_leaves_is_its_users_alone_and_cleaned_with_the_secret() {
    let server = locked("").await;
    let (bench, connect) = (Bench::new(), format!("{}{ROOT}", server.address()));
    let file = bench.file("secret", &secret()).display().to_string();
    let running = in_the_middle(&bench, &["--connect", &connect, "--auth-file", &file]);
    running.signal(Signal::KILL);
    running.end().expect(137);
    bench.assert_no_process_left();
    let left = ours(&server).await;
    assert!(!left.is_empty(), "its znodes are left");
    let client = ObserverIdentity::Digest.client(&server.address()).await;
    for name in &left {
        let path = format!("{ROOT}/{name}");
        assert!(!is_open(&server.address(), &path).await, "{path} is the user's alone");
        let (acls, _) = client.get_acl(&path).await.expect("read");
        assert!(acls.iter().all(|acl| acl.scheme() == "digest" && acl.id().starts_with("scott:")), "{acls:?}");
    }

    let keyless = bench.run(&["clean"]).expect(4);
    assert!(keyless.err.contains("--auth-file") && keyless.err.contains(ROOT), "{}", keyless.err);
    let wrong = bench.file("wrong", "scott:wrong").display().to_string();
    let ran = bench.run(&["clean", "--auth-file", &wrong]).expect(4);
    assert!(ran.err.contains("could not be removed") && ran.err.contains("--auth-file"), "{}", ran.err);
    assert_eq!(ours(&server).await.len(), left.len(), "they are still there, and so is the note");
    let ran = bench.run(&["clean", "--auth-file", &file]).expect(0);
    assert!(ran.err.contains("removed") && ran.err.contains(ROOT), "{}", ran.err);
    assert_eq!(ours(&server).await, Vec::<String>::new());
    bench.assert_nothing_left();
}
