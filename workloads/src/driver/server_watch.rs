//! Watches the servers of a cell: polls each for its state, and records when it has changed.

use std::rc::Rc;
use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{Event, Nanos};

use super::backend::Backend;
use super::repeating::RepeatingTasks;

/// Sleep between checks for whether every server has been observed once.
const LOOK_AGAIN_NS: Nanos = 1_000_000;

/// A running watch. It ends on drop; [`end`](Self::end) also records how it went.
#[must_use]
pub(super) struct RunningServerWatch<B: Backend> {
    backend: Rc<B>,
    looking: RepeatingTasks,
}

impl<B: Backend> RunningServerWatch<B> {
    /// Begins to watch all servers, each asked again `every` after its last answer. Returns once every server has been
    /// observed.
    pub(super) async fn begin(backend: &Rc<B>, every: Duration) -> Self {
        let every_ns = nanos(every);
        backend.record(Event::ServerWatch { t: backend.now(), every_ns });
        let looking =
            RepeatingTasks::for_each_server(&**backend, |server| look_forever(backend.clone(), server, every_ns));
        let watch = Self { backend: backend.clone(), looking };
        // Every look is bounded.
        while backend.state().servers.count() < backend.servers() as usize {
            backend.sleep_until(backend.now() + LOOK_AGAIN_NS).await;
        }
        watch
    }

    /// Ends the watch, and records how it went.
    pub(super) fn end(self) {
        drop(self.looking);
        let backend = &self.backend;
        let mut seen = backend.state().servers.clear();
        for (&server, seen) in &mut seen {
            if let Some(looks) = seen.looks(server) {
                backend.record(looks);
            }
            let (t, looks, longest_gap_ns) = (backend.now(), seen.looks, seen.longest_gap);
            backend.record(Event::ServerWatched { t, server, looks, longest_gap_ns });
        }
    }
}

async fn look_forever<B: Backend>(backend: Rc<B>, server: u32, every_ns: Nanos) {
    loop {
        let asked = backend.now();
        let seen = backend.look(server).await;
        for event in backend.state().servers.take(server, asked, backend.now(), seen) {
            backend.record(event);
        }
        backend.sleep_until(backend.now() + every_ns).await;
    }
}
