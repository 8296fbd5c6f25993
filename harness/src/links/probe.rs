//! Probes: small requests sent through a link. A listed fault proves nothing; a missing or late answer does.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::future::join_all;
use hustings_record::{Probe, ProbeAnswer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::process::clock;

/// Pause between two requests on a link that does not answer.
const AGAIN: Duration = Duration::from_millis(10);

/// Result of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    pub(super) asked: Probe,
    /// Time from sending the request to the first read, and the number of bytes in that read.
    pub(super) came: Option<(Duration, usize)>,
}

impl Reply {
    /// Result of an attempt that began `at`. None: it timed out.
    fn new(at: u64, outcome: Option<Option<(Duration, usize)>>) -> Self {
        let (answer, came) = match outcome {
            None => (ProbeAnswer::Silence, None),
            Some(None) => (ProbeAnswer::Closed, None),
            Some(came) => (ProbeAnswer::Answered, came),
        };
        Self { asked: Probe { at, until: clock::now(), came: answer }, came }
    }

    /// There is no server to probe.
    pub(super) fn nobody() -> Self {
        Self::new(clock::now(), Some(None))
    }

    pub(super) fn came(&self) -> bool {
        self.came.is_some()
    }

    pub(super) fn after(&self) -> Option<Duration> {
        self.came.map(|came| came.0)
    }
}

/// A link before a fault: its answer, and an idle connection that was opened at that time.
#[derive(Debug)]
pub(super) struct LinkBaseline {
    pub(super) answer: Reply,
    pub(super) standing: Option<TcpStream>,
}

/// Timings of a link's probes.
#[derive(Clone, Debug, Default)]
pub(super) struct Timing {
    /// Round trips of small requests, with the bytes of the answer.
    pub(super) rounds: Vec<(Duration, usize)>,
    /// The same for each direction. Empty if the proxy does not report it.
    pub(super) up: Vec<Duration>,
    pub(super) down: Vec<Duration>,
    /// A long request, until the server has received all of it and closes the connection.
    pub(super) long_up: Option<ProbeFlow>,
    /// A long answer, as far as it was read.
    pub(super) long_down: Option<ProbeFlow>,
}

/// Sends a request on a new connection.
pub(super) async fn ask(endpoint: SocketAddr, question: &[u8], limit: Duration) -> Reply {
    let at = clock::now();
    let asked = async {
        let mut stream = connect(endpoint).await?;
        question_on(&mut stream, question).await
    };
    Reply::new(at, timeout(limit, asked).await.ok())
}

/// Sends a request on an existing connection.
pub(super) async fn ask_on(stream: &mut TcpStream, question: &[u8], limit: Duration) -> Reply {
    let at = clock::now();
    Reply::new(at, timeout(limit, question_on(stream, question)).await.ok())
}

/// Waits for the other side to close an idle connection.
pub(super) async fn closes(stream: &mut TcpStream, limit: Duration) -> bool {
    let mut byte = [0];
    matches!(timeout(limit, stream.read(&mut byte)).await, Ok(Ok(0) | Err(_)))
}

/// Probes all links concurrently, and leaves an idle connection open on each.
pub(super) async fn before(endpoints: &[SocketAddr], question: &[u8], limit: Duration) -> Vec<LinkBaseline> {
    join_all(endpoints.iter().map(|endpoint| async {
        let standing = timeout(limit, connect(*endpoint)).await.ok().flatten();
        LinkBaseline { answer: ask(*endpoint, question, limit).await, standing }
    }))
    .await
}

/// Probes all links concurrently.
pub(super) async fn ask_all(endpoints: &[SocketAddr], question: &[u8], limit: Duration) -> Vec<Reply> {
    join_all(endpoints.iter().map(|endpoint| ask(*endpoint, question, limit))).await
}

/// Probes each link repeatedly, until it answers or its time limit is reached.
pub(super) async fn ask_until_answered(links: &[(SocketAddr, Duration)], question: &[u8]) -> Vec<Reply> {
    join_all(links.iter().map(|(endpoint, limit)| async {
        let started = Instant::now();
        loop {
            let left = limit.saturating_sub(started.elapsed());
            let answer = ask(*endpoint, question, left).await;
            if answer.came() || left.is_zero() {
                return answer;
            }
            tokio::time::sleep(AGAIN.min(left)).await;
        }
    }))
    .await
}

/// Bytes and time, from sending a request to the last byte of its answer or the end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProbeFlow {
    pub(super) bytes: usize,
    pub(super) took: Duration,
}

/// Sends a request on a new connection and reads until the other side closes. Waits up to `limit` for the first event,
/// then up to `reading`. `None`: no server was there, or no event occurred.
pub(super) async fn flow(
    endpoint: SocketAddr,
    question: &[u8],
    limit: Duration,
    reading: Duration,
) -> Option<ProbeFlow> {
    let mut stream = timeout(limit, connect(endpoint)).await.ok()??;
    let asked = Instant::now();
    // If the server has already closed the connection, the read below detects it.
    let _ = timeout(limit, stream.write_all(question)).await.ok()?;
    let mut answer = [0; 4_096];
    let mut bytes = 0;
    let mut took = None;
    let mut until = asked + limit;
    while let Ok(read) = timeout(until.saturating_duration_since(Instant::now()), stream.read(&mut answer)).await {
        let now = Instant::now();
        if took.is_none() {
            until = now + reading;
        }
        took = Some(now - asked);
        match read {
            Ok(0) | Err(_) => break,
            Ok(n) => bytes += n,
        }
    }
    took.map(|took| ProbeFlow { bytes, took })
}

async fn connect(endpoint: SocketAddr) -> Option<TcpStream> {
    let stream = TcpStream::connect(endpoint).await.ok()?;
    stream.set_nodelay(true).ok()?;
    Some(stream)
}

/// None: the connection was closed.
async fn question_on(stream: &mut TcpStream, question: &[u8]) -> Option<(Duration, usize)> {
    let asked = Instant::now();
    stream.write_all(question).await.ok()?;
    let mut answer = [0; 512];
    match stream.read(&mut answer).await {
        Ok(0) | Err(_) => None,
        Ok(n) => Some((asked.elapsed(), n)),
    }
}
