//! One local server: a guarded JVM with its log, which can be killed, stopped and started again.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;
use tokio::time::timeout;

use super::super::EnsembleError;
use super::super::server_options::collector;
use super::log::{self, LOG_FILE};
use super::{Install, LocalOptions, config};
use crate::files::workdir::ChildNotes;
use crate::process::guarded::{StartFailure, start_server};
use crate::process::procfs::process_state;

const MAIN_CLASS: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
/// A killed JVM with a large heap takes a moment to give it back.
pub(super) const GONE_WITHIN: Duration = Duration::from_secs(10);

/// What every JVM of an ensemble is started with.
#[derive(Debug)]
pub(super) struct Launcher {
    pub(super) options: LocalOptions,
    pub(super) install: Install,
    /// Where each is noted.
    pub(super) children: ChildNotes,
}

#[derive(Debug)]
pub(super) struct ServerProcess {
    pub(super) id: u32,
    pub(super) addr: SocketAddr,
    folder: PathBuf,
    child: Child,
    /// A fault has killed it: that it is dead is as it should be.
    killed: bool,
    /// A fault has stopped it.
    paused: bool,
}

impl ServerProcess {
    /// Starts the JVM of server `id`, whose configuration is in `folder`.
    pub(super) fn spawn(
        id: u32,
        client_port: u16,
        folder: PathBuf,
        launcher: &Launcher,
    ) -> Result<Self, EnsembleError> {
        let child = launcher.launch(&folder)?;
        Ok(Self { id, addr: (Ipv4Addr::LOCALHOST, client_port).into(), folder, child, killed: false, paused: false })
    }

    /// None: it has ended, and that was seen.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    pub(super) fn log_path(&self) -> PathBuf {
        self.folder.join(LOG_FILE)
    }

    pub(super) fn check_alive(&mut self) -> Result<(), EnsembleError> {
        if self.killed {
            return Ok(());
        }
        let status = match self.child.try_wait() {
            Ok(None) => return Ok(()),
            Ok(Some(status)) => status.to_string(),
            Err(e) => format!("its state is unknown: {e}"),
        };
        Err(EnsembleError::Died { server: self.id, status, log: self.log_tail() })
    }

    /// Whether somebody else has stopped it.
    pub(super) fn is_idle(&self) -> bool {
        !self.killed && !self.paused && self.pid().and_then(process_state) == Some('T')
    }

    /// How it has ended, if it has.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, EnsembleError> {
        self.child.try_wait().map_err(|e| self.cannot("watched", e))
    }

    /// Sends SIGKILL, on purpose. Gives the pid; that it has gone shows by [`Self::ended`].
    pub(super) fn kill(&mut self) -> Result<u32, EnsembleError> {
        let pid = self.living("killed")?;
        self.child.start_kill().map_err(|e| self.cannot("killed", e))?;
        (self.killed, self.paused) = (true, false);
        Ok(pid)
    }

    /// Starts it again after a kill, on request without its data. Gives the pid.
    pub(super) fn start(&mut self, launcher: &Launcher, empty: bool) -> Result<u32, EnsembleError> {
        let status = self.ended()?.ok_or_else(|| self.cannot("started", "it runs still"))?;
        if !self.killed {
            return Err(self.cannot("started", format!("it was not killed but has died by itself ({status})")));
        }
        if empty {
            config::empty(&self.folder, self.id)?;
        }
        self.child = launcher.launch(&self.folder)?;
        self.killed = false;
        self.child.id().ok_or_else(|| self.cannot("started", "it ended at once"))
    }

    /// Sends SIGSTOP, or SIGCONT to one that is or was to be stopped. Gives the pid; the effect shows by its state.
    pub(super) fn stop_or_go(&mut self, stop: bool) -> Result<u32, EnsembleError> {
        let (what, signal) = if stop { ("paused", Signal::STOP) } else { ("resumed", Signal::CONT) };
        let pid = self.living(what)?;
        let is_stopped = process_state(pid) == Some('T');
        if stop && is_stopped {
            return Err(self.cannot(what, "it is stopped already").in_effect());
        }
        if !stop && !is_stopped && !self.paused {
            return Err(self.cannot(what, "it is not stopped").in_effect());
        }
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let raw = raw.ok_or_else(|| self.cannot(what, format!("{pid} is no pid")))?;
        // Its end was not seen yet, so the pid is still its own.
        kill_process(raw, signal).map_err(|e| self.cannot(what, e))?;
        self.paused = stop;
        if !stop && !is_stopped {
            // SIGCONT also discards a SIGSTOP that has not taken effect.
            return Err(self.cannot(what, "it was to be stopped, and did not stop or was continued before"));
        }
        Ok(pid)
    }

    /// The pid of one that lives.
    fn living(&mut self, what: &'static str) -> Result<u32, EnsembleError> {
        if let Some(status) = self.ended()? {
            return Err(self.cannot(what, format!("it is dead ({status})")));
        }
        if self.killed {
            return Err(self.cannot(what, "it is being killed"));
        }
        self.child.id().ok_or_else(|| self.cannot(what, "it is dead"))
    }

    pub(super) fn cannot(&self, what: &'static str, why: impl ToString) -> EnsembleError {
        EnsembleError::Control { server: self.id, what, why: why.to_string() }
    }

    /// Kills the JVM and waits until it is gone. There is nothing to save: its data goes too, and a kill also ends one
    /// that is stopped or busy.
    pub(super) async fn stop(&mut self) -> Result<(), EnsembleError> {
        // An error means that it has ended already.
        let _ = self.child.start_kill();
        let gone = timeout(GONE_WITHIN, self.child.wait()).await;
        gone.map(|_| ()).map_err(|_| EnsembleError::WillNotStop { server: self.id, within: GONE_WITHIN })
    }

    /// The last lines of its log, indented.
    pub(super) fn log_tail(&self) -> String {
        log::read_tail(&self.log_path()).unwrap_or_default()
    }
}

