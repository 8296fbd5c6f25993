//! Tasks that must end before their cell does: faults and fencings under way. They must not injure or start a host
//! during the tear-down.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout_at};

use crate::coordinator::cell_status::CellStatus;

/// The tasks under way.
pub(super) struct BackgroundTasks {
    running: RefCell<JoinSet<()>>,
    status: Rc<CellStatus>,
}

impl BackgroundTasks {
    pub(super) fn new(status: Rc<CellStatus>) -> Self {
        Self { running: RefCell::default(), status }
    }

    /// Runs a task that the tear-down waits for.
    pub(super) fn send(&self, task: impl Future<Output = ()> + 'static) {
        let mut running = self.running.borrow_mut();
        while let Some(done) = running.try_join_next() {
            self.check(done);
        }
        running.spawn_local(task);
    }

    /// A task that panicked is a bug of the harness: its incomplete work must not be measured.
    fn check(&self, done: Result<(), JoinError>) {
        if let Err(error) = done {
            self.status.fail(format!("a fault's task failed: {error}"));
        }
    }

    /// Waits until no task is under way. After `at_most`, aborts the rest.
    ///
    /// # Errors
    /// A sentence with the number of aborted tasks.
    pub(super) async fn finish(&self, at_most: Duration) -> Result<(), String> {
        let until = Instant::now() + at_most;
        loop {
            // Taken out, because a background task may spawn another one meanwhile.
            let mut running = self.running.take();
            if running.is_empty() {
                return Ok(());
            }
            while !running.is_empty() {
                match timeout_at(until, running.join_next()).await {
                    Ok(done) => done.into_iter().for_each(|done| self.check(done)),
                    Err(_) => {
                        let left = running.len();
                        running.shutdown().await;
                        self.running.borrow_mut().abort_all();
                        return Err(format!("{left} faults or fencings were still under way after {at_most:?}"));
                    }
                }
            }
        }
    }
}
