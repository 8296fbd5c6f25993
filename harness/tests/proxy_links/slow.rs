//! The effect of a slow link on its clients, measured with the test's own bytes and compared with the same link before.
//! Parameters and directions are tested separately, on the embedded proxy and Toxiproxy's plain API. A busy machine
//! only adds time.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Instant;

use hustings::links::{ExternalToxiproxy, RunLinks};
use hustings_record::Direction;
use hustings_workloads::faults::LinkSlowdown;

use super::support::*;

const LATENCY_MS: u64 = 80;
/// 64 KiB in 256 ms, with a small deviation because the proxy counts in whole thousands.
const RATE_KB: u64 = 256;
const BULK: usize = 65_536;
const BULK_MS: f64 = 256.0;
/// The most that a busy machine may add.
const LATE_MS: f64 = 500.0;

/// Milliseconds in each direction.
#[derive(Clone, Copy, Debug)]
struct LinkDelays {
    up_ms: f64,
    down_ms: f64,
    bulk_up_ms: f64,
    bulk_down_ms: f64,
    /// Small messages up: the difference between the quickest and the slowest.
    apart_ms: f64,
}

/// Both ends of a connection over a link, so that each direction is timed separately.
struct Line {
    host: TcpStream,
    server: TcpStream,
}

impl Line {
    fn over(endpoint: SocketAddr, accepted: &std::net::TcpListener) -> Self {
        let mut host = connect(endpoint);
        // The driver's probes also connect; this connection identifies itself.
        host.write_all(b"ours").unwrap();
        loop {
            let (mut server, _) = accepted.accept().unwrap();
            server.set_nodelay(true).unwrap();
            server.set_read_timeout(Some(SOON)).unwrap();
            let mut first = [0; 4];
            if server.read_exact(&mut first).is_ok() && &first == b"ours" {
                return Self { host, server };
            }
        }
    }

    fn pass(from: &TcpStream, to: &mut TcpStream, bytes: usize) -> f64 {
        let sent = Instant::now();
        let mut writer = from.try_clone().unwrap();
        let writes = std::thread::spawn(move || writer.write_all(&vec![7; bytes]).unwrap());
        read_exactly(to, bytes);
        let took = sent.elapsed();
        writes.join().unwrap();
        took.as_secs_f64() * 1e3
    }

    fn measure(&mut self) -> LinkDelays {
        let Self { host, server } = self;
        let ups: Vec<f64> = (0..12).map(|_| Self::pass(host, server, 10)).collect();
        let downs: Vec<f64> = (0..12).map(|_| Self::pass(server, host, 10)).collect();
        let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
        LinkDelays {
            up_ms: least(&ups),
            down_ms: least(&downs),
            bulk_up_ms: Self::pass(host, server, BULK).min(Self::pass(host, server, BULK)),
            bulk_down_ms: Self::pass(server, host, BULK).min(Self::pass(server, host, BULK)),
            apart_ms: ups.iter().copied().fold(0.0, f64::max) - least(&ups),
        }
    }
}

/// The durations over a host's first link when all of its links are this slow, and over the same link before.
async fn slowed(links: &RunLinks, timed: &std::net::TcpListener, how: &LinkSlowdown) -> (LinkDelays, LinkDelays) {
    let endpoint = links.endpoints(0)[0];
    let plain = Line::over(endpoint, timed).measure();
    let verification = links.slow(&[0], how).await.unwrap();
    assert!(verification.verified, "{verification:?}");
    let slow = Line::over(endpoint, timed).measure();
    assert!(links.heal(&[0]).await.unwrap().verified);
    println!("{how}\n  before {plain:?}\n  during {slow:?}\n  {}", verification.evidence);
    (slow, plain)
}

fn grew(now: f64, before: f64, due_ms: f64, what: &str) {
    let grown = now - before;
    let bounds = if due_ms == 0.0 { -LATE_MS..due_ms + LATE_MS } else { due_ms * 0.9 - 5.0..due_ms * 1.1 + LATE_MS };
    assert!(bounds.contains(&grown), "{what}: {before:.1} ms before, {now:.1} ms now, {due_ms:.1} ms were due");
    // An unaffected direction must be far from the cost of the latency.
    assert!(due_ms > 0.0 || grown < LATENCY_MS as f64 * 0.7, "{what}: {grown:.1} ms later, and none were due");
}

async fn every_parameter_is_measured(links: RunLinks) {
    // The driver's requests go to a ZooKeeper; the timed ones go to a separate listener, over another link.
    let timed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    links.populate(&[String::new()], &[timed.local_addr().unwrap(), zookeeper(1)], &[]).await.unwrap();
    let ways = |direction: Direction| [direction.is_up(), direction.is_down()].map(|acts| if acts { 1.0 } else { 0.0 });
    for direction in [Direction::Up, Direction::Down, Direction::Both] {
        let [up, down] = ways(direction);
        let latency = LinkSlowdown { latency_ms: LATENCY_MS, direction, ..LinkSlowdown::default() };
        let (slow, plain) = slowed(&links, &timed, &latency).await;
        grew(slow.up_ms, plain.up_ms, up * LATENCY_MS as f64, &format!("latency {direction}, up"));
        grew(slow.down_ms, plain.down_ms, down * LATENCY_MS as f64, &format!("latency {direction}, down"));
        let rate = LinkSlowdown { rate_kb: Some(RATE_KB), direction, ..LinkSlowdown::default() };
        let (slow, plain) = slowed(&links, &timed, &rate).await;
        grew(slow.bulk_up_ms, plain.bulk_up_ms, up * BULK_MS, &format!("rate {direction}, up"));
        grew(slow.bulk_down_ms, plain.bulk_down_ms, down * BULK_MS, &format!("rate {direction}, down"));
    }
    let jitter =
        LinkSlowdown { latency_ms: LATENCY_MS, jitter_ms: 40, direction: Direction::Up, ..LinkSlowdown::default() };
    let (slow, plain) = slowed(&links, &timed, &jitter).await;
    assert!(slow.up_ms - plain.up_ms >= 35.0, "never earlier than latency less jitter: {slow:?}, before {plain:?}");
    assert!(slow.apart_ms >= 15.0, "apart by a good deal of twice the jitter: {slow:?}");
    grew(slow.down_ms, plain.down_ms, 0.0, "jitter up, down");
    links.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_link_is_as_slow_as_was_asked_each_way_over_embedded_proxies() {
    every_parameter_is_measured(RunLinks::start_embedded(Path::new(EXE), 1, false).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_link_is_as_slow_as_was_asked_each_way_over_toxiproxys_plain_api() {
    let proxy = Proxy::start(&["--plain"]);
    every_parameter_is_measured(RunLinks::external(ExternalToxiproxy::local(&proxy.url())).await.unwrap()).await;
}