impl Launcher {
    /// Starts the JVM whose configuration is in `folder`, and notes it.
    fn launch(&self, folder: &Path) -> Result<Child, EnsembleError> {
        let arguments = jvm_arguments(folder, &self.options, &self.install);
        let child = start_server(&self.options.exe, (&self.install.java, &arguments), folder, LOG_FILE);
        let child = child.map_err(|StartFailure { what, path, source }| EnsembleError::Io { what, path, source })?;
        if let Some(pid) = child.id() {
            self.children.add(pid).map_err(|source| EnsembleError::Io {
                what: "note a child of",
                path: folder.to_owned(),
                source,
            })?;
        }
        Ok(child)
    }
}

fn jvm_arguments(folder: &Path, options: &LocalOptions, install: &Install) -> Vec<String> {
    // `conf` comes first: each logging library finds its configuration there.
    let class_path: Vec<String> =
        [folder.join("conf")].iter().chain(&install.jars).map(|path| path.display().to_string()).collect();
    let mut arguments = vec![format!("-Xmx{}m", options.servers.heap_mb)];
    // Limiting the compiler (TieredStopAtLevel=1) would start no faster to speak of and slow the server for good, and
    // sharing class data is the JVM's default: neither is set.
    arguments.extend(collector(options.servers.heap_mb).map(ToOwned::to_owned));
    arguments.extend([
        // Its memory-mapped file stays behind after a kill, and writing to it can stall the JVM on a busy disk.
        "-XX:-UsePerfData".to_owned(),
        // A server out of memory ends, instead of answering now and then.
        "-XX:+ExitOnOutOfMemoryError".to_owned(),
        format!("-XX:ErrorFile={}", folder.join("jvm-crash.log").display()),
        format!("-Djava.io.tmpdir={}", folder.join("tmp").display()),
        "-Djava.net.preferIPv4Stack=true".to_owned(),
        // Of the times in its log.
        "-Duser.timezone=UTC".to_owned(),
        "-Dzookeeper.jmx.log4j.disable=true".to_owned(),
        "-cp".to_owned(),
        class_path.join(":"),
        MAIN_CLASS.to_owned(),
        folder.join("zoo.cfg").display().to_string(),
    ]);
    arguments
}
