//! Host processes from the coordinator's side: start, messages, stop and reaping.

use std::cell::Cell as StdCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use hustings_record::Nanos;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::{spawn_blocking, spawn_local};
use tokio::time::Instant;

use crate::access::{AUTH_VARIABLE, SASL_VARIABLE};
use crate::process::child::SECRET_VARIABLE;
use crate::process::clock;
use crate::process::limits::explained;
use crate::process::procfs::{ProcessId, RUN_VARIABLE};
use crate::protocol::{FromHost, HostSetUp, Receiver, Sender, ToHost, split};

/// A host that has not said hello by then is considered failed.
const HELLO_AT_MOST: Duration = Duration::from_secs(20);
/// A killed process ends well within this.
const GONE_AT_MOST: Duration = Duration::from_secs(5);
const INBOX_MAX: usize = 1 << 18;

/// Where hosts report to, and the executable that starts them.
pub struct HostFactory {
    exe: PathBuf,
    listener: TcpListener,
    address: SocketAddr,
    secret: String,
    /// Identifies the run in the environments of hosts and their programs. None: not by such a mark.
    run_mark: Option<String>,
    /// One start at a time: the task that accepts receives every reporting host, its own or not.
    starting: Mutex<()>,
}

/// A message and its sender. None: the connection has ended.
pub struct HostMessage {
    pub host: u16,
    pub generation: u32,
    pub message: Option<FromHost>,
}

/// One running host process.
pub struct HostProcess {
    pub host: u16,
    pub generation: u32,
    pub pid: u32,
    /// The external program that runs these candidates, if any: faults hit that process.
    acts: StdCell<Option<ProcessId>>,
    child: Child,
    outgoing: mpsc::Sender<ToHost>,
}

/// The receiving end of all hosts of a cell.
pub struct Inbox {
    pub sender: mpsc::Sender<HostMessage>,
    pub receiver: mpsc::Receiver<HostMessage>,
}

impl Inbox {
    #[must_use]
    pub fn new() -> Self {
        let (sender, receiver) = mpsc::channel(INBOX_MAX);
        Self { sender, receiver }
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl HostFactory {
    /// Listens for hosts on this machine's loopback. Only a connection that knows the secret counts as a host.
    ///
    /// # Errors
    /// There is no port.
    pub async fn new(exe: &Path, secret: String) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the hosts to report to")?;
        let address = listener.local_addr()?;
        Ok(Self { exe: exe.to_owned(), listener, address, secret, run_mark: None, starting: Mutex::new(()) })
    }

    /// Marks hosts and their programs as processes of this run, for `hustings clean`.
    #[must_use]
    pub fn of_run(self, mark: &str) -> Self {
        Self { run_mark: Some(mark.to_owned()), ..self }
    }

    /// Starts hosts (number, count of earlier processes, set-up) and waits until each has its set-up.
    ///
    /// # Errors
    /// One cannot be started, or does not report in time.
    pub async fn start(
        &self,
        wanted: Vec<(u16, u32, HostSetUp)>,
        inbox: &mpsc::Sender<HostMessage>,
    ) -> anyhow::Result<Vec<HostProcess>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let _turn = self.starting.lock().await;
        let mut starting = BTreeMap::new();
        for (host, generation, set_up) in wanted {
            let child = self.spawn(host, generation)?;
            starting.insert((host, generation), (child, set_up));
        }
        let mut started = Vec::new();
        // One deadline for all: connections of strangers must not extend it.
        let until = Instant::now() + HELLO_AT_MOST;
        while !starting.is_empty() {
            let hello = match tokio::time::timeout_at(until, self.accept_one()).await {
                Ok(hello) => hello?,
                Err(_) => bail!(
                    "{} host processes did not report within {HELLO_AT_MOST:?}; their errors are above, or this machine is \
                     too busy: end other processes, or use fewer hosts (--set election.hosts=…)",
                    starting.len()
                ),
            };
            let Some((host, generation, sender, receiver)) = hello else { continue };
            let Some((child, set_up)) = starting.remove(&(host, generation)) else { continue };
            started.push(introduce(host, generation, child, set_up, sender, receiver, inbox.clone())?);
        }
        started.sort_by_key(|process: &HostProcess| process.host);
        Ok(started)
    }

    // The kernel ties a child's death to the thread that started it. This runtime is single-threaded, and its thread
    // lives as long as the process.
    fn spawn(&self, host: u16, generation: u32) -> anyhow::Result<Child> {
        let mut command = Command::new(&self.exe);
        command
            .args(["host", "--coordinator", &self.address.to_string()])
            .args(["--host", &host.to_string(), "--generation", &generation.to_string()])
            .args(["--parent", &std::process::id().to_string()])
            .env(SECRET_VARIABLE, &self.secret)
            .envs(self.run_mark.iter().map(|mark| (RUN_VARIABLE, mark)))
            // A host gets its credentials with its set-up.
            .env_remove(AUTH_VARIABLE)
            .env_remove(SASL_VARIABLE)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            // Ctrl-C on the terminal goes to the coordinator, which stops hosts in order.
            .process_group(0);
        let started = command.spawn().map_err(explained);
        started.with_context(|| format!("a host process cannot be started from {}", self.exe.display()))
    }

