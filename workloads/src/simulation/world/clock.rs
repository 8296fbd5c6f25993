//! The clock of a simulated world, with its planned events.

use std::cell::{Cell, RefCell};
use std::task::{Poll, Waker};

use hustings_record::Nanos;

use super::agenda::Agenda;
use super::due::{COORDINATOR, ScheduledEvent};
use crate::driver::run_until_cancelled;
use crate::model::Micros;

/// The clock of a simulated world begins this long after its zero, because no real clock shows zero either.
pub const BEGIN_NS: Nanos = 1_000_000_000;

/// A time of the agenda as the clocks of its world show it.
pub(crate) fn nanos(at: Micros) -> Nanos {
    BEGIN_NS + at * 1_000
}

/// The first time of the agenda at which clocks show `at` or more.
pub(crate) fn micros(at: Nanos) -> Micros {
    at.saturating_sub(BEGIN_NS).div_ceil(1_000)
}

pub(crate) struct Clock {
    now: Cell<Micros>,
    agenda: RefCell<Agenda<ScheduledEvent>>,
    happened: Cell<u64>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { now: Cell::new(0), agenda: RefCell::new(Agenda::new()), happened: Cell::new(0) }
    }

    pub(crate) fn now(&self) -> Micros {
        self.now.get()
    }

    /// The time as the clocks of this world show it.
    pub(crate) fn nanos(&self) -> Nanos {
        nanos(self.now())
    }

    /// Number of events so far.
    pub(crate) fn happened(&self) -> u64 {
        self.happened.get()
    }

    pub(crate) fn plan(&self, at: Micros, due: ScheduledEvent) {
        self.agenda.borrow_mut().plan(at.max(self.now()), due);
    }

    /// Runs a call later.
    pub(crate) fn later(&self, at: Micros, call: impl FnOnce() + 'static) {
        self.plan(at, ScheduledEvent::Call(Box::new(call)));
    }

    /// Runs a call of a host's process later: not while the process is stopped, and never once it is dead.
    pub(crate) fn host_later(&self, host: u16, at: Micros, call: impl FnOnce() + 'static) {
        self.plan(at, ScheduledEvent::Host(host, Box::new(call)));
    }

    /// Advances to the next planned event, which occurs now. `None`: nothing is planned.
    pub(crate) fn next(&self) -> Option<ScheduledEvent> {
        let (at, due) = self.agenda.borrow_mut().pop()?;
        self.now.set(at);
        self.happened.set(self.happened() + 1);
        Some(due)
    }

    /// Forgets everything that was planned.
    pub(super) fn forget(&self) {
        // Not dropped under the borrow: a dropped event may plan another.
        drop(self.agenda.replace(Agenda::new()));
    }

    /// Waits, on a host, until the clock shows `at`.
    pub(crate) async fn sleep_until(&self, host: u16, at: Micros) {
        let mut called: Option<Waker> = None;
        std::future::poll_fn(|cx| {
            if self.now() >= at {
                return Poll::Ready(());
            }
            // One wake-up is enough, however often the future is polled for other reasons.
            if !called.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                self.plan(at, ScheduledEvent::Wake(host, cx.waker().clone()));
                called = Some(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// The result of `awaited`, or `None` if it takes longer by the coordinator's clock.
    pub(crate) async fn in_time<T>(&self, at_most: Micros, awaited: impl Future<Output = T>) -> Option<T> {
        run_until_cancelled(self.sleep_until(COORDINATOR, self.now() + at_most), awaited).await
    }
}
