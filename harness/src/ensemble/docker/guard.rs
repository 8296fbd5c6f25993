//! The last resort: what an ensemble has at the engine goes, also when nobody could wait for it.

use std::cell::Cell;
use std::time::Duration;

use super::super::EnsembleError;
use super::engine::Engine;
use super::residue;

/// Requests that were on their way when a start was given up may take effect so long after.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Removes all that an ensemble has at the engine when it is dropped before that was done in order.
pub(super) struct Guard {
    engine: Engine,
    ensemble: String,
    done: Cell<bool>,
    /// How many requests that make something have been begun, and are not known to be over.
    making: Cell<u32>,
}

impl Guard {
    /// Before anything is made.
    pub(super) fn new(engine: &Engine, ensemble: &str) -> Self {
        let (done, making) = (Cell::new(false), Cell::new(0));
        Self { engine: engine.clone(), ensemble: ensemble.to_owned(), done, making }
    }

    /// Waits for what makes containers or networks. If nobody waits to the end, what it makes may still come.
    pub(super) async fn make<T>(&self, made: impl Future<Output = T>) -> T {
        self.making.set(self.making.get() + 1);
        let made = made.await;
        self.making.set(self.making.get() - 1);
        made
    }

    /// In order, once.
    pub(super) async fn remove(&self) -> Result<(), EnsembleError> {
        if self.done.get() {
            return Ok(());
        }
        residue::remove(&self.engine, &residue::ensemble_filter(&self.ensemble), self.quiet()).await?;
        self.done.set(true);
        Ok(())
    }

    /// As [`remove`](Self::remove), while the caller is kept waiting.
    pub(super) fn remove_now(&self) {
        if self.done.replace(true) {
            return;
        }
        let (at, filter, quiet) = (self.engine.at.clone(), residue::ensemble_filter(&self.ensemble), self.quiet());
        let removed = residue::on_own_thread(async move || {
            residue::remove(&Engine::connect_to(&at).await?, &filter, quiet).await
        });
        if let Err(error) = removed {
            tracing::warn!(%error, "containers were left behind");
        }
    }

    fn quiet(&self) -> Duration {
        if self.making.get() == 0 { Duration::ZERO } else { SETTLED_AFTER }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.remove_now();
    }
}
