//! For tests: a shell that carries the mark of a program, as do all processes that it starts.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use hustings_record::numbers::nanos;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::clock;
use super::procfs::{PROGRAM_VARIABLE, ProcessId};

/// A shell in a process group of its own. Its processes end with it.
pub(crate) struct MarkedShell {
    child: Child,
    pub(crate) mark: ProcessId,
}

impl MarkedShell {
    pub(crate) fn start(script: &str) -> Self {
        // No process has started this late, so the mark is this test's own.
        let mark = ProcessId { pid: std::process::id(), started: clock::now() };
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env(PROGRAM_VARIABLE, mark.mark()).process_group(0);
        Self { child: shell.spawn().expect("a shell"), mark }
    }

    /// The pid of `sleep`, once it runs.
    pub(crate) async fn sleeper(&self) -> u32 {
        let until = clock::now() + nanos(Duration::from_secs(20));
        loop {
            let mut all = self.mark.with_descendants().into_iter();
            if let Some(found) = all.find(|process| process.command_line().starts_with("sleep ")) {
                return found.pid;
            }
            assert!(clock::now() < until, "no sleep was started");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Sends a signal to the shell's process group.
    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(raw(self.child.id()), signal).expect("sent");
    }

    /// Sends a signal to one process.
    pub(crate) fn signal(pid: u32, signal: Signal) -> std::io::Result<()> {
        Ok(kill_process(raw(pid), signal)?)
    }
}

impl Drop for MarkedShell {
    fn drop(&mut self) {
        self.mark.kill_descendants();
        let _ = self.child.wait();
    }
}

fn raw(pid: u32) -> Pid {
    i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid")
}
