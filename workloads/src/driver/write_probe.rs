//! Writes through every server, in cells with faults on servers, to find out how long no write is acknowledged.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{Event, Nanos};

use super::backend::Backend;
use super::cancellation::run_until_cancelled;
use super::lay_out::create_path;
use super::repeating::RepeatingTasks;
use crate::coordination::{OpError, Refusal, Session};
use crate::write_gaps::{EVERY, PATIENCE, WriteGaps};

/// Acknowledgements recorded at a time.
const AT_A_TIME: usize = 500;

/// All probes of a cell: one client per server, which knows no other server.
#[must_use]
pub(super) struct WriteProbe<B: Backend> {
    shared: Rc<ProbeShared<B>>,
    probes: RepeatingTasks,
}

struct ProbeShared<B> {
    backend: Rc<B>,
    path: String,
    gaps: Cell<WriteGaps>,
    /// Acknowledgements not recorded yet: the first, and the delay of each after the previous one.
    fresh: RefCell<Option<(Nanos, Vec<Nanos>)>>,
}

impl<B: Backend> WriteProbe<B> {
    /// Begins to write through each server.
    pub(super) fn begin(backend: &Rc<B>) -> Self {
        let path = format!("{}/written", backend.chroot());
        let (t, every_ns) = (backend.now(), nanos(EVERY));
        backend.record(Event::WriteProbe { t, every_ns });
        let shared = Rc::new(ProbeShared {
            backend: backend.clone(),
            path,
            gaps: Cell::new(WriteGaps::begin(t)),
            fresh: RefCell::default(),
        });
        let probes = RepeatingTasks::for_each_server(&**backend, |server| shared.clone().write_forever(server));
        Self { shared, probes }
    }

    /// Ends the probes, and records their result.
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
            // Another connection may not have this error, whatever it is.
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
    backend.sleep_until(backend.now() + nanos(EVERY)).await;
}

/// The result of `what`, or `None` if it takes longer than `at_most`.
async fn in_time<B: Backend, T>(backend: &B, at_most: Duration, what: impl Future<Output = T>) -> Option<T> {
    let until = backend.now() + nanos(at_most);
    run_until_cancelled(backend.sleep_until(until), what).await
}

async fn write<S: Session>(session: &S, path: &str) -> Result<(), OpError> {
    match session.set(path, b"", None).await {
        // The znode never existed, or the servers were restarted without their data.
        Err(OpError::Refused(Refusal::NoNode)) => create_path(session, path).await,
        written => written.map(drop),
    }
}
