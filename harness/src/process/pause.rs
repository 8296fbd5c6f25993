//! Whether a stopped program stands still as a whole: with all processes that it has started, in its process group or
//! in another one.

use std::time::Duration;

use hustings_record::numbers::nanos;
use tokio::task::spawn_blocking;

use super::clock;
use super::procfs::{ProcessId, process_state};

/// The kernel shows the new state of a process well within this.
pub(crate) const SEEN_AT_MOST: Duration = Duration::from_secs(1);

/// Waits until all processes of a stopped program are stopped. Calls `waits` if they are not at once.
///
/// # Errors
/// A sentence that names a process that runs on.
pub(crate) async fn all_stopped(program: ProcessId, waits: impl FnOnce()) -> Result<(), String> {
    // The search reads the environments of all processes.
    let found = spawn_blocking(move || program.with_descendants()).await;
    let found = found.map_err(|error| format!("the program's processes could not be listed: {error}"))?;
    let (until, mut waits) = (clock::now() + nanos(SEEN_AT_MOST), Some(waits));
    let is_running = |process: &&ProcessId| process.is_alive() && process_state(process.pid) != Some('T');
    loop {
        let Some(running) = found.iter().find(is_running) else { return Ok(()) };
        if let Some(waits) = waits.take() {
            waits();
        }
        if clock::now() > until {
            return Err(format!("process {} of the program is not stopped and runs on", running.pid));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::Signal;

    use super::*;
    use crate::process::marked_shell::MarkedShell;

    #[tokio::test]
    async fn a_program_is_not_stopped_while_a_process_of_it_runs_on_in_another_group() {
        let shell = MarkedShell::start("setsid sleep 60 & wait");
        let worker = shell.sleeper().await;
        shell.signal_group(Signal::STOP);
        let why = all_stopped(shell.mark, || ()).await.expect_err("the worker runs on");
        assert!(why.contains(&format!("process {worker} ")), "{why}");
        MarkedShell::signal(worker, Signal::STOP).expect("stopped");
        assert_eq!(all_stopped(shell.mark, || ()).await, Ok(()));
        assert_eq!(all_stopped(shell.mark, || panic!("all are stopped")).await, Ok(()));
    }

    #[tokio::test]
    async fn a_program_is_stopped_with_a_grandchild_of_its_own_group() {
        let shell = MarkedShell::start("sh -c 'sleep 60 & wait' & wait");
        let grandchild = shell.sleeper().await;
        assert!(all_stopped(shell.mark, || ()).await.is_err(), "nobody has stopped it");
        shell.signal_group(Signal::STOP);
        assert_eq!(all_stopped(shell.mark, || ()).await, Ok(()));
        assert_eq!(process_state(grandchild), Some('T'));
    }
}
