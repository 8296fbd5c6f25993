//! Limits of this process: its descriptors, its stack, and how many processes there may be. At the limit of
//! descriptors, connects hang rather than fail, so the demand is checked before the start.

use std::io;
use std::thread::Builder;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The usual stack of a main thread, in bytes.
const STACK_BYTES: usize = 8 << 20;

/// Runs `work` on a stack of the usual size: that of the main thread is as small as `ulimit -s` says.
///
/// # Errors
/// There can be no thread with such a stack.
pub fn on_usual_stack<T: Send + 'static>(work: fn() -> T) -> io::Result<T> {
    if getrlimit(Resource::Stack).current.is_none_or(|bytes| bytes >= STACK_BYTES as u64) {
        return Ok(work());
    }
    let thread = Builder::new().name("main".to_owned()).stack_size(STACK_BYTES).spawn(work).map_err(explained)?;
    match thread.join() {
        Ok(done) => Ok(done),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The error of starting a process or a thread, with the remedy where there may be no more of them.
#[must_use]
pub(crate) fn explained(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::WouldBlock {
        return error;
    }
    let remedy = "end other processes, or raise the limit (ulimit -u, TasksMax= of a service, --pids-limit of a \
                  container)";
    io::Error::new(error.kind(), format!("{error}; there may be no more processes and threads: {remedy}"))
}

/// Raises this process's soft descriptor limit to its hard limit, and returns the limit then in force. `u64::MAX`: no
/// limit.
///
/// # Errors
/// The kernel refused the new limit.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(descriptor_limit())
}

/// The soft descriptor limit in force.
#[must_use]
pub fn descriptor_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The hard descriptor limit, to which child processes may raise their soft limit.
#[must_use]
pub fn descriptor_limit_hard() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::explained;

    #[test]
    fn a_process_that_may_not_be_started_is_told_with_the_limit_to_raise() {
        let told = explained(rustix::io::Errno::AGAIN.into()).to_string();
        assert!(told.contains("temporarily unavailable") && told.contains("ulimit -u"), "{told}");
        let other = explained(rustix::io::Errno::NOENT.into()).to_string();
        assert!(!other.contains("ulimit"), "{other}");
    }
}
