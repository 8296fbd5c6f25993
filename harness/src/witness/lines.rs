//! The connections that pass through a witness's relays, by number: when their servers last said anything, and a way to cut them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hustings_record::Nanos;
use tokio::sync::Notify;

use crate::clock;

/// All relays of one witness count their connections together.
#[derive(Debug, Default)]
pub struct Lines {
    last: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Line>>>,
}

impl Lines {
    /// Where a connection leads to, if it is not over.
    #[must_use]
    pub fn server(&self, number: u64) -> Option<SocketAddr> {
        Some(self.all().get(&number)?.server)
    }

    /// When the server of a connection last said anything. None: it has not, or that connection is over.
    #[must_use]
    pub fn heard(&self, number: u64) -> Option<Nanos> {
        let heard = self.all().get(&number)?.heard.load(Relaxed);
        (heard > 0).then_some(heard)
    }

    /// Ends a connection at both of its ends. False: it is over, or being cut already.
    pub fn cut(&self, number: u64) -> bool {
        let Some(line) = self.all().remove(&number) else { return false };
        line.cut.notify_one();
        true
    }

    /// Counts a new connection to a server, which is open until it is cut, or what this gives is dropped.
    pub(super) fn open(self: &Arc<Self>, server: SocketAddr) -> Open {
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let line = Arc::new(Line { server, heard: AtomicU64::new(0), cut: Notify::new() });
        self.all().insert(number, line.clone());
        Open { number, line, of: self.clone() }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, Arc<Line>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) server: SocketAddr,
    /// 0: never.
    heard: AtomicU64,
    cut: Notify,
}

impl Line {
    /// The server has said something.
    pub(super) fn hears(&self) {
        self.heard.store(clock::now(), Relaxed);
    }

    /// Waits until it is to end.
    pub(super) async fn cut(&self) {
        self.cut.notified().await;
    }
}

/// An open connection.
pub(super) struct Open {
    pub(super) number: u64,
    pub(super) line: Arc<Line>,
    of: Arc<Lines>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.of.all().remove(&self.number);
    }
}
