//! The sessions of a host: one per candidate, or one for all of them.

use std::rc::Rc;
use std::time::Duration;

use futures::lock::Mutex;
use hustings_record::{Event, Nanos, SessionUse};

use super::admission_queue::AdmissionQueue;
use super::cancellation::run_until_cancelled;
use crate::coordination::Session;

/// Bound on the wait for the server's answer to the close of a session.
const CLOSE_AT_MOST: Duration = Duration::from_secs(5);

/// Pause between attempts to get a session: the first, and the longest.
const RETRY_NS: Nanos = 50_000_000;
const RETRY_MAX_NS: Nanos = 1_000_000_000;

/// A host's process, as the code inside it sees it.
#[expect(async_fn_in_trait, reason = "a host is single-threaded: its futures need no Send")]
pub trait Process {
    type Session: Session;

    fn now(&self) -> Nanos;
    async fn sleep_until(&self, at: Nanos);
    /// Waits for the stop order.
    async fn stopped(&self);
    /// Writes into this host's segment.
    fn record(&self, event: Event);
    /// Tries once to get a session, for one candidate or for the whole host, and records it.
    ///
    /// # Errors
    /// Why there is none.
    async fn connect(&self, cand: Option<u32>) -> Result<Self::Session, String>;
    /// Another handle of the same session.
    fn share(&self, session: &Self::Session) -> Self::Session;
    /// Closes a session unless it is shared. False: no server answered in time.
    async fn close(&self, session: Self::Session, at_most: Duration) -> bool;
}

/// Gives candidates their sessions.
pub struct Sessions<P: Process> {
    pub process: Rc<P>,
    of: SessionUse,
    connecting: AdmissionQueue,
    common: Mutex<Option<P::Session>>,
}

impl<P: Process> Sessions<P> {
    /// At most `connect_concurrency` sessions are opened at a time.
    #[must_use]
    pub fn new(process: Rc<P>, of: SessionUse, connect_concurrency: u32) -> Self {
        Self { process, of, connecting: AdmissionQueue::new(connect_concurrency), common: Mutex::new(None) }
    }

    /// A live session that is not the one that ended; None when the host stops first.
    pub async fn obtain(&self, cand: u32, ended: i64) -> Option<P::Session> {
        if self.of == SessionUse::PerCandidate {
            return self.connect(Some(cand)).await;
        }
        let mut common = self.common.lock().await;
        match common.as_ref() {
            Some(session) if session.id() != ended => Some(self.process.share(session)),
            _ => {
                let session = self.connect(None).await?;
                *common = Some(self.process.share(&session));
                Some(session)
            }
        }
    }

    /// Closes a candidate's session, unless it is the host's. False: the server did not answer.
    pub async fn close(&self, session: P::Session) -> bool {
        self.of == SessionUse::PerHost || self.process.close(session, CLOSE_AT_MOST).await
    }

    /// Closes the host's common session, if there is one. Its other handles must be gone. False: it was not answered.
    pub async fn release(&self) -> bool {
        match self.common.lock().await.take() {
            Some(session) => self.process.close(session, CLOSE_AT_MOST).await,
            None => true,
        }
    }

    async fn connect(&self, cand: Option<u32>) -> Option<P::Session> {
        let process = &*self.process;
        let _turn = self.connecting.enter().await;
        let mut pause = RETRY_NS;
        loop {
            match unless_stopped(process, process.connect(cand)).await? {
                Ok(session) => return Some(session),
                Err(why) => {
                    let text = format!("no session: {why}");
                    process.record(Event::Note { t: process.now(), cand: None, text });
                }
            }
            unless_stopped(process, process.sleep_until(process.now() + pause)).await?;
            pause = (pause * 2).min(RETRY_MAX_NS);
        }
    }
}

/// The result of `what`; `None` when the host stops first.
pub(super) async fn unless_stopped<P: Process, T>(process: &P, what: impl Future<Output = T>) -> Option<T> {
    run_until_cancelled(process.stopped(), what).await
}
