//! One local server: a guarded JVM with its log.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::super::EnsembleError;
use super::{Install, LocalOptions};
use crate::workdir::WorkDir;

const LOG_FILE: &str = "server.log";
const MAIN_CLASS: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
/// How much of a log's end goes into an error.
const TAIL_LINES: usize = 15;
const TAIL_BYTES: u64 = 16 << 10;
/// A killed JVM with a large heap takes a moment to give it back.
const GONE_WITHIN: Duration = Duration::from_secs(10);
/// Up to this heap the serial collector is used.
const SERIAL_HEAP_MB_MAX: u32 = 512;

#[derive(Debug)]
pub(super) struct ServerProcess {
    pub(super) id: u32,
    pub(super) addr: SocketAddr,
    folder: PathBuf,
    child: Child,
}

impl ServerProcess {
    /// Starts the JVM of server `id`, whose configuration is in `folder`.
    pub(super) fn spawn(
        id: u32,
        client_port: u16,
        folder: PathBuf,
        options: &LocalOptions,
        install: &Install,
        work: &WorkDir,
    ) -> Result<Self, EnsembleError> {
        let log_path = folder.join(LOG_FILE);
        let log = OpenOptions::new().create(true).append(true).open(&log_path);
        let both = log.and_then(|log| Ok((log.try_clone()?, log)));
        let (out, err) = both.map_err(|source| EnsembleError::Io { what: "open", path: log_path, source })?;
        // The child's folder is another one: a relative path would mean another file there.
        let exe = std::path::absolute(&options.exe).unwrap_or_else(|_| options.exe.clone());
        let mut command = Command::new(&exe);
        command
            .args(["guard", "--parent", &std::process::id().to_string(), "--"])
            .arg(&install.java)
            .args(jvm_arguments(&folder, options, install))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .current_dir(&folder)
            // A Ctrl-C at the terminal is for the harness, which then stops its servers in order.
            .process_group(0)
            .kill_on_drop(true);
        let start = |source| EnsembleError::Io { what: "start", path: exe.clone(), source };
        let child = command.spawn().map_err(start)?;
        if let Some(pid) = child.id() {
            work.note_child(pid).map_err(|source| EnsembleError::Io {
                what: "note a child in",
                path: work.path().to_owned(),
                source,
            })?;
        }
        Ok(Self { id, addr: (Ipv4Addr::LOCALHOST, client_port).into(), folder, child })
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    pub(super) fn check_alive(&mut self) -> Result<(), EnsembleError> {
        let status = match self.child.try_wait() {
            Ok(None) => return Ok(()),
            Ok(Some(status)) => status.to_string(),
            Err(e) => format!("its state is unknown: {e}"),
        };
        Err(EnsembleError::Died { server: self.id, status, log: self.log_tail() })
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
        read_tail(&self.folder.join(LOG_FILE)).unwrap_or_default()
    }
}

fn jvm_arguments(folder: &Path, options: &LocalOptions, install: &Install) -> Vec<String> {
    // `conf` comes first: each logging library finds its configuration there.
    let class_path: Vec<String> =
        [folder.join("conf")].iter().chain(&install.jars).map(|path| path.display().to_string()).collect();
    let mut arguments = vec![format!("-Xmx{}m", options.heap_mb)];
    // Several collectors with threads of their own take a small machine's cores from the candidates; with a small heap
    // the serial one pauses for a few milliseconds only. With a large heap its full collections would show: there the
    // JVM chooses. Limiting the compiler (TieredStopAtLevel=1) would start no faster to speak of and slow the server
    // for good, and sharing class data is the JVM's default: neither is set.
    if options.heap_mb <= SERIAL_HEAP_MB_MAX {
        arguments.push("-XX:+UseSerialGC".to_owned());
    }
    arguments.extend([
        // Its memory-mapped file stays behind after a kill, and writing to it can stall the JVM on a busy disk.
        "-XX:-UsePerfData".to_owned(),
        // A server out of memory ends, instead of answering now and then.
        "-XX:+ExitOnOutOfMemoryError".to_owned(),
        format!("-XX:ErrorFile={}", folder.join("jvm-crash.log").display()),
        format!("-Djava.io.tmpdir={}", folder.join("tmp").display()),
        "-Djava.net.preferIPv4Stack=true".to_owned(),
        "-Dzookeeper.jmx.log4j.disable=true".to_owned(),
        "-cp".to_owned(),
        class_path.join(":"),
        MAIN_CLASS.to_owned(),
        folder.join("zoo.cfg").display().to_string(),
    ]);
    arguments
}

fn read_tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    Ok(last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"))
}
