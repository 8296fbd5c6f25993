//! The last resort: removes the engine's objects of an ensemble, even if the caller was cancelled.

use std::cell::Cell;
use std::time::Duration;

use super::super::EnsembleError;
use super::engine::Engine;
use super::residue;

/// Requests that were under way when a start was cancelled may take effect this much later.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Removes the engine's objects of an ensemble on drop, unless they were already removed in order.
pub(super) struct Guard {
    engine: Engine,
    ensemble: String,
    done: Cell<bool>,
    /// Number of creating requests that were begun and are not known to have ended.
    making: Cell<u32>,
}

impl Guard {
    /// Create it before any of these objects.
    pub(super) fn new(engine: &Engine, ensemble: &str) -> Self {
        let (done, making) = (Cell::new(false), Cell::new(0));
        Self { engine: engine.clone(), ensemble: ensemble.to_owned(), done, making }
    }

    /// Awaits the creation of containers or networks. If the caller is cancelled, they may still appear.
    pub(super) async fn make<T>(&self, made: impl Future<Output = T>) -> T {
        self.making.set(self.making.get() + 1);
        let made = made.await;
        self.making.set(self.making.get() - 1);
        made
    }

    /// Removes them in order, once.
    pub(super) async fn remove(&self) -> Result<(), EnsembleError> {
        if self.done.get() {
            return Ok(());
        }
        residue::remove(&self.engine, &residue::ensemble_filter(&self.ensemble), self.quiet()).await?;
        self.done.set(true);
        Ok(())
    }

    /// As [`remove`](Self::remove), but blocks the caller.
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
