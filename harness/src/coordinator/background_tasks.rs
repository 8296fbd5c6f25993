//! Tasks that must end before their cell does: faults and fencings under way. They must not injure or start a host
//! during the tear-down.

use std::cell::RefCell;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout_at};

/// The tasks under way.
#[derive(Default)]
pub(super) struct BackgroundTasks(RefCell<JoinSet<()>>);

impl BackgroundTasks {
    /// Spawns a task. Returns the errors of the tasks that ended since the previous call.
    pub(super) fn send(&self, task: impl Future<Output = ()> + 'static) -> Vec<JoinError> {
        let mut background_tasks = self.0.borrow_mut();
        let mut failed = Vec::new();
        while let Some(done) = background_tasks.try_join_next() {
            failed.extend(done.err());
        }
        background_tasks.spawn_local(task);
        failed
    }

    /// Waits until no task is under way and calls `failed` for each one that panicked. After `at_most`, aborts the
    /// rest.
    ///
    /// # Errors
    /// A sentence with the number of aborted tasks.
    pub(super) async fn finish(&self, at_most: Duration, failed: impl Fn(JoinError)) -> Result<(), String> {
        let until = Instant::now() + at_most;
        loop {
            // Taken out, because a background task may spawn another one meanwhile.
            let mut background_tasks = self.0.take();
            if background_tasks.is_empty() {
                return Ok(());
            }
            while !background_tasks.is_empty() {
                match timeout_at(until, background_tasks.join_next()).await {
                    Ok(done) => done.into_iter().filter_map(Result::err).for_each(&failed),
                    Err(_) => {
                        let left = background_tasks.len();
                        background_tasks.shutdown().await;
                        self.0.borrow_mut().abort_all();
                        return Err(format!("{left} faults or fencings were still under way after {at_most:?}"));
                    }
                }
            }
        }
    }
}
