//! Children of this process: they die with it, even when it is killed.

use std::io;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// A secret between a process and its child comes by the environment, where other users of the machine cannot read it.
pub(crate) const SECRET_VARIABLE: &str = "HUSTINGS_HOST_SECRET";

/// Asks the kernel to kill this process when its parent dies. `parent` is the pid that the parent gave: when it is gone
/// already, this is an error, and the caller must end.
///
/// The kernel means the parent *thread*: children must be started from a thread that lives as long as the process.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let alive = getppid().map(Pid::as_raw_pid) == i32::try_from(parent).ok();
    if alive { Ok(()) } else { Err(io::Error::other(format!("the parent process {parent} is gone"))) }
}
