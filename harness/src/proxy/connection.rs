//! The state of one connection through a proxy: its sockets, its traffic counters, and the order to end.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::process::clock;
use crate::process::lock::lock;

use super::active_toxic::ConnectionEnd;
use super::counters::Counters;
use super::reading::CreateTracker;
use super::stats::{ConnectionStats, DirectionStats, hex};
use super::tap::Tap;
use super::toxic::Stream;

/// Number of the server's first bytes that are kept.
const HEAD_BYTES: usize = 64;

#[derive(Debug)]
pub(super) struct ProxyConnection {
    pub(super) id: u64,
    opened: u64,
    pub(super) client: TcpStream,
    pub(super) server: OnceLock<TcpStream>,
    up: Counters,
    down: Counters,
    held_up: AtomicBool,
    held_down: AtomicBool,
    head: Mutex<Vec<u8>>,
    pub(super) reading: Mutex<CreateTracker>,
    /// Records the traffic, if recording is on.
    pub(super) tap: Option<Tap>,
    order: AtomicU8,
    ordered: Notify,
}

impl ProxyConnection {
    pub(super) fn new(id: u64, client: TcpStream, tap: Option<Tap>) -> Self {
        Self {
            id,
            opened: clock::now(),
            client,
            server: OnceLock::new(),
            up: Counters::default(),
            down: Counters::default(),
            held_up: AtomicBool::new(false),
            held_down: AtomicBool::new(false),
            head: Mutex::default(),
            reading: Mutex::default(),
            tap,
            order: AtomicU8::new(0),
            ordered: Notify::new(),
        }
    }

    /// Orders the connection to end.
    pub(super) fn end(&self, fate: ConnectionEnd) {
        self.order.store(if fate == ConnectionEnd::Reset { 2 } else { 1 }, Relaxed);
        self.ordered.notify_one();
    }

    pub(super) async fn end_requested(&self) -> ConnectionEnd {
        loop {
            match self.order.load(Relaxed) {
                0 => self.ordered.notified().await,
                1 => return ConnectionEnd::Close,
                _ => return ConnectionEnd::Reset,
            }
        }
    }

    pub(super) fn way(&self, stream: Stream) -> &Counters {
        match stream {
            Stream::Upstream => &self.up,
            Stream::Downstream => &self.down,
        }
    }

    pub(super) fn held(&self, stream: Stream, held: bool) {
        match stream {
            Stream::Upstream => &self.held_up,
            Stream::Downstream => &self.held_down,
        }
        .store(held, Relaxed);
    }

    pub(super) fn is_held(&self) -> bool {
        self.held_up.load(Relaxed) || self.held_down.load(Relaxed)
    }

    /// Keeps the first bytes that the server sent.
    pub(super) fn saw(&self, data: &[u8]) {
        let mut head = lock(&self.head);
        let missing = HEAD_BYTES.saturating_sub(head.len()).min(data.len());
        head.extend_from_slice(data.get(..missing).unwrap_or_default());
    }

    pub(super) fn stats(&self, closed: Option<u64>) -> ConnectionStats {
        let [up, down] = self.ways();
        ConnectionStats { id: self.id, opened: self.opened, closed, up, down, head: hex(&lock(&self.head)) }
    }

    /// Up and down. Data that a hold stops stays in the sockets.
    pub(super) fn ways(&self) -> [DirectionStats; 2] {
        let connecting = self.server.get().is_none();
        let up = if connecting || self.held_up.load(Relaxed) { unread(&self.client) } else { 0 };
        let down = self.server.get().filter(|_| self.held_down.load(Relaxed)).map_or(0, unread);
        [self.up.stats(up), self.down.stats(down)]
    }
}

/// Bytes that have arrived but have not been read.
fn unread(socket: &TcpStream) -> u64 {
    rustix::io::ioctl_fionread(socket).unwrap_or(0)
}
