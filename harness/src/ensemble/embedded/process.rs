//! The process that serves an embedded ensemble. It ignores the terminal's Ctrl-C and dies with the thread that started it.

use std::io;
use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::options::{EmbeddedError, EmbeddedOptions};
use super::orders::{OUTCOME_BYTES_MAX, OrderOutcome, ServerOrder};
use crate::process::limits::explained;

const STARTS_WITHIN: Duration = Duration::from_secs(10);
const OBEYS_WITHIN: Duration = Duration::from_secs(10);
const GONE_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct EmbeddedProcess {
    child: Child,
    orders: ChildStdin,
    outcomes: BufReader<ChildStdout>,
}

#[derive(Deserialize)]
struct ListeningServers {
    servers: Vec<SocketAddr>,
}

impl EmbeddedProcess {
    /// Starts it, and waits until its servers listen. Returns their addresses.
    pub(super) async fn start(
        options: &EmbeddedOptions,
        sync_limit: u64,
        first_port: u16,
    ) -> Result<(Self, Vec<SocketAddr>), EmbeddedError> {
        let failed = |why: String| EmbeddedError::Start { exe: options.exe.clone(), why };
        let mut command = Command::new(&options.exe);
        command.arg("embedded");
        for (name, value) in [
            ("--servers", u64::from(options.servers.count)),
            ("--tick-ms", options.servers.tick_ms),
            ("--sync-limit", sync_limit),
            ("--first-port", u64::from(first_port)),
            ("--die-with-parent", u64::from(std::process::id())),
        ] {
            command.args([name, &value.to_string()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|e| failed(explained(e).to_string()))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (orders, outcomes) = pipes.ok_or_else(|| failed("it has no standard streams".into()))?;
        let mut process = Self { child, orders, outcomes: BufReader::new(outcomes) };
        let line = timeout(STARTS_WITHIN, process.line()).await;
        let line = line.map_err(|_| failed(format!("it said nothing within {} s", STARTS_WITHIN.as_secs())))?;
        let line = line.map_err(|e| failed(format!("{e}; its standard error says why")))?;
        let ready: ListeningServers = serde_json::from_slice(&line)
            .map_err(|e| failed(format!("it said '{}': {e}", String::from_utf8_lossy(&line).trim())))?;
        Ok((process, ready.servers))
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends an order and waits until it was carried out. After an error, send no further orders to the process.
    pub(super) async fn obey(&mut self, order: &ServerOrder) -> Result<Result<String, String>, io::Error> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        let exchange = async {
            self.orders.write_all(&line).await?;
            self.line().await
        };
        let answer = timeout(OBEYS_WITHIN, exchange).await.map_err(|_| {
            io::Error::new(io::ErrorKind::TimedOut, format!("it did not obey within {} s", OBEYS_WITHIN.as_secs()))
        })??;
        Ok(match serde_json::from_slice(&answer)? {
            OrderOutcome::Seen(seen) => Ok(seen),
            OrderOutcome::Refused(why) => Err(why),
        })
    }

    /// Its exit status, if it has ended.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub(super) async fn stop(&mut self) -> io::Result<()> {
        self.child.start_kill()?;
        timeout(GONE_WITHIN, self.child.wait()).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        Ok(())
    }

    async fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        (&mut self.outcomes).take(OUTCOME_BYTES_MAX).read_until(b'\n', &mut line).await?;
        if line.is_empty() { Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended")) } else { Ok(line) }
    }
}
