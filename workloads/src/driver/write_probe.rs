//! Writes through every server, again and again, in cells with faults on servers: for how long is no write acknowledged?

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use hustings_record::{Event, Nanos};

use super::backend::Backend;
use super::lay_out::create_path;
use super::repeating::Repeating;
use super::unless::unless;
use crate::coordination::{OpError, Refusal, Session};
use crate::write_gaps::{EVERY, PATIENCE, WriteGaps};

/// Acknowledgements that are written down at a time.
const AT_A_TIME: usize = 500;

/// All probes of a cell, a client for each server, which knows no other.
#[must_use]
pub(super) struct WriteProbe<B: Backend> {
    shared: Rc<ProbeShared<B>>,
    probes: Repeating,
}

struct ProbeShared<B> {
    backend: Rc<B>,
    path: String,
    gaps: Cell<WriteGaps>,
    /// Acknowledgements that are not written down yet: the first, and how much later each came than the one before it.
    fresh: RefCell<Option<(Nanos, Vec<Nanos>)>>,
}

impl<B: Backend> WriteProbe<B> {
    /// Begins to write to a znode of its own through each server.
    pub(super) fn begin(backend: &Rc<B>) -> Self {
        let path = format!("{}/written", backend.chroot());
        let (t, every_ns) = (backend.now(), EVERY.as_nanos() as Nanos);
        backend.record(Event::WriteProbe { t, every_ns });
        let shared = Rc::new(ProbeShared {
            backend: backend.clone(),
            path,
            gaps: Cell::new(WriteGaps::begin(t)),
            fresh: RefCell::default(),
        });
        let probes = Repeating::for_each_server(&**backend, |server| shared.clone().write_forever(server));
        Self { shared, probes }
    }

    /// Ends the probes, and writes down what came of them.
    pub(super) fn end(self) {
        drop(self.probes);
        let (t, gaps) = (self.shared.backend.now(), self.shared.gaps.get());
        self.shared.note(gaps.gap(t), true);
        self.shared.write_down();
        self.shared.backend.record(Event::WriteProbed { t, acknowledged: gaps.acknowledged() });
    }
}

impl<B: Backend> ProbeShared<B> {
    async fn write_forever(self: Rc<Self>, server: u32) {
        let backend = &*self.backend;
        loop {
            if let Some(Some(session)) = in_time(backend, PATIENCE, backend.connect_to(server)).await {
                while let Some(Ok(())) = in_time(backend, PATIENCE, write(&session, &self.path)).await {
                    self.acknowledge();
                    pause(backend).await;
                }
            }
            // Whatever the trouble is: another connection may be free of it.
            pause(backend).await;
        }
    }

    fn acknowledge(&self) {
        let (mut gaps, now) = (self.gaps.get(), self.backend.now());
        let before = gaps.last();
        self.note(gaps.acknowledge(now), false);
        self.gaps.set(gaps);
        let count = {
            let mut fresh = self.fresh.borrow_mut();
            match &mut *fresh {
                Some((_, then)) => {
                    then.push(now.saturating_sub(before));
                    then.len()
                }
                None => {
                    *fresh = Some((now, Vec::new()));
                    0
                }
            }
        };
        if count >= AT_A_TIME {
            self.write_down();
        }
    }

    fn write_down(&self) {
        if let Some((t, then)) = self.fresh.take() {
            self.backend.record(Event::WritesAcknowledged { t, then });
        }
    }

    fn note(&self, gap: Option<(Nanos, Nanos)>, ended: bool) {
        if let Some((from, to)) = gap {
            self.backend.record(Event::WriteGap { from, to, ended });
        }
    }
}

async fn pause<B: Backend>(backend: &B) {
    backend.sleep_until(backend.now() + EVERY.as_nanos() as Nanos).await;
}

/// What comes of it, or None if it takes longer.
async fn in_time<B: Backend, T>(backend: &B, at_most: Duration, what: impl Future<Output = T>) -> Option<T> {
    let until = backend.now() + at_most.as_nanos() as Nanos;
    unless(backend.sleep_until(until), what).await
}

async fn write<S: Session>(session: &S, path: &str) -> Result<(), OpError> {
    match session.set(path, b"", None).await {
        // It was never there, or the servers were started without their data.
        Err(OpError::Refused(Refusal::NoNode)) => create_path(session, path).await,
        written => written.map(drop),
    }
}
