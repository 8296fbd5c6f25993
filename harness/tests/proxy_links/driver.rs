//! The driver of links relies on effects, not on lists: working faults are verified, failed ones are reported.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use hustings::links::{ExternalToxiproxy, LinkError, LinkVerification, RunLinks};
use hustings_record::Direction;
use hustings_workloads::driver::LinkFault;
use hustings_workloads::faults::LinkSlowdown;

use super::support::*;

fn names(hosts: usize) -> Vec<String> {
    (0..hosts).map(|_| "<script>".to_owned()).collect()
}

async fn embedded(hosts: usize, processes: usize, lie: bool) -> RunLinks {
    let links = RunLinks::start_embedded(Path::new(EXE), processes, lie).await.unwrap();
    let servers: Vec<_> = (1..=3).map(zookeeper).collect();
    links.populate(&names(hosts), &servers, &servers).await.unwrap();
    links
}

fn seen(verification: &LinkVerification) {
    assert!(verification.verified, "{verification:?}");
    assert!(verification.from < verification.to, "{verification:?}");
}

fn unseen(verification: &LinkVerification) {
    assert!(!verification.verified && verification.evidence.starts_with("NOT in effect"), "{verification:?}");
}

fn session(endpoint: SocketAddr) -> TcpStream {
    let mut stream = connect(endpoint);
    stream.write_all(&[1; 45]).unwrap();
    read_exactly(&mut stream, 41);
    stream
}

fn pings(stream: &mut TcpStream) {
    stream.write_all(&[1; 12]).unwrap();
    read_exactly(stream, 41);
}

#[tokio::test]
async fn a_partition_is_seen_and_heals_on_the_same_connections() {
    let links = embedded(2, 2, false).await;
    assert_eq!((links.pids().len(), links.endpoints(0).len(), links.endpoints(9).len()), (2, 3, 0));
    let mut standing: Vec<_> = links.endpoints(0).into_iter().map(session).collect();
    let mut other = session(links.endpoints(1)[0]);
    for direction in [Direction::Both, Direction::Up, Direction::Down] {
        seen(&links.partition(&[0], direction).await.unwrap());
        standing.iter_mut().for_each(|stream| stream.write_all(&[1; 12]).unwrap());
        assert!(standing.iter_mut().all(is_quiet), "{direction}");
        pings(&mut other);
        let healed = links.heal(&[0]).await.unwrap();
        seen(&healed);
        for stream in &mut standing {
            assert_eq!(read_exactly(stream, 41).len(), 41, "{direction}");
        }
    }
    let stats = links.stats().await.unwrap();
    assert_eq!(
        stats.keys().map(String::as_str).collect::<Vec<_>>(),
        ["h000-s1", "h000-s2", "h000-s3", "h001-s1", "h001-s2", "h001-s3"]
    );
    links.close().await.unwrap();
}

#[tokio::test]
async fn the_heal_of_a_fault_leaves_other_faults_on_its_links_in_force() {
    let links = embedded(1, 1, false).await;
    let mut standing: Vec<_> = links.endpoints(0).into_iter().map(session).collect();
    let waits = async || links.lose_replies(&[0], async |_| false).await;
    // The partition outlives the lost reply.
    assert!(!waits().await.unwrap().verified, "no create has passed");
    seen(&links.partition(&[0], Direction::Both).await.unwrap());
    let healed = links.heal_fault(&[0], LinkFault::LostReply).await.unwrap();
    seen(&healed);
    assert!(healed.evidence.contains("3 of them are under another fault"), "{healed:?}");
    standing.iter_mut().for_each(|stream| stream.write_all(&[1; 12]).unwrap());
    assert!(standing.iter_mut().all(is_quiet));
    seen(&links.heal_fault(&[0], LinkFault::Partition).await.unwrap());
    for stream in &mut standing {
        assert_eq!(read_exactly(stream, 41).len(), 41);
    }
    // The lost reply outlives a partition and slow links.
    waits().await.unwrap();
    seen(&links.partition(&[0], Direction::Both).await.unwrap());
    seen(&links.heal_fault(&[0], LinkFault::Partition).await.unwrap());
    seen(&links.slow(&[0], &LinkSlowdown { latency_ms: 201, ..LinkSlowdown::default() }).await.unwrap());
    seen(&links.heal_fault(&[0], LinkFault::Slow).await.unwrap());
    assert!(matches!(waits().await, Err(LinkError::AlreadyThere { .. })));
    seen(&links.heal_fault(&[0], LinkFault::LostReply).await.unwrap());
    waits().await.unwrap();
}

