//! One connection through a proxy, from its acceptance to its end.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tracing::debug;

use crate::clock;

use super::counters::Counters;
use super::pipeline::Chain;
use super::pump::{Outcome, Pump};
use super::relay::Shared;
use super::stage::Fate;
use super::stats::{ConnectionStats, WayStats, hex};
use super::toxic::Stream;

/// How much of what the server says first is kept.
const HEAD_BYTES: usize = 64;
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Pause between two tries of a connection that awaits its upstream: that of ZooKeeper's followers before a new leader's
/// port, so that a link neither hurries nor delays them.
const CONNECT_AGAIN: Duration = Duration::from_millis(100);
/// How often a connection that waits for the end of a hold is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long the open half of a half-closed connection may be idle.
const HALF_OPEN_LIMIT: Duration = Duration::from_secs(60);

/// Locks, whatever happened to another holder: nothing here can be left half-done.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: u64,
    opened: u64,
    client: TcpStream,
    server: OnceLock<TcpStream>,
    up: Counters,
    down: Counters,
    held_up: AtomicBool,
    held_down: AtomicBool,
    head: Mutex<Vec<u8>>,
    order: AtomicU8,
    ordered: Notify,
}

impl Connection {
    pub(super) fn new(id: u64, client: TcpStream) -> Self {
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
            order: AtomicU8::new(0),
            ordered: Notify::new(),
        }
    }

    /// Tells it to end.
    pub(super) fn end(&self, fate: Fate) {
        self.order.store(if fate == Fate::Reset { 2 } else { 1 }, Relaxed);
        self.ordered.notify_one();
    }

    async fn told_to_end(&self) -> Fate {
        loop {
            match self.order.load(Relaxed) {
                0 => self.ordered.notified().await,
                1 => return Fate::Close,
                _ => return Fate::Reset,
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

    /// Up and down. What a hold keeps waits in the sockets.
    pub(super) fn ways(&self) -> [WayStats; 2] {
        let connecting = self.server.get().is_none();
        let up = if connecting || self.held_up.load(Relaxed) { unread(&self.client) } else { 0 };
        let down = self.server.get().filter(|_| self.held_down.load(Relaxed)).map_or(0, unread);
        [self.up.stats(up), self.down.stats(down)]
    }

    /// Lives the connection's life. The sockets close when the last owner of `self` lets go.
    pub(super) async fn run(self: &Arc<Self>, shared: &Shared, upstream: &str) {
        let fate = tokio::select! {
            fate = self.told_to_end() => fate,
            fate = self.carry(shared, upstream) => fate,
        };
        if fate == Fate::Reset {
            for socket in [Some(&self.client), self.server.get()].into_iter().flatten() {
                if let Err(error) = socket.set_zero_linger() {
                    debug!(%error, "a connection is closed instead of reset");
                }
            }
        }
    }

    async fn carry(&self, shared: &Shared, upstream: &str) -> Fate {
        let mut chain = shared.chain();
        let Some(server) = self.reach(&mut chain, shared, upstream).await else { return Fate::Close };
        let server = self.server.get_or_init(|| server);
        let ways = [(Stream::Upstream, &self.client, server), (Stream::Downstream, server, &self.client)];
        let [up, down] = ways.map(|(stream, source, sink)| {
            Pump::new(self, stream, (source, sink), shared.way(stream), chain.clone(), shared.seed).run()
        });
        let (mut up, mut down) = (pin!(up), pin!(down));
        tokio::select! {
            outcome = &mut up => self.other_half(outcome, down).await,
            outcome = &mut down => self.other_half(outcome, up).await,
        }
    }

    /// Connects once no hold forbids it, or tries again while it may. None: it was counted why not.
    async fn reach(
        &self,
        chain: &mut watch::Receiver<Arc<Chain>>,
        shared: &Shared,
        upstream: &str,
    ) -> Option<TcpStream> {
        let begun = Instant::now();
        loop {
            if !self.may_connect(chain, shared.seed).await {
                shared.abandoned();
                return None;
            }
            let server = connect(upstream).await;
            if server.is_some() {
                return server;
            }
            let patience = chain.borrow().patience(self.id, shared.seed);
            if begun.elapsed() >= patience || hung_up(&self.client) {
                shared.failed();
                return None;
            }
            tokio::time::sleep(CONNECT_AGAIN).await;
        }
    }

    /// One direction has ended: the other goes on, but not for ever without a byte.
    async fn other_half(&self, first: Outcome, mut other: impl Future<Output = Outcome> + Unpin) -> Fate {
        if let Outcome::Fate(fate) = first {
            return fate;
        }
        let moved = || [&self.up, &self.down].map(|way| way.stats(0).bytes);
        let mut before = moved();
        loop {
            match tokio::time::timeout(HALF_OPEN_LIMIT, &mut other).await {
                Ok(Outcome::Fate(fate)) => return fate,
                Ok(Outcome::Finished) => return Fate::Close,
                Err(_) if self.held_up.load(Relaxed) || self.held_down.load(Relaxed) => {}
                Err(_) if moved() == before => return Fate::Close,
                Err(_) => before = moved(),
            }
        }
    }

    /// Waits until no hold keeps it from its server. False: its client has gone meanwhile.
    async fn may_connect(&self, chain: &mut watch::Receiver<Arc<Chain>>, seed: u64) -> bool {
        loop {
            let holds = chain.borrow_and_update().holds(self.id, seed);
            if !holds {
                return true;
            }
            tokio::select! {
                _ = chain.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            if hung_up(&self.client) {
                return false;
            }
        }
    }
}

async fn connect(upstream: &str) -> Option<TcpStream> {
    let connected = tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(upstream)).await;
    match connected {
        Ok(Ok(stream)) => match stream.set_nodelay(true) {
            Ok(()) => Some(stream),
            Err(error) => {
                debug!(%upstream, %error, "no connection without Nagle delay");
                None
            }
        },
        Ok(Err(error)) => {
            debug!(%upstream, %error, "upstream cannot be reached");
            None
        }
        Err(_) => {
            debug!(%upstream, "upstream does not answer");
            None
        }
    }
}

/// Bytes that have arrived and were not read.
fn unread(socket: &TcpStream) -> u64 {
    rustix::io::ioctl_fionread(socket).unwrap_or(0)
}

/// Whether the peer has closed its end, looked up without reading what it sent before.
fn hung_up(socket: &TcpStream) -> bool {
    let mut fds = [PollFd::new(socket, PollFlags::RDHUP)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}
