//! Asks the servers of a cell how loaded they are, again and again.

use std::rc::Rc;

use hustings_record::{Event, Nanos};

use super::backend::Backend;
use super::repeating::Repeating;

/// Begins to ask every server, each anew so long after its last answer, until what is given is dropped. Where the backend has no
/// load to tell nobody is asked.
pub(super) fn begin<B: Backend>(backend: &Rc<B>) -> Repeating {
    let Some(every) = backend.load_every() else { return Repeating::default() };
    Repeating::for_each_server(&**backend, |server| ask_forever(backend.clone(), server, every.as_nanos() as Nanos))
}

async fn ask_forever<B: Backend>(backend: Rc<B>, server: u32, every: Nanos) {
    loop {
        if let Some(load) = backend.load(server).await {
            backend.record(Event::ServerLoad { t: backend.now(), server, load: Box::new(load) });
        }
        backend.sleep_until(backend.now() + every).await;
    }
}
