//! The connections of one proxy: open ones, recently closed ones, and their shared state.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::process::clock;
use crate::process::lock::lock;

use super::active_toxic::ConnectionEnd;
use super::connection::ProxyConnection;
use super::counters::Counters;
use super::pipeline::Chain;
use super::reading::ExecutedCreate;
use super::stats::{ConnectionStats, LostReply, ProxyStats};
use super::tap::Taps;
use super::toxic::{LoseReply, Stream, Toxic, ToxicKind};

/// Closed connections that are kept: several times as many as a host may have on one link.
const RECENT_MAX: usize = 8192;

/// Maximum number of answers that one toxic holds back.
const LOST_MAX: u64 = 10_000;

/// Connection ids, unique across all proxies of the process.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// An id above those of all connections accepted so far.
pub(super) fn next_id() -> u64 {
    NEXT_ID.load(Relaxed)
}

/// What a proxy shares with its connections.
#[derive(Default)]
pub(super) struct ProxyShared {
    pub(super) seed: u64,
    /// The proxy's name, and the recorder of its traffic.
    name: Arc<str>,
    taps: Taps,
    chain: watch::Sender<Arc<Chain>>,
    up: Counters,
    down: Counters,
    accepted: AtomicU64,
    closed: AtomicU64,
    failed: AtomicU64,
    abandoned: AtomicU64,
    forgotten: AtomicU64,
    connections: Mutex<BTreeMap<u64, Arc<ProxyConnection>>>,
    recent: Mutex<VecDeque<ConnectionStats>>,
    /// Answers that were held back, with the serial of the toxic.
    lost: Mutex<Vec<(u64, LostReply)>>,
}

impl ProxyShared {
    pub(super) fn new(name: &str, seed: u64, taps: Taps) -> Self {
        Self { seed, name: name.into(), taps, ..Self::default() }
    }

    pub(super) fn chain(&self) -> watch::Receiver<Arc<Chain>> {
        self.chain.subscribe()
    }

    pub(super) fn publish(&self, chain: Chain) {
        self.chain.send_replace(Arc::new(chain));
    }

    pub(super) fn way(&self, stream: Stream) -> &Counters {
        match stream {
            Stream::Upstream => &self.up,
            Stream::Downstream => &self.down,
        }
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    pub(super) fn abandoned(&self) {
        self.abandoned.fetch_add(1, Relaxed);
    }

    pub(super) fn admit(&self, client: TcpStream) -> Arc<ProxyConnection> {
        let id = NEXT_ID.fetch_add(1, Relaxed);
        let connection = Arc::new(ProxyConnection::new(id, client, self.taps.open(&self.name, id)));
        self.accepted.fetch_add(1, Relaxed);
        lock(&self.connections).insert(connection.id, Arc::clone(&connection));
        connection
    }

    /// Records the end of a connection.
    pub(super) fn dismiss(&self, connection: &ProxyConnection) {
        lock(&self.connections).remove(&connection.id);
        let stats = connection.stats(Some(clock::now()));
        self.closed.fetch_add(1, Relaxed);
        let mut recent = lock(&self.recent);
        // A connection that the server never answered carried no session. Many of them must not displace the others.
        if stats.head.is_empty() || recent.len() >= RECENT_MAX {
            self.forgotten.fetch_add(1, Relaxed);
        }
        if !stats.head.is_empty() {
            if recent.len() >= RECENT_MAX {
                recent.pop_front();
            }
            recent.push_back(stats);
        }
    }

    /// Whether a toxic holds back the answer to this create. If so, records it.
    pub(super) fn loses(&self, toxics: &[Arc<Toxic>], connection: u64, created: &ExecutedCreate) -> bool {
        let mut lost = lock(&self.lost);
        let wants = |toxic: &&Arc<Toxic>| match toxic.kind {
            ToxicKind::LoseReply(LoseReply { creates }) => {
                let so_far = lost.iter().filter(|(serial, _)| *serial == toxic.serial).count() as u64;
                so_far < creates.taken().min(LOST_MAX) && toxic.hits(connection, self.seed)
            }
            _ => false,
        };
        let Some(serial) = toxics.iter().find(wants).map(|toxic| toxic.serial) else { return false };
        // Answers that other toxics held back have been read long before.
        lost.retain(|(other, _)| *other == serial);
        let ExecutedCreate { xid, path, zxid } = created.clone();
        lost.push((serial, LostReply { at: clock::now(), connection, xid, path, zxid }));
        true
    }

    /// Number of open connections.
    pub(super) fn open(&self) -> u64 {
        lock(&self.connections).len() as u64
    }

    /// Orders all connections to end, and returns their number.
    pub(super) fn end_all(&self, fate: ConnectionEnd) -> u64 {
        let connections = lock(&self.connections);
        connections.values().for_each(|connection| connection.end(fate));
        connections.len() as u64
    }

    pub(super) fn stats(&self, extent: StatsScope) -> ProxyStats {
        let open = lock(&self.connections);
        let recent = lock(&self.recent);
        let [mut up, mut down] = [self.up.stats(0), self.down.stats(0)];
        for [way_up, way_down] in open.values().map(|connection| connection.ways()) {
            up.held += way_up.held;
            down.held += way_down.held;
        }
        let connections = if extent.brief {
            Vec::new()
        } else {
            let late = recent.iter().filter(|one| one.closed.is_some_and(|closed| closed >= extent.closed_after));
            late.cloned().chain(open.values().map(|connection| connection.stats(None))).collect()
        };
        ProxyStats {
            now: clock::now(),
            up,
            down,
            open: open.len() as u64,
            accepted: self.accepted.load(Relaxed),
            closed: self.closed.load(Relaxed),
            failed: self.failed.load(Relaxed),
            abandoned: self.abandoned.load(Relaxed),
            oldest_open: open.keys().next().copied(),
            next_id: next_id(),
            connections,
            forgotten: self.forgotten.load(Relaxed),
            lost: lock(&self.lost).iter().map(|(_, reply)| reply.clone()).collect(),
        }
    }
}

/// The connections that statistics list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StatsScope {
    /// No connections.
    pub(super) brief: bool,
    /// Omits connections that closed before this time.
    pub(super) closed_after: u64,
}
