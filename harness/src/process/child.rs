//! Child processes, which end with this process, even when it is killed.

use std::io;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Secrets are passed to a child process through the environment, which other users of the machine cannot read.
pub(crate) const SECRET_VARIABLE: &str = "HUSTINGS_HOST_SECRET";

/// Asks the kernel to kill this process when its parent dies. `parent` is the pid that the parent passed. If the parent
/// has already ended, this returns an error, and the caller must exit.
///
/// The kernel monitors the parent *thread*: start children from a thread that lives as long as the process.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let own = getppid().map(Pid::as_raw_pid);
    if own == i32::try_from(parent).ok() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the parent of this process is process {}, and not {parent}: that one has ended, or did not start this process",
        own.unwrap_or_default()
    )))
}
