//! Settings common to the servers of every ensemble that a run starts.

use hustings_record::{PAUSE_LOGGED_MS, PAUSE_SLEEP_MS};

use super::EnsembleError;

/// Time for a follower to join its leader, and its maximum lag: those of ZooKeeper's sample configuration (10 and 5
/// ticks of 2 s). They are kept as times: with a small tick, the ensemble must not break up on a busy machine.
const INIT_MS: u64 = 20_000;
const SYNC_MS: u64 = 10_000;
/// Up to this heap the serial collector is used.
const SERIAL_HEAP_MB_MAX: u32 = 512;

/// Settings that make a server measure its own pauses (`mntr`: jvm_pause_time_ms). It sleeps repeatedly, counts by how
/// much it overslept, and logs pauses above the threshold.
pub(super) fn pauses() -> [String; 3] {
    [
        "jvm.pause.monitor=true".to_owned(),
        format!("jvm.pause.sleep.time.ms={PAUSE_SLEEP_MS}"),
        format!("jvm.pause.warn-threshold.ms={}", PAUSE_LOGGED_MS - 1),
    ]
}

/// Options of an ensemble's servers.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Number of servers: 1, 3 or 5.
    pub count: u32,
    /// `tickTime`, in milliseconds. Session timeouts are clamped to 2 to 20 of it.
    pub tick_ms: u64,
    /// `initLimit`, in ticks: the time for a follower to join its leader. None: that of ZooKeeper's sample, as a time.
    pub init_limit: Option<u32>,
    /// `syncLimit`, in ticks: how far a follower may lag before it is dropped. None: that of ZooKeeper's sample, as a
    /// time.
    pub sync_limit: Option<u32>,
    /// Whether a server syncs its transaction log to disk before it acknowledges.
    pub fsync: bool,
    /// Largest heap of each JVM, in MiB; see [`heap_mb_for`].
    pub heap_mb: u32,
}

impl ServerOptions {
    /// This many servers with a tick of 500 ms that do not sync to disk.
    #[must_use]
    pub fn of(count: u32) -> Self {
        Self { count, tick_ms: 500, init_limit: None, sync_limit: None, fsync: false, heap_mb: heap_mb_for(0) }
    }

    /// Rejects options with which no ensemble can start.
    pub(super) fn check(&self) -> Result<(), EnsembleError> {
        if ![1, 3, 5].contains(&self.count) {
            return Err(EnsembleError::BadSize(self.count));
        }
        if !(10..=60_000).contains(&self.tick_ms) {
            return Err(EnsembleError::BadTick(self.tick_ms));
        }
        for (name, ticks) in [("initLimit", self.init_limit), ("syncLimit", self.sync_limit)] {
            if let Some(ticks) = ticks.filter(|ticks| !(1..=10_000).contains(ticks)) {
                return Err(EnsembleError::BadLimit { name, ticks });
            }
        }
        Ok(())
    }

    pub(super) fn init(&self) -> u64 {
        self.init_limit.map_or_else(|| INIT_MS.div_ceil(self.tick_ms).max(10), u64::from)
    }

    pub(super) fn sync(&self) -> u64 {
        self.sync_limit.map_or_else(|| SYNC_MS.div_ceil(self.tick_ms).max(5), u64::from)
    }
}

/// The collector option for a JVM with such a heap, if any. Several collectors with threads of their own would take a
/// small machine's cores from the candidates. With a small heap, the serial one pauses for a few milliseconds only.
/// With a large heap, its full collections would be noticeable, so the JVM chooses.
pub(super) fn collector(heap_mb: u32) -> Option<&'static str> {
    (heap_mb <= SERIAL_HEAP_MB_MAX).then_some("-XX:+UseSerialGC")
}

/// A heap, in MiB, for `candidates` sessions with a znode each: every server keeps all znodes and session timers, and
/// the connections of its share. With 6,000 candidates on three servers 18 MiB were alive, 3 KiB per candidate. This
/// gives eight times that, and at least 512 MiB, as room for garbage between two collections.
#[must_use]
pub fn heap_mb_for(candidates: u32) -> u32 {
    (candidates / 40).max(512)
}
