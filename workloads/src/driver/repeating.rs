//! Tasks that run for as long as their owner keeps the handle.

use futures::future::{AbortHandle, Abortable};

use super::backend::Backend;

/// Tasks of one kind. They end on drop.
#[must_use]
#[derive(Default)]
pub(super) struct RepeatingTasks(Vec<AbortHandle>);

impl RepeatingTasks {
    /// Begins the task of every server.
    pub(super) fn for_each_server<B: Backend, F: Future<Output = ()> + 'static>(
        backend: &B,
        task: impl Fn(u32) -> F,
    ) -> Self {
        let begin = |server| {
            let (abort, registration) = AbortHandle::new_pair();
            let task = Abortable::new(task(server), registration);
            // Aborted when the owner drops the handle.
            backend.spawn(async move { _ = task.await });
            abort
        };
        Self((1..=backend.servers()).map(begin).collect())
    }
}

impl Drop for RepeatingTasks {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}
