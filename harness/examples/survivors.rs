//! Shows that a ZooKeeper server may go on serving a connection whose session has ended. Opens sessions on the first of the servers that are
//! named, has them ended there while their holders reconnect at once, and counts the holders that are answered seconds later and
//! were never told. On followers of ZooKeeper 3.8.0 it is one of some thousands, more on a busy machine; a server that leads drops their
//! pings.
//!
//! `cargo run --release --example survivors -- 127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183 2400`

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hustings::wire::client::write_ping;
use hustings::wire::connect::{read_connected, write_connect};
use hustings::wire::end::{Taken, end_session};
use hustings::wire::stream::read_frame;
use hustings_workloads::model::{Connect, Connected};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, timeout};

const TIMEOUT_MS: i32 = 4_000;
const PING: Duration = Duration::from_millis(300);
/// Sessions that are ended at a time.
const AT_ONCE: u64 = 40;
const SETTLE: Duration = Duration::from_millis(300);
const END_AT_MOST: Duration = Duration::from_secs(5);
/// Whoever is still answered after so long has survived.
const LATER: Duration = Duration::from_secs(2);

/// What became of the holder of a session.
struct Holder {
    granted: Connected,
    answered: Rc<Cell<Instant>>,
    expired: Rc<Cell<bool>>,
}

async fn greet(server: &str, connect: &Connect) -> io::Result<(TcpStream, Connected)> {
    let mut stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&write_connect(connect)).await?;
    let answer = read_connected(&read_frame(&mut stream).await?);
    Ok((stream, answer.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?))
}

/// Pings until the connection is lost.
async fn ping(stream: &mut TcpStream, answered: &Cell<Instant>) -> io::Result<()> {
    loop {
        if let Ok(frame) = timeout(PING, read_frame(stream)).await {
            frame?;
            answered.set(Instant::now());
        } else {
            stream.write_all(&write_ping()).await?;
        }
    }
}

/// Holds a session on one server, and comes back at once.
async fn hold(server: String) -> anyhow::Result<Holder> {
    let connect = Connect { timeout_ms: TIMEOUT_MS, ..Connect::default() };
    let (mut stream, granted) = greet(&server, &connect).await.with_context(|| server.clone())?;
    let (answered, expired) = (Rc::new(Cell::new(Instant::now())), Rc::new(Cell::new(false)));
    let again = Connect { session: granted.session, password: granted.password, ..connect };
    let (told, seen) = (expired.clone(), answered.clone());
    spawn_local(async move {
        loop {
            // Lost: by whatever error.
            let _ = ping(&mut stream, &seen).await;
            match greet(&server, &again).await {
                Ok((_, granted)) if granted.timeout_ms <= 0 => return told.set(true),
                Ok((next, _)) => stream = next,
                Err(_) => sleep(Duration::from_millis(1)).await,
            }
        }
    });
    Ok(Holder { granted, answered, expired })
}

async fn run(cluster: &str, sessions: u64) -> anyhow::Result<()> {
    let first = cluster.split(',').next().unwrap_or_default();
    let (mut ended, mut survived) = (0, 0);
    while ended < sessions {
        let mut holders = Vec::new();
        for _ in 0..AT_ONCE.min(sessions - ended) {
            holders.push(hold(first.to_owned()).await?);
        }
        sleep(SETTLE).await;
        let all = holders.iter().map(|holder| {
            let Connected { session, password, .. } = holder.granted;
            end_session(cluster, Taken { session, password }, None, END_AT_MOST)
        });
        for outcome in futures::future::join_all(all).await {
            outcome.map_err(anyhow::Error::msg)?;
        }
        sleep(LATER).await;
        ended += holders.len() as u64;
        let kept = |holder: &&Holder| !holder.expired.get() && holder.answered.get().elapsed() < 2 * PING;
        survived += holders.iter().filter(kept).count();
        eprintln!("{ended} sessions ended, {survived} connections survived");
    }
    println!("{survived} of {ended} holders are served under a session that has ended");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let cluster = arguments.next().context("usage: survivors SERVERS [SESSIONS]")?;
    let sessions = arguments.next().map_or(Ok(2_400), |text| text.parse()).context("SESSIONS is a number")?;
    LocalSet::new().run_until(run(&cluster, sessions)).await
}
