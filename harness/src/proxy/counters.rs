//! Counters of one direction, for a connection and for its whole proxy. The proxy has one thread. The counters are
//! atomic only because the API's state must be shareable.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::stats::DirectionStats;

#[derive(Debug, Default)]
pub(super) struct Counters {
    bytes: AtomicU64,
    last: AtomicU64,
    queued: AtomicU64,
    dropped: AtomicU64,
}

impl Counters {
    pub(super) fn forwarded(&self, bytes: usize, now: u64) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.last.store(now, Relaxed);
    }

    pub(super) fn dropped(&self, bytes: usize) {
        self.dropped.fetch_add(bytes as u64, Relaxed);
    }

    /// Bytes in the proxy's own queues now.
    pub(super) fn queued(&self, bytes: usize) {
        self.queued.store(bytes as u64, Relaxed);
    }

    /// `waiting`: bytes that have arrived at the socket but have not been read.
    pub(super) fn stats(&self, waiting: u64) -> DirectionStats {
        let last = self.last.load(Relaxed);
        DirectionStats {
            bytes: self.bytes.load(Relaxed),
            last: (last > 0).then_some(last),
            held: self.queued.load(Relaxed) + waiting,
            dropped: self.dropped.load(Relaxed),
        }
    }
}
