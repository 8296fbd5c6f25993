//! Whether a cell continues: its first error, the beginning of its tear-down, and a signal of every change.

use std::cell::Cell as StdCell;

use tokio::sync::watch;

/// Shared by the parts of a cell.
#[derive(Default)]
pub(super) struct CellStatus {
    stopping: StdCell<bool>,
    /// The first error that makes it pointless to continue.
    pub(super) trouble: watch::Sender<Option<String>>,
    /// Changes whenever a leader, a candidate's enrolment or a host changes.
    pub(super) changed: watch::Sender<u64>,
}

impl CellStatus {
    /// Whether the cell is being torn down.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Begins the tear-down.
    pub(super) fn stop(&self) {
        self.stopping.set(true);
        self.touch();
    }

    pub(super) fn touch(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }

    /// Waits for this; None if the tear-down begins before.
    pub(super) async fn before_tear_down<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        let mut changed = self.changed.subscribe();
        tokio::select! {
            biased;
            _ = changed.wait_for(|_| self.is_stopping()) => None,
            done = wait => Some(done),
        }
    }

    /// Keeps the first error: later ones are mostly its consequences.
    pub(super) fn fail(&self, what: String) {
        self.trouble.send_if_modified(|trouble| {
            let first = trouble.is_none();
            if first {
                *trouble = Some(what);
            }
            first
        });
    }
}
