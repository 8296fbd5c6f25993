//! Sessions of a host: one a candidate, or one for all of them.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use hustings_reports::record::{Event, SessionChange};
use hustings_workloads::coordination::{Session as _, States as _};
use tokio::sync::{Mutex, Semaphore};

use crate::clock;
use crate::host::said::change_of;
use crate::host::seat::Shared;
use crate::session::ZkSession;

/// The server's answer to the close of a session is waited for this long.
pub(super) const CLOSE_AT_MOST: Duration = Duration::from_secs(5);

const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_LAST: Duration = Duration::from_secs(1);

/// Gives candidates their sessions.
pub(super) struct Sessions {
    shared: Rc<Shared>,
    connecting: Semaphore,
    common: Mutex<Option<ZkSession>>,
}

impl Sessions {
    pub(super) fn new(shared: Rc<Shared>) -> Self {
        let at_once = shared.set_up.connect_concurrency.max(1) as usize;
        Self { shared, connecting: Semaphore::new(at_once), common: Mutex::new(None) }
    }

    /// A live session that is not the one that ended; None when the host stops first.
    pub(super) async fn obtain(&self, ended: i64) -> Option<ZkSession> {
        if !self.shared.set_up.session_per_host {
            return self.connect().await;
        }
        let mut common = self.common.lock().await;
        match common.as_ref() {
            Some(session) if session.id() != ended => Some(session.share()),
            _ => {
                let session = self.connect().await?;
                *common = Some(session.share());
                Some(session)
            }
        }
    }

    /// Closes the common session, if there is one. Its other users must be gone. False when the server did not answer.
    pub(super) async fn release(&self) -> bool {
        match self.common.lock().await.take() {
            Some(session) => session.close(CLOSE_AT_MOST).await,
            None => true,
        }
    }

    async fn connect(&self) -> Option<ZkSession> {
        let _turn = self.connecting.acquire().await.ok()?;
        let set_up = &self.shared.set_up;
        let mut pause = RETRY_FIRST;
        loop {
            let started = clock::now();
            let connecting = Box::pin(ZkSession::connect(&set_up.cluster, Duration::from_millis(set_up.timeout_ms)));
            let result = tokio::select! {
                result = connecting => result,
                () = self.shared.stopped() => return None,
            };
            match result {
                Ok(session) => {
                    self.established(&session, started);
                    return Some(session);
                }
                Err(error) => self.shared.journal.push(&Event::Note {
                    t: clock::now(),
                    cand: None,
                    text: format!("no session: {error}"),
                }),
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.shared.stopped() => return None,
            }
            pause = (pause * 2).min(RETRY_LAST);
        }
    }

    fn established(&self, session: &ZkSession, started: u64) {
        let now = clock::now();
        self.shared.journal.push(&Event::Session {
            t: now,
            session: session.id(),
            timeout_ms: session.timeout_ms(),
            asked_ms: self.shared.set_up.timeout_ms,
            connect_ns: now - started,
        });
        tokio::task::spawn_local(follow(self.shared.clone(), session.id(), session.states()));
    }
}

/// Writes down every state of a session until it ends.
async fn follow(shared: Rc<Shared>, session: i64, mut states: crate::session::ZkStates) {
    let live = Live::new(&shared.connected);
    loop {
        let state = change_of(states.changed().await);
        shared.journal.push(&Event::State { t: clock::now(), session, state });
        if !matches!(state, SessionChange::Connected | SessionChange::Disconnected) {
            drop(live);
            return;
        }
    }
}

/// Counts a session for as long as it lives.
struct Live<'a>(&'a Cell<u32>);

impl<'a> Live<'a> {
    fn new(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
