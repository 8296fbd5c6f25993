//! Java and ZooKeeper, which the local ensemble needs.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::{CheckFinding, Context};
use crate::ensemble::EnsembleError;
use crate::ensemble::local::Install;

/// Limit for `java -version`, and the polling interval.
const VERSION_WITHIN: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);

const INSTALL: &str = "run ci/setup.sh";

pub(super) fn java(context: &Context) -> CheckFinding {
    let java = match context.places.java() {
        Ok(java) => java,
        Err(e) => return lacks(&e),
    };
    match version(&java) {
        Ok(version) => CheckFinding::ok(format!("{} ({version})", java.display())),
        Err(why) => CheckFinding::failed(
            format!("{} does not tell its version: {why}", java.display()),
            format!("{INSTALL}, or set JAVA_HOME to a Java runtime that works"),
        ),
    }
}

pub(super) fn zookeeper(context: &Context) -> CheckFinding {
    match Install::find(&context.places) {
        Ok(install) => {
            let version = install.version.as_deref().unwrap_or("of unknown version");
            CheckFinding::ok(format!("{version}, {} ({} jars)", install.describe(), install.jars.len()))
        }
        Err(e @ EnsembleError::NoJava { .. }) => CheckFinding::warning("not looked for, without Java", remedy(&e)),
        Err(e) => lacks(&e),
    }
}

/// Without real servers, runs use embedded ones, unless others were configured. The ensemble's errors end in their
/// remedy, after a semicolon.
fn lacks(error: &EnsembleError) -> CheckFinding {
    let text = error.to_string();
    let found = text.rsplit_once("; ").map_or(text.as_str(), |(found, _)| found);
    match error {
        EnsembleError::NoJava { .. } | EnsembleError::NoZooKeeper { .. } => {
            CheckFinding::warning(format!("{found}; without Docker, runs get embedded servers"), remedy(error))
        }
        _ => CheckFinding::failed(found, remedy(error)),
    }
}

fn remedy(error: &EnsembleError) -> String {
    error.to_string().rsplit_once("; ").map_or(INSTALL.to_owned(), |(_, remedy)| remedy.to_owned())
}

/// First line of `java -version`, which goes to standard error.
fn version(java: &Path) -> Result<String, String> {
    let mut command = Command::new(java);
    command.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    for _ in 0..VERSION_WITHIN.as_millis() / POLL.as_millis() {
        match child.try_wait() {
            Ok(None) => thread::sleep(POLL),
            Ok(Some(status)) => {
                // The output is a few lines and fits the pipe.
                let mut text = String::new();
                if let Some(stderr) = child.stderr.take() {
                    stderr.take(4096).read_to_string(&mut text).map_err(|e| e.to_string())?;
                }
                let first = text.lines().find(|line| line.contains("version")).map(|line| line.trim().to_owned());
                return first.filter(|_| status.success()).ok_or_else(|| format!("{status}: {}", text.trim()));
            }
            Err(e) => return Err(e.to_string()),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("no answer within {} s", VERSION_WITHIN.as_secs()))
}
