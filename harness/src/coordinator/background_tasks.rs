//! Tasks that a cell does not end before: faults and fencings under way. Nobody injures or starts a host behind the tear-down's
//! back.

use std::cell::RefCell;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout_at};

/// The tasks under way.
#[derive(Default)]
pub(super) struct BackgroundTasks(RefCell<JoinSet<()>>);

impl BackgroundTasks {
    /// Sends a task. Gives what became of those that have ended since the last one.
    pub(super) fn send(&self, task: impl Future<Output = ()> + 'static) -> Vec<JoinError> {
        let mut background_tasks = self.0.borrow_mut();
        let mut failed = Vec::new();
        while let Some(done) = background_tasks.try_join_next() {
            failed.extend(done.err());
        }
        background_tasks.spawn_local(task);
        failed
    }

    /// Waits until none is under way; `failed` is told of those that panicked. Those that take longer are ended where they are.
    ///
    /// # Errors
    /// A sentence on how many those were.
    pub(super) async fn finish(&self, at_most: Duration, failed: impl Fn(JoinError)) -> Result<(), String> {
        let until = Instant::now() + at_most;
        loop {
            // Taken out, because an background task may send another meanwhile.
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
