//! Polls the load of a cell's servers.

use std::rc::Rc;

use hustings_record::numbers::nanos;
use hustings_record::{Event, Nanos};

use super::backend::Backend;
use super::repeating::RepeatingTasks;

/// Begins to ask every server for its load, each `load_every` after its last answer, until the result is dropped. Asks
/// none if the backend has no load to report.
pub(super) fn begin<B: Backend>(backend: &Rc<B>) -> RepeatingTasks {
    let Some(every) = backend.load_every() else { return RepeatingTasks::default() };
    RepeatingTasks::for_each_server(&**backend, |server| ask_forever(backend.clone(), server, nanos(every)))
}

async fn ask_forever<B: Backend>(backend: Rc<B>, server: u32, every: Nanos) {
    loop {
        if let Some(load) = backend.load(server).await {
            backend.record(Event::ServerLoad { t: backend.now(), server, load: Box::new(load) });
        }
        backend.sleep_until(backend.now() + every).await;
    }
}
