//! What holds for the servers of every ensemble that a run starts, whatever runs them.

use super::EnsembleError;

/// Time that a follower has to join its leader, and that it may lag: those of ZooKeeper's sample configuration (10 and 5
/// ticks of 2 s), kept as times because a small tick must not make the ensemble fall apart on a busy machine.
const INIT_MS: u64 = 20_000;
const SYNC_MS: u64 = 10_000;
/// Up to this heap the serial collector is used.
const SERIAL_HEAP_MB_MAX: u32 = 512;

/// Tick and limits of an ensemble, as they are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    /// `tickTime`, in milliseconds.
    pub(super) tick_ms: u64,
    /// `initLimit` and `syncLimit`, in ticks; None: those of ZooKeeper's sample configuration, as times.
    pub(super) init_limit: Option<u32>,
    pub(super) sync_limit: Option<u32>,
}

impl Ticks {
    /// Refuses what no ensemble of so many servers can be started with.
    pub(super) fn check(&self, servers: u32) -> Result<(), EnsembleError> {
        if ![1, 3, 5].contains(&servers) {
            return Err(EnsembleError::BadSize(servers));
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

/// The collector that a JVM with such a heap is told to use, if any. Several collectors with threads of their own take a
/// small machine's cores from the candidates; with a small heap the serial one pauses for a few milliseconds only. With a
/// large heap its full collections would show: there the JVM chooses.
pub(super) fn collector(heap_mb: u32) -> Option<&'static str> {
    (heap_mb <= SERIAL_HEAP_MB_MAX).then_some("-XX:+UseSerialGC")
}