#[tokio::test]
async fn touches_are_the_last_bytes_that_went_up() {
    let links = embedded(1, 1, false).await;
    let mut streams: Vec<_> = links.endpoints(0).into_iter().map(session).collect();
    let before = hustings::process::clock::now();
    pings(&mut streams[1]);
    let after = hustings::process::clock::now();
    drop(streams.pop());
    let touches = links.touches(&[0]).await.unwrap();
    let sessions: Vec<_> = touches.list.iter().map(|touch| touch.session).collect();
    assert_eq!(sessions, [1, 2, 3], "the closed one too: {touches:?}");
    assert!(touches.list[0].last_up < before);
    assert!((before..=after).contains(&touches.list[1].last_up));
}

#[tokio::test]
async fn slow_links_are_seen_to_be_slow_and_then_quick_again() {
    let links = embedded(1, 1, false).await;
    let slow = LinkSlowdown { latency_ms: 201, jitter_ms: 10, rate_kb: Some(50), direction: Direction::Both };
    seen(&links.slow(&[0], &slow).await.unwrap());
    seen(&links.heal(&[0]).await.unwrap());
    let tiny = links.slow(&[0], &LinkSlowdown { rate_kb: Some(10_000_000), ..LinkSlowdown::default() }).await.unwrap();
    assert!(!tiny.verified && tiny.evidence.starts_with("nothing is verified"), "{tiny:?}");
}

#[tokio::test]
async fn a_disconnect_is_seen_and_leaves_the_links_usable() {
    let links = embedded(2, 1, false).await;
    let mut mine = session(links.endpoints(0)[0]);
    let mut other = session(links.endpoints(1)[0]);
    seen(&links.disconnect(&[0]).await.unwrap());
    assert!(std::io::Read::read(&mut mine, &mut [0]).is_err());
    pings(&mut other);
    session(links.endpoints(0)[0]);
}

#[tokio::test]
async fn a_lying_proxy_is_noticed() {
    let links = embedded(1, 1, true).await;
    for direction in [Direction::Both, Direction::Up, Direction::Down] {
        unseen(&links.partition(&[0], direction).await.unwrap());
        links.heal(&[0]).await.unwrap();
    }
    for slow in [
        LinkSlowdown { latency_ms: 400, ..LinkSlowdown::default() },
        LinkSlowdown { jitter_ms: 400, ..LinkSlowdown::default() },
        LinkSlowdown { rate_kb: Some(20), direction: Direction::Up, ..LinkSlowdown::default() },
        LinkSlowdown { rate_kb: Some(20), direction: Direction::Down, ..LinkSlowdown::default() },
    ] {
        unseen(&links.slow(&[0], &slow).await.unwrap());
        links.heal(&[0]).await.unwrap();
    }
    let _standing = session(links.endpoints(0)[0]);
    unseen(&links.disconnect(&[0]).await.unwrap());
}

#[tokio::test]
async fn silence_of_a_dead_server_proves_nothing() {
    let links = RunLinks::start_embedded(Path::new(EXE), 1, false).await.unwrap();
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    links.populate(&names(1), &[dead], &[dead]).await.unwrap();
    let verification = links.partition(&[0], Direction::Both).await.unwrap();
    assert!(!verification.verified && verification.evidence.starts_with("nothing is verified"), "{verification:?}");
    assert!(!links.heal(&[0]).await.unwrap().verified);
}

#[tokio::test]
async fn a_real_toxiproxy_is_partitioned_by_timeouts_and_disconnected_by_its_port() {
    let proxy = Proxy::start(&["--plain"]);
    let links = RunLinks::external(ExternalToxiproxy::local(&proxy.url())).await.unwrap();
    assert!(!links.is_embedded());
    let servers = [zookeeper(1), zookeeper(2)];
    links.populate(&names(1), &servers, &servers).await.unwrap();
    for direction in [Direction::Both, Direction::Up, Direction::Down] {
        seen(&links.partition(&[0], direction).await.unwrap());
        seen(&links.heal(&[0]).await.unwrap());
    }
    seen(&links.disconnect(&[0]).await.unwrap());
    seen(&links.slow(&[0], &LinkSlowdown { latency_ms: 400, ..LinkSlowdown::default() }).await.unwrap());
    let touches = links.touches(&[0]).await.unwrap();
    assert!(touches.list.is_empty() && touches.explanation.contains("Toxiproxy"), "{touches:?}");
    assert!(links.stats().await.unwrap().is_empty());
    links.close().await.unwrap();
    assert_eq!(proxy.call("GET", "/proxies", ""), (200, serde_json::json!({})), "nothing is left behind");
}

