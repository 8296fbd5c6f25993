//! One Redis server: a guarded process with its log, which can be killed, stopped and started again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;
use tokio::time::timeout;

use super::error::RedisGroupError;
use crate::files::workdir::ChildNotes;
use crate::process::guarded::{StartFailure, start_server};
use crate::process::procfs::process_state;

const LOG_FILE: &str = "redis.log";
const LOG_TAIL_LINES: usize = 10;
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// How long a signal may take to show in the state of a process, and the pause between two looks.
const STOPPED_WITHIN: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// What every server of a group is started with.
pub(super) struct RedisLauncher {
    /// This program, which guards the servers.
    pub(super) exe: PathBuf,
    /// `redis-server`.
    pub(super) program: PathBuf,
    pub(super) children: ChildNotes,
    pub(super) min_replicas_to_write: u16,
    pub(super) min_replicas_max_lag_s: u16,
}

pub(super) struct RedisProcess {
    number: u16,
    port: u16,
    folder: PathBuf,
    child: Child,
}

impl RedisProcess {
    /// Starts server `number` in its folder; `master` is the port of the one that it follows.
    pub(super) fn spawn(
        (number, port): (u16, u16),
        folder: PathBuf,
        launcher: &RedisLauncher,
        master: Option<u16>,
    ) -> Result<Self, RedisGroupError> {
        std::fs::create_dir_all(&folder).map_err(io("make the folder", &folder))?;
        let child = launcher.launch(&folder, port, master)?;
        Ok(Self { number, port, folder, child })
    }

    /// Why it does not run, if it does not.
    pub(super) fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(format!("it ended with {status}")),
            Err(error) => Some(format!("its state is unknown: {error}")),
        }
    }

    /// The last lines of its log, indented.
    pub(super) fn log_tail(&self) -> String {
        let text = std::fs::read(self.folder.join(LOG_FILE)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LOG_TAIL_LINES)..];
        last.iter().map(|line| format!("  {line}\n")).collect()
    }

    /// Kills it, and waits until it is gone.
    pub(super) async fn kill(&mut self) -> Result<(), RedisGroupError> {
        // An error means that it has ended already.
        let _ = self.child.start_kill();
        match timeout(GONE_WITHIN, self.child.wait()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(self.cannot("killed", format!("it is still there after {GONE_WITHIN:?}"))),
        }
    }

    /// Starts it again after it has ended, as a master, with the data that it had written.
    pub(super) fn start(&mut self, launcher: &RedisLauncher) -> Result<(), RedisGroupError> {
        if self.ended().is_none() {
            return Err(self.cannot("started", "it runs still"));
        }
        self.child = launcher.launch(&self.folder, self.port, None)?;
        Ok(())
    }

    /// Stops its process, or lets it go on, and waits until that shows.
    pub(super) async fn stop_or_go(&mut self, stop: bool) -> Result<(), RedisGroupError> {
        let (what, signal) = if stop { ("stopped", Signal::STOP) } else { ("continued", Signal::CONT) };
        if let Some(why) = self.ended() {
            return Err(self.cannot(what, why));
        }
        let pid = self.child.id().ok_or_else(|| self.cannot(what, "it has ended"))?;
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let raw = raw.ok_or_else(|| self.cannot(what, format!("{pid} is no pid")))?;
        // Its end was not seen yet, so the pid is still its own.
        kill_process(raw, signal).map_err(|error| self.cannot(what, error))?;
        let shows = async {
            while (process_state(pid) == Some('T')) != stop {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        timeout(STOPPED_WITHIN, shows).await.map_err(|_| self.cannot(what, "its state does not show it"))
    }

    fn cannot(&self, what: &'static str, why: impl ToString) -> RedisGroupError {
        RedisGroupError::Control { server: self.number, what, why: why.to_string() }
    }
}

impl RedisLauncher {
    fn launch(&self, folder: &Path, port: u16, master: Option<u16>) -> Result<Child, RedisGroupError> {
        let server = (&*self.program, &self.arguments(port, master)[..]);
        let child = start_server(&self.exe, server, folder, LOG_FILE);
        let child = child.map_err(|StartFailure { what, path, source }| RedisGroupError::Io { what, path, source })?;
        if let Some(pid) = child.id() {
            self.children.add(pid).map_err(io("note a child of", folder))?;
        }
        Ok(child)
    }

    fn arguments(&self, port: u16, master: Option<u16>) -> Vec<String> {
        let mut settings = vec![
            ("port", port.to_string()),
            ("bind", "127.0.0.1".to_owned()),
            ("daemonize", "no".to_owned()),
            ("save", String::new()),
            // What it acknowledged is there again after a kill, but for what the kernel had not got yet.
            ("appendonly", "yes".to_owned()),
            ("appendfsync", "no".to_owned()),
            // A copy for a new replica begins at once.
            ("repl-diskless-sync-delay", "0".to_owned()),
            ("min-replicas-to-write", self.min_replicas_to_write.to_string()),
            ("min-replicas-max-lag", self.min_replicas_max_lag_s.to_string()),
        ];
        settings.extend(master.map(|master| ("replicaof", format!("127.0.0.1 {master}"))));
        settings.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]).collect()
    }
}

pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> RedisGroupError {
    let path = path.to_owned();
    move |source| RedisGroupError::Io { what, path, source }
}
