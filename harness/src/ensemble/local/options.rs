//! What is asked of a local ensemble.

use std::path::PathBuf;
use std::time::Duration;

use super::super::EnsembleError;
use super::super::limits::Ticks;
use super::Places;

#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// 1, 3 or 5.
    pub servers: u32,
    /// `tickTime`, in milliseconds. Session timeouts are clamped to 2 to 20 of it.
    pub tick_ms: u64,
    /// `initLimit`, in ticks: the time that a follower has to join its leader. None: that of ZooKeeper's sample, as a time.
    pub init_limit: Option<u32>,
    /// `syncLimit`, in ticks: how far a follower may lag before it is given up. None: that of ZooKeeper's sample, as a time.
    pub sync_limit: Option<u32>,
    /// Whether servers reach each other over links, which a cut needs.
    pub quorum_links: bool,
    /// Whether a server syncs its transaction log to disk before it acknowledges.
    pub fsync: bool,
    /// Largest heap of each JVM, in MiB; see [`heap_mb_for`].
    pub heap_mb: u32,
    /// Client ports are this and the following ones, then quorum ports, then election ports, then those
    /// of links. None: any free ports.
    pub base_port: Option<u16>,
    /// How long the servers may take until all of them serve.
    pub start_within: Duration,
    /// Where Java and ZooKeeper are looked for.
    pub places: Places,
    /// The `hustings` executable, which guards the JVMs. Tests are another executable and must name it.
    pub exe: PathBuf,
    /// Completes the sentence "chosen because …".
    pub why: String,
    /// Lines added to the end of server 1's configuration, for tests that need one that does not start.
    pub extra_config: String,
}

impl LocalOptions {
    /// Three servers with a tick of 500 ms that do not sync to disk, found by the environment, guarded by `exe`.
    #[must_use]
    pub fn new(exe: PathBuf) -> Self {
        Self {
            servers: 3,
            tick_ms: 500,
            init_limit: None,
            sync_limit: None,
            quorum_links: false,
            fsync: false,
            heap_mb: heap_mb_for(0),
            base_port: None,
            start_within: Duration::from_secs(60),
            places: Places::from_env(),
            exe,
            why: "it was asked for".to_owned(),
            extra_config: String::new(),
        }
    }

    pub(super) fn check(&self) -> Result<(), EnsembleError> {
        self.ticks().check(self.servers)
    }

    pub(super) fn ticks(&self) -> Ticks {
        Ticks { tick_ms: self.tick_ms, init_limit: self.init_limit, sync_limit: self.sync_limit }
    }
}

/// A heap, in MiB, that holds `candidates` sessions with a znode each: every server keeps all znodes and session timers,
/// and the connections of its share. With 6,000 candidates on three servers 18 MiB were alive, 3 KiB a candidate: this
/// gives eight times that, and never less than 512 MiB, because garbage has to go somewhere between two collections.
#[must_use]
pub fn heap_mb_for(candidates: u32) -> u32 {
    (candidates / 40).max(512)
}