#[tokio::test]
async fn a_toxic_that_is_there_already_is_noticed_and_nothing_else_is_left() {
    let proxy = Proxy::start(&[]);
    let links = RunLinks::external(ExternalToxiproxy::local(&proxy.url())).await.unwrap();
    let servers = [zookeeper(1), zookeeper(2)];
    links.populate(&names(1), &servers, &servers).await.unwrap();
    let other = r#"{"type":"latency","attributes":{"latency":1}}"#;
    assert_eq!(proxy.call("POST", "/proxies/h000-s2/toxics", other).0, 200);
    let error = links.slow(&[0], &LinkSlowdown { latency_ms: 100, ..LinkSlowdown::default() }).await.unwrap_err();
    assert!(matches!(&error, LinkError::AlreadyThere { proxy, .. } if proxy == "h000-s2"), "{error}");
    assert_eq!(proxy.call("GET", "/proxies/h000-s1/toxics", "").1, serde_json::json!([]));
    links.partition(&[0], Direction::Both).await.unwrap();
    let error = links.partition(&[0], Direction::Both).await.unwrap_err();
    assert!(error.to_string().contains("heal the link"), "{error}");
}

/// An API that shows one proxy, refuses all toxics with 409, and reports this version.
fn refusing_api(version: &'static str, upstream: SocketAddr) -> SocketAddr {
    let (api, _) = server(move |mut stream| {
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = std::io::Read::read(&mut stream, &mut buffer) {
            request.extend_from_slice(&buffer[..n]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() < length.unwrap_or(0) {
                continue;
            }
            let link = format!(
                r#"{{"name":"h000-s1","listen":"{upstream}","upstream":"{upstream}","enabled":true,"toxics":[]}}"#
            );
            let (status, body) = match head.split(' ').nth(1).unwrap_or_default() {
                "/version" => ("200 OK", format!(r#"{{"version":"{version}"}}"#)),
                "/populate" => ("201 Created", format!(r#"{{"proxies":[{link}]}}"#)),
                "/proxies" => ("200 OK", format!(r#"{{"h000-s1":{link}}}"#)),
                "/proxies/h000-s1/toxics" if head.starts_with("GET") => ("200 OK", "[]".to_owned()),
                _ => ("409 Conflict", r#"{"error":"toxic already exists","status":409}"#.to_owned()),
            };
            let length = body.len();
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
            request.clear();
        }
    });
    api
}

#[tokio::test]
async fn a_refused_toxic_is_noticed_although_the_client_library_hides_it() {
    let upstream = zookeeper(1);
    let api = refusing_api("2.1.4", upstream);
    let links = RunLinks::external(ExternalToxiproxy::local(&format!("http://{api}"))).await.unwrap();
    links.populate(&names(1), &[upstream], &[upstream]).await.unwrap();
    let error = links.partition(&[0], Direction::Both).await.unwrap_err();
    assert!(matches!(&error, LinkError::NotApplied { found, .. } if found == "no toxic"), "{error}");
}

/// A program that answers every first request so, and closes.
fn answering(answer: &'static str) -> SocketAddr {
    let (address, _) = server(move |mut stream| {
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
        let _ = stream.write_all(answer.as_bytes());
    });
    address
}

#[tokio::test]
async fn what_is_no_toxiproxy_is_refused_with_a_remedy() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let old = refusing_api("1.2.0", nobody);
    let banner = answering("SSH-2.0-OpenSSH_9.2\r\n");
    let missing = answering("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found");
    let page = answering("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>");
    for (url, says) in [
        (format!("http://{nobody}"), "cannot be reached"),
        (format!("http://{nobody}"), "nothing listens there: is it running"),
        (format!("http://{old}"), "1.2.0"),
        (
            format!("http://{banner}"),
            "is not the API of a Toxiproxy: asked for its version, it answers \"SSH-2.0-OpenSSH_9.2\"",
        ),
        (format!("http://{missing}"), "asked for its version, it answers 404 \"not found\""),
        (format!("http://{page}"), "asked for its version, it answers \"<html>\""),
        (format!("http://{}", answering("")), "it closes the connection without an answer"),
        ("ftp://x".to_owned(), "http://127.0.0.1:8474"),
        ("".to_owned(), "http://127.0.0.1:8474"),
    ] {
        let error = RunLinks::external(ExternalToxiproxy::local(&url)).await.unwrap_err().to_string();
        assert!(error.contains(says), "{url}: {error}");
    }
    let error = RunLinks::start_embedded(Path::new("/bin/true"), 1, false).await.unwrap_err();
    assert!(matches!(error, LinkError::Start { .. }), "{error}");
}

#[tokio::test]
async fn a_dead_proxy_is_an_error_in_bounded_time_and_no_panic() {
    let proxy = Proxy::start(&[]);
    let links = RunLinks::external(ExternalToxiproxy::local(&proxy.url())).await.unwrap();
    links.populate(&names(1), &[zookeeper(1)], &[]).await.unwrap();
    drop(proxy);
    let asked = Instant::now();
    assert!(matches!(links.partition(&[0], Direction::Both).await, Err(LinkError::Unreachable { .. })));
    assert!(matches!(links.heal(&[0]).await, Err(LinkError::Unreachable { .. })));
    assert!(matches!(links.disconnect(&[0]).await, Err(LinkError::Unreachable { .. })));
    assert!(matches!(links.stats().await, Err(LinkError::Unreachable { .. })));
    assert!(asked.elapsed() < Duration::from_secs(30));
    assert!(matches!(links.partition(&[7], Direction::Both).await, Err(LinkError::NoSuchHost { host: 7, hosts: 1 })));
}

#[tokio::test]
async fn an_api_that_hangs_is_given_up() {
    let (silent, _) = server(|stream| std::thread::sleep(SOON + stream.read_timeout().unwrap().unwrap_or(SOON)));
    let asked = Instant::now();
    let error = RunLinks::external(ExternalToxiproxy::local(&format!("http://{silent}"))).await.unwrap_err();
    assert!(matches!(error, LinkError::Unreachable { .. } | LinkError::TimedOut { .. }), "{error}");
    assert!(error.to_string().contains("stopped"), "{error}");
    assert!(asked.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_taken_port_is_told_with_its_number() {
    let proxy = Proxy::start(&[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let place = ExternalToxiproxy { first_port: Some(port), ..ExternalToxiproxy::local(&proxy.url()) };
    let links = RunLinks::external(place).await.unwrap();
    let error = links.populate(&names(1), &[zookeeper(1)], &[]).await.unwrap_err();
    assert!(matches!(&error, LinkError::Refused { .. }) && error.to_string().contains(&port.to_string()), "{error}");
}

#[tokio::test]
async fn too_few_ports_are_told_with_the_arithmetic_before_any_link_is_made() {
    let proxy = Proxy::start(&[]);
    let place = ExternalToxiproxy {
        first_port: Some(21_000),
        last_port: Some(21_004),
        ..ExternalToxiproxy::local(&proxy.url())
    };
    assert!(place.check_room(1, 3).is_ok() && place.check_room(5, 1).is_ok());
    let links = RunLinks::external(place).await.unwrap();
    let error =
        links.populate(&names(2), &[zookeeper(1), zookeeper(2), zookeeper(3)], &[]).await.unwrap_err().to_string();
    for told in ["2 hosts x 3 servers = 6 ports", "21000 to 21004 are 5"] {
        assert!(error.contains(told), "{error}");
    }
    assert_eq!(proxy.call("GET", "/proxies", ""), (200, serde_json::json!({})));
}

#[tokio::test]
async fn a_servers_name_is_looked_up_when_a_client_connects() {
    let links = RunLinks::start_embedded(Path::new(EXE), 1, false).await.unwrap();
    let direct = zookeeper(1);
    let upstream = format!("localhost:{}", direct.port());
    links.populate(&names(1), &[upstream], &[direct]).await.unwrap();
    seen(&links.partition(&[0], Direction::Both).await.unwrap());
    seen(&links.heal(&[0]).await.unwrap());
}

#[tokio::test]
async fn the_proxies_end_with_their_driver() {
    let links = embedded(1, 2, false).await;
    let pids = links.pids();
    links.close().await.unwrap();
    for pid in pids {
        until("the process is gone", || !Path::new(&format!("/proc/{pid}")).exists());
    }
}
