//! Proxies that accept a toxic but cut nothing, or not all, and servers whose silence looks like that of their links.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use hustings::links::{ExternalToxiproxy, LinkVerification, RunLinks};
use hustings_record::{Direction, Evidence};

use super::support::*;

/// Links of one host to these servers, over a proxy with these options.
async fn lying(options: &[&str], servers: &[SocketAddr], direct: &[SocketAddr]) -> (Proxy, RunLinks) {
    let proxy = Proxy::start(options);
    let links = RunLinks::external(ExternalToxiproxy::local(&proxy.url())).await.unwrap();
    links.populate(&[String::new()], servers, direct).await.unwrap();
    (proxy, links)
}

fn unverified(verification: &LinkVerification, says: &str) {
    assert!(!verification.verified && verification.evidence.contains(says), "{says}: {verification:?}");
}

/// Answers this many requests, and then none: a server in a long pause. It still accepts connections.
fn stops_after(answers: usize) -> SocketAddr {
    let left = Arc::new(AtomicUsize::new(answers));
    server(move |mut stream| {
        let mut question = [0; 64];
        while let Ok(1..) = stream.read(&mut question) {
            let answers = left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
            if !answers {
                thread::sleep(SOON);
            }
            let _ = stream.write_all(b"imok");
        }
    })
    .0
}

#[tokio::test]
async fn one_link_that_is_not_cut_is_enough() {
    for kind in [&["--lie=-s2"][..], &["--lie=-s2", "--plain"]] {
        let servers = [zookeeper(1), zookeeper(2)];
        let (_proxy, links) = lying(kind, &servers, &servers).await;
        for direction in [Direction::Both, Direction::Up, Direction::Down] {
            unverified(&links.partition(&[0], direction).await.unwrap(), "to server 2 answers");
            links.heal(&[0]).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_link_that_did_not_answer_before_is_not_verified_by_the_others() {
    let servers = [zookeeper(1), stops_after(0)];
    let (_proxy, links) = lying(&["--lie=-s2", "--plain"], &servers, &servers).await;
    let verification = links.partition(&[0], Direction::Both).await.unwrap();
    unverified(&verification, "server 2 did not answer before");
}

#[tokio::test]
async fn a_server_that_pauses_cannot_stand_in_for_a_cut_link() {
    for direction in [Direction::Both, Direction::Down] {
        let servers = [stops_after(1)];
        let (_proxy, links) = lying(&["--lie", "--plain"], &servers, &servers).await;
        let verification = links.partition(&[0], direction).await.unwrap();
        unverified(&verification, "so was its server on another path");
    }
    // Nor where bytes are counted: bytes that it does not send are not counted either.
    let servers = [stops_after(1)];
    let (_proxy, links) = lying(&["--lie"], &servers, &servers).await;
    let verification = links.partition(&[0], Direction::Down).await.unwrap();
    unverified(&verification, "so was its server on another path");
}

#[tokio::test]
async fn a_pause_that_ends_in_time_is_waited_for() {
    let pauses = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&pauses);
    // Every third request is answered late: the first time, one of those that bypass the link.
    let (busy, _) = server(move |mut stream| {
        let mut question = [0; 64];
        while let Ok(1..) = stream.read(&mut question) {
            if counted.fetch_add(1, SeqCst) == 1 {
                thread::sleep(Duration::from_millis(400));
            }
            let _ = stream.write_all(b"imok");
        }
    });
    let (_proxy, links) = lying(&["--plain"], &[busy], &[busy]).await;
    let verification = links.partition(&[0], Direction::Both).await.unwrap();
    assert!(verification.verified, "{verification:?}");
    let Evidence::Cut { links, .. } = &verification.seen else { panic!("{verification:?}") };
    assert!(links[0].bytes.is_none() && links[0].direct.until < links[0].new.until, "{links:?}");
}

#[tokio::test]
async fn servers_that_nobody_can_ask_past_their_links_prove_nothing() {
    let (_proxy, links) = lying(&[], &[zookeeper(1)], &[]).await;
    unverified(&links.partition(&[0], Direction::Both).await.unwrap(), "so was its server on another path");
}
