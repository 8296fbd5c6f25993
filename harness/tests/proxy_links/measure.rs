//! Figures without assertions: connects a second, added latency, resident memory, time of an injection. Run it alone,
//! on a release build: `cargo test --release -p hustings --test proxy_links -- --ignored --nocapture measure`

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use hustings::links::RunLinks;
use hustings::process::limits::raise_descriptor_limit;
use hustings_record::Direction;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::support::*;

/// Connects and makes one round trip until there are this many connections; `width` at a time.
async fn connects(address: SocketAddr, total: usize, width: usize) -> (f64, Vec<tokio::net::TcpStream>) {
    let started = Instant::now();
    let mut all = Vec::with_capacity(total);
    while all.len() < total {
        let some = (0..width.min(total - all.len())).map(|_| async {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            stream.write_all(b"x").await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
            stream
        });
        all.extend(futures::future::join_all(some).await);
    }
    (total as f64 / started.elapsed().as_secs_f64(), all)
}

async fn async_echo() -> SocketAddr {
    let listener = tokio::net::TcpSocket::new_v4().unwrap();
    listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = listener.listen(4096).unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let mut buffer = [0; 512];
                while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                    stream.write_all(&buffer[..n]).await.unwrap();
                }
            });
        }
    });
    address
}

fn round_trips(address: SocketAddr) -> (Duration, Duration) {
    let mut stream: TcpStream = connect(address);
    let mut times: Vec<_> = (0..5_000)
        .map(|_| {
            let asked = Instant::now();
            stream.write_all(b"0123456789").unwrap();
            stream.read_exact(&mut [0; 10]).unwrap();
            asked.elapsed()
        })
        .collect();
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

fn rss(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("unknown").to_owned()
}

#[tokio::test]
#[ignore = "measures, and wants the machine for itself"]
async fn measure() {
    raise_descriptor_limit().unwrap();
    let upstream = async_echo().await;
    let proxy = Proxy::start(&[]);
    let link = proxy.link(upstream);
    println!("resident, empty: {}", rss(proxy.pid()));
    let (direct, standing) = connects(upstream, 4_500, 100).await;
    drop(standing);
    let (proxied, standing) = connects(link, 4_500, 100).await;
    println!("connects/s with a round trip each: direct {direct:.0}, proxied {proxied:.0}");
    println!("resident with {} idle connections: {}", standing.len(), rss(proxy.pid()));
    let echo = echo().0;
    let beside = proxy.named_link("beside", echo);
    println!("round trip p50, p99: direct {:?}, proxied {:?}", round_trips(echo), round_trips(beside));
    drop(standing);

    let links = RunLinks::start_embedded(Path::new(EXE), 1, false).await.unwrap();
    let servers: Vec<_> = (1..=3).map(zookeeper).collect();
    links.populate(&vec![String::new(); 50], &servers, &servers).await.unwrap();
    for hosts in [vec![0], (0..10).collect()] {
        for _ in 0..3 {
            let asked = Instant::now();
            let verification = links.partition(&hosts, Direction::Both).await.unwrap();
            let whole = asked.elapsed();
            let healed = links.heal(&hosts).await.unwrap();
            println!(
                "{} hosts of 50, 3 links each: partition in {:.1} ms (with probes {whole:?}), heal in {:.1} ms",
                hosts.len(),
                (verification.to - verification.from) as f64 / 1e6,
                (healed.to - healed.from) as f64 / 1e6,
            );
        }
    }
}
