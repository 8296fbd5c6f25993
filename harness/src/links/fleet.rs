//! The embedded proxy's processes. They ignore the terminal's Ctrl-C, because links must outlive it to be healed. They
//! end with the thread that started them.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;

use super::error::LinkError;
use crate::access::{AUTH_VARIABLE, SASL_VARIABLE};
use crate::process::limits::explained;
use crate::process::procfs::process_state;
use crate::recording::archive::AddSegment;
use crate::sidecar::{LinkHosts, SidecarOrder, SidecarOutcome};

const START_LIMIT: Duration = Duration::from_secs(10);
/// Orders are executed at once, unless the machine stalls.
const ORDER_LIMIT: Duration = Duration::from_secs(5);
const LINE_BYTES_MAX: usize = 1024;

/// Kills its processes when dropped.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    children: Vec<Child>,
    /// For each process, the pipe for orders and the pipe for answers.
    pipes: Vec<(ChildStdin, ChildStdout)>,
}

#[derive(Deserialize)]
struct ListeningProxy {
    api: SocketAddr,
}

impl Fleet {
    /// Starts this many processes and waits until each serves its API. The calling thread must live as long as the
    /// processes are needed.
    pub(super) fn start(exe: &Path, processes: usize, lie: bool) -> Result<(Self, Vec<SocketAddr>), LinkError> {
        let failed = |why: String| LinkError::Start { exe: exe.display().to_string(), why };
        let mut fleet = Self::default();
        for _ in 0..processes.max(1) {
            let child = command(exe, lie).spawn().map_err(|e| failed(explained(e).to_string()))?;
            fleet.children.push(child);
        }
        let mut apis = Vec::new();
        for child in &mut fleet.children {
            let pipes = child.stdin.take().zip(child.stdout.take());
            let (orders, mut out) = pipes.ok_or_else(|| failed("it has no standard streams".to_owned()))?;
            let line = first_line(&mut out, Instant::now() + START_LIMIT).map_err(|e| failed(e.to_string()))?;
            let ready: ListeningProxy = serde_json::from_slice(&line)
                .map_err(|e| failed(format!("it said '{}': {e}", String::from_utf8_lossy(&line))))?;
            apis.push(ready.api);
            fleet.pipes.push((orders, out));
        }
        Ok((fleet, apis))
    }

    /// Every process records its own stalls in its own segment. `segment` returns the segment of a writer. With
    /// `witnessed`, the processes also record the traffic of those clients.
    pub(super) fn begin_cell(
        &mut self,
        name: &str,
        cell: u32,
        segment: AddSegment<'_>,
        witnessed: Option<&LinkHosts>,
    ) -> anyhow::Result<()> {
        let writers: Vec<String> = (0..self.count()).map(|place| writer(name, place)).collect();
        let segments = writers.iter().map(|writer| segment(writer)).collect::<anyhow::Result<Vec<_>>>()?;
        let begin = |place: usize| SidecarOrder::Begin {
            cell,
            writer: writers[place].clone(),
            segment: segments[place].clone(),
            witnessed: witnessed.cloned(),
        };
        self.order(begin).context("a link proxy cannot write down its own stalls")
    }

    /// Ends these segments.
    pub(super) fn end_cell(&mut self) -> anyhow::Result<()> {
        self.order(|_| SidecarOrder::End).context("a link proxy did not end its segment")
    }

    /// Sends each process its order, and waits until it is executed.
    fn order(&mut self, mut order: impl FnMut(usize) -> SidecarOrder) -> io::Result<()> {
        for (place, (orders, out)) in self.pipes.iter_mut().enumerate() {
            let mut line = serde_json::to_vec(&order(place))?;
            line.push(b'\n');
            orders.write_all(&line)?;
            let answer = first_line(out, Instant::now() + ORDER_LIMIT)?;
            if let Some(why) = serde_json::from_slice::<SidecarOutcome>(&answer)?.failed {
                return Err(io::Error::other(format!("link proxy {place}: {why}")));
            }
        }
        Ok(())
    }

    /// The names, as in [`Self::begin_cell`], of the processes that are stopped.
    ///
    /// # Errors
    /// A process has ended.
    pub(super) fn check_alive(&mut self, name: &str) -> Result<Vec<String>, LinkError> {
        let mut idle = Vec::new();
        for (place, child) in self.children.iter_mut().enumerate() {
            let who = writer(name, place);
            match child.try_wait() {
                Ok(None) if process_state(child.id()) == Some('T') => idle.push(who),
                Ok(None) => {}
                Ok(Some(status)) => return Err(LinkError::Died { who, status: status.to_string() }),
                Err(error) => return Err(LinkError::Died { who, status: format!("its state is unknown: {error}") }),
            }
        }
        Ok(idle)
    }

    /// Kills the process of this name, as in [`Self::begin_cell`], if it belongs to the fleet.
    pub(super) fn kill(&mut self, name: &str, who: &str) {
        for (place, child) in self.children.iter_mut().enumerate() {
            if writer(name, place) == who {
                // A process that has already ended is no error.
                let _ = child.kill();
            }
        }
    }

    /// Number of processes.
    fn count(&self) -> usize {
        self.children.len()
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in &mut self.children {
            // A process that has already ended is no error.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Name of a process's segment.
fn writer(name: &str, place: usize) -> String {
    format!("{name}-{place}")
}

fn command(exe: &Path, lie: bool) -> Command {
    let mut command = Command::new(exe);
    command.args(["proxy", "--listen", "127.0.0.1:0", "--die-with-parent", &std::process::id().to_string()]);
    if lie {
        command.arg("--lie");
    }
    command.env_remove(AUTH_VARIABLE).env_remove(SASL_VARIABLE);
    command.arg("--record").stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    command
}

fn first_line(out: &mut ChildStdout, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut buffer = [0; 256];
    while line.len() < LINE_BYTES_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        if poll(&mut [PollFd::new(out, PollFlags::IN)], Some(&wait))? == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("it was not ready within {START_LIMIT:?}")));
        }
        let n = out.read(&mut buffer)?;
        if n == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ended at once; its standard error says why"));
        }
        line.extend_from_slice(buffer.get(..n).unwrap_or_default());
        if let Some(end) = line.iter().position(|b| *b == b'\n') {
            line.truncate(end);
            return Ok(line);
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "its first line is too long"))
}
