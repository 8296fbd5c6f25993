//! The connections through a witness's relays, by number: when their servers last sent data, and a way to cut them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use hustings_record::Nanos;
use tokio::sync::Notify;

use crate::process::clock;
use crate::process::lock::lock;

/// Numbers the connections of all relays of one witness.
#[derive(Debug, Default)]
pub struct RelayLines {
    last: AtomicU64,
    open: Mutex<HashMap<u64, Arc<RelayLine>>>,
}

impl RelayLines {
    /// The servers with a connection on which they granted this session.
    #[must_use]
    pub fn holders(&self, session: i64) -> Vec<SocketAddr> {
        let open = lock(&self.open);
        open.values().filter(|line| line.session.load(Relaxed) == session).map(|line| line.server).collect()
    }

    /// When the server of a connection last sent data. None: it has not, or the connection has ended.
    #[must_use]
    pub fn heard(&self, number: u64) -> Option<Nanos> {
        let heard = lock(&self.open).get(&number)?.heard.load(Relaxed);
        (heard > 0).then_some(heard)
    }

    /// Closes a connection at both ends. False: it has ended, or is being cut already.
    pub fn cut(&self, number: u64) -> bool {
        let Some(line) = lock(&self.open).remove(&number) else { return false };
        line.cut.notify_one();
        true
    }

    /// Registers a new connection to a server, which is open until it is cut or the result is dropped.
    pub(super) fn open(self: &Arc<Self>, server: SocketAddr) -> OpenConnection {
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let line =
            Arc::new(RelayLine { server, session: AtomicI64::new(0), heard: AtomicU64::new(0), cut: Notify::new() });
        lock(&self.open).insert(number, line.clone());
        OpenConnection { number, line, of: self.clone() }
    }
}

#[derive(Debug)]
pub(super) struct RelayLine {
    pub(super) server: SocketAddr,
    /// 0: none yet.
    session: AtomicI64,
    /// 0: never.
    heard: AtomicU64,
    cut: Notify,
}

impl RelayLine {
    /// Notes that the server has sent data.
    pub(super) fn hears(&self) {
        self.heard.store(clock::now(), Relaxed);
    }

    /// Notes that the server has granted a session.
    pub(super) fn carries(&self, session: i64) {
        self.session.store(session, Relaxed);
    }

    /// Waits until it is cut.
    pub(super) async fn cut(&self) {
        self.cut.notified().await;
    }
}

/// An open connection.
pub(super) struct OpenConnection {
    pub(super) number: u64,
    pub(super) line: Arc<RelayLine>,
    of: Arc<RelayLines>,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        lock(&self.of.open).remove(&self.number);
    }
}
