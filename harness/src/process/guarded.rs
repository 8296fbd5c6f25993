//! Servers as child processes: each ends with this process, even if that is killed, and writes to a log in its own folder.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::process::limits::explained;

/// Why a server could not be started: what failed, on which file.
pub(crate) struct StartFailure {
    pub(crate) what: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

/// Starts a program under `hustings guard`, which is in `exe`, in a folder with its log.
pub(crate) fn start_server(
    exe: &Path,
    (program, arguments): (&Path, &[String]),
    folder: &Path,
    log_file: &str,
) -> Result<Child, StartFailure> {
    let log_path = folder.join(log_file);
    let log = OpenOptions::new().create(true).append(true).open(&log_path);
    let both = log.and_then(|log| Ok((log.try_clone()?, log)));
    let (out, err) = both.map_err(|source| StartFailure { what: "open", path: log_path, source })?;
    // The child's folder is another one: a relative path would mean another file there.
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let exe = absolute(exe);
    let mut command = Command::new(&exe);
    command
        .args(["guard", "--parent", &std::process::id().to_string(), "--"])
        .arg(absolute(program))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .current_dir(folder)
        // A Ctrl-C at the terminal is for the harness, which then stops its servers in order.
        .process_group(0)
        .kill_on_drop(true);
    command.spawn().map_err(explained).map_err(|source| StartFailure { what: "start", path: exe, source })
}