    /// Accepts one connection that knows the secret; None for any other.
    async fn accept_one(&self) -> anyhow::Result<Option<(u16, u32, Sender, Receiver)>> {
        let (stream, _) = self.listener.accept().await?;
        let (sender, mut receiver) = split(stream)?;
        let hello = tokio::time::timeout(Duration::from_secs(2), receiver.next()).await;
        match hello {
            Ok(Ok(Some(FromHost::Hello { secret, host, generation, .. }))) if secret == self.secret => {
                Ok(Some((host, generation, sender, receiver)))
            }
            _ => Ok(None),
        }
    }
}

fn introduce(
    host: u16,
    generation: u32,
    child: Child,
    set_up: HostSetUp,
    mut sender: Sender,
    mut receiver: Receiver,
    inbox: mpsc::Sender<HostMessage>,
) -> anyhow::Result<HostProcess> {
    let pid = child.id().context("the host process ended before its set-up")?;
    let (outgoing, mut queue) = mpsc::channel(INBOX_MAX);
    let (shutdown, said) = oneshot::channel::<()>();
    spawn_local(async move {
        let speak = async {
            let mut sent = sender.send(&ToHost::SetUp(Box::new(set_up))).await;
            while sent.is_ok() {
                let Some(message) = queue.recv().await else { return };
                sent = sender.send(&message).await;
            }
        };
        // A host that has reported its shutdown ends when its connection closes, so this task closes it.
        tokio::select! {
            () = speak => {}
            _ = said => {}
        }
    });
    spawn_local(async move {
        // Kept until the connection ends: dropping it closes the connection.
        let mut shutdown = Some(shutdown);
        loop {
            let message = receiver.next().await.unwrap_or_else(|error| {
                tracing::warn!(host, generation, %error, "a host said what cannot be read");
                None
            });
            let over = message.is_none();
            if matches!(message, Some(FromHost::Bye { .. })) {
                shutdown.take();
            }
            if inbox.send(HostMessage { host, generation, message }).await.is_err() || over {
                return;
            }
        }
    });
    Ok(HostProcess { host, generation, pid, acts: StdCell::new(None), child, outgoing })
}

impl HostProcess {
    /// Queues a message. A stopped or ended host may never read it.
    pub fn tell(&self, message: ToHost) {
        if self.outgoing.try_send(message).is_err() {
            tracing::debug!(host = self.host, "a message to a host was not taken");
        }
    }

    /// Notes the process that acts for the host, as the host reported it.
    pub(super) fn is_acted_for_by(&self, pid: Option<u32>) {
        self.acts.set(pid.and_then(ProcessId::of));
    }

    /// The process that faults hit, and whose memory is measured.
    pub(super) fn victim(&self) -> u32 {
        self.acts.get().map_or(self.pid, |acts| acts.pid)
    }

    /// The program that acts for the host, if any.
    pub(super) fn program(&self) -> Option<ProcessId> {
        self.acts.get()
    }

    /// Sends a signal to the host process, or to the process group of the program that acts for it.
    pub(super) fn signal(&self, signal: Signal) -> std::io::Result<()> {
        let gone = || std::io::Error::other("no such process");
        let raw = |pid: u32| i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone);
        match self.acts.get() {
            None => Ok(kill_process(raw(self.pid)?, signal)?),
            Some(acts) if acts.is_alive() => Ok(kill_process_group(raw(acts.pid)?, signal)?),
            Some(_) => Err(gone()),
        }
    }

    /// Kills the process and any process that acts for it, and waits until the kernel reports their end. That takes
    /// long if the kernel waits for a disk. Also returns when the signals were delivered: none of their code runs after
    /// that.
    ///
    /// # Errors
    /// The kernel does not report the end.
    pub async fn kill(&mut self) -> std::io::Result<(ExitStatus, Nanos)> {
        // First the host process, which would report the other's end.
        self.child.start_kill()?;
        // Its children die with it; this signal is for their descendants.
        let _ = self.signal(Signal::KILL);
        let delivered = clock::now();
        // This also kills descendants in process groups of their own. The search takes milliseconds that must not count
        // as the fault's.
        self.acts.get().map(|acts| spawn_blocking(move || acts.kill_descendants()));
        let status = self.child.wait().await?;
        let Some(acts) = self.acts.get() else { return Ok((status, delivered)) };
        let until = Instant::now() + GONE_AT_MOST;
        while acts.is_alive() {
            if Instant::now() > until {
                return Err(std::io::Error::other(format!("process {} was killed and does not go", acts.pid)));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok((status, delivered))
    }

    /// Waits for the process to end by itself, and kills it after `at_most`. True: it was killed.
    ///
    /// # Errors
    /// As for [`Self::kill`].
    pub async fn wait(&mut self, at_most: Duration) -> std::io::Result<(ExitStatus, bool)> {
        match tokio::time::timeout(at_most, self.child.wait()).await {
            Ok(status) => Ok((status?, false)),
            Err(_) => Ok((self.kill().await?.0, true)),
        }
    }
}

/// Resource usage of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResourceUsage {
    /// Resident memory and its peak in KiB.
    pub(super) rss_kb: u64,
    pub(super) rss_max_kb: u64,
    pub(super) threads: u32,
}

/// Reads the usage. None: the process no longer exists.
#[must_use]
pub(super) fn process_weight(pid: u32) -> Option<ResourceUsage> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let threads = u32::try_from(field("Threads:")?).ok()?;
    Some(ResourceUsage { rss_kb: field("VmRSS:")?, rss_max_kb: field("VmHWM:")?, threads })
}
