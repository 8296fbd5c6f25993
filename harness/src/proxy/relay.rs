//! One proxy: a listening port, its upstream, its toxics and its connections.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::warn;

use crate::clock;

use super::connection::{Connection, lock};
use super::counters::Counters;
use super::door::Door;
use super::error::ApiError;
use super::pipeline::Chain;
use super::stage::Fate;
use super::stats::{ConnectionStats, Disconnected, ProxyStats};
use super::toxic::{Kind, Stream, Toxic};

/// Closed connections that are remembered: as many as a host may have on one link, several times over.
const RECENT_MAX: usize = 8192;
const TOXICS_MAX: usize = 64;
/// A name server may take as long as it likes; who asks for a proxy does not wait for that.
const LOOK_UP_MAX: Duration = Duration::from_secs(1);
/// Pause after a failed accept (out of descriptors), so that it does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Ids of connections, over all proxies of the process.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// What a proxy shares with its connections.
pub(super) struct Shared {
    pub(super) seed: u64,
    chain: watch::Sender<Arc<Chain>>,
    up: Counters,
    down: Counters,
    accepted: AtomicU64,
    closed: AtomicU64,
    failed: AtomicU64,
    abandoned: AtomicU64,
    forgotten: AtomicU64,
    connections: Mutex<BTreeMap<u64, Arc<Connection>>>,
    recent: Mutex<VecDeque<ConnectionStats>>,
}

impl Shared {
    pub(super) fn chain(&self) -> watch::Receiver<Arc<Chain>> {
        self.chain.subscribe()
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

    fn remember(&self, connection: &Connection) {
        let stats = connection.stats(Some(clock::now()));
        self.closed.fetch_add(1, Relaxed);
        let mut recent = lock(&self.recent);
        // One that the server never answered carried no session: a storm of them must not push the others out.
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
}

/// Which single connections statistics list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    /// None at all.
    pub(super) brief: bool,
    /// Of the closed ones only those closed since then.
    pub(super) closed_after: u64,
}

/// A proxy as the API shows it.
#[derive(Serialize)]
pub(super) struct View<'a> {
    name: &'a str,
    listen: &'a str,
    upstream: &'a str,
    enabled: bool,
    toxics: &'a [Toxic],
}

pub(super) struct Relay {
    pub(super) name: String,
    pub(super) listen: String,
    pub(super) upstream: String,
    toxics: Vec<Toxic>,
    acceptor: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    lie: bool,
}

impl Relay {
    pub(super) fn new(name: String, listen: String, upstream: String, lie: bool, seed: u64) -> Self {
        let shared = Shared {
            seed,
            chain: watch::Sender::default(),
            up: Counters::default(),
            down: Counters::default(),
            accepted: AtomicU64::new(0),
            closed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
            connections: Mutex::default(),
            recent: Mutex::default(),
        };
        Self { name, listen, upstream, toxics: Vec::new(), acceptor: None, shared: Arc::new(shared), lie }
    }

    pub(super) fn view(&self) -> View<'_> {
        let Self { name, listen, upstream, toxics, .. } = self;
        View { name, listen, upstream, enabled: self.enabled(), toxics }
    }

    pub(super) fn enabled(&self) -> bool {
        self.acceptor.is_some()
    }

    pub(super) fn toxics(&self) -> &[Toxic] {
        &self.toxics
    }

    /// Opens the port, unless it is open. From then on `listen` is the address with its port.
    pub(super) async fn start(&mut self) -> Result<(), ApiError> {
        if self.enabled() {
            return Ok(());
        }
        let (listener, address) = open(&self.listen).await.map_err(|error| ApiError::listen(&self.listen, error))?;
        self.listen = address.to_string();
        let upstream: Arc<str> = Arc::from(self.upstream.as_str());
        self.acceptor = Some(tokio::spawn(accept(listener, Arc::clone(&self.shared), upstream)));
        Ok(())
    }

    /// Closes the port and all connections. When it returns the port is free.
    pub(super) async fn stop(&mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.abort();
            // Cancelled is what it is meant to be.
            let _ = acceptor.await;
        }
        self.end_all(Fate::Close);
    }

    /// Resets all connections.
    pub(super) fn disconnect(&self) -> Disconnected {
        let reset = if self.lie { lock(&self.shared.connections).len() as u64 } else { self.end_all(Fate::Reset) };
        Disconnected { reset, below: NEXT_ID.load(Relaxed) }
    }

    fn end_all(&self, fate: Fate) -> u64 {
        let connections = lock(&self.shared.connections);
        connections.values().for_each(|connection| connection.end(fate));
        connections.len() as u64
    }

    pub(super) fn add_toxic(&mut self, toxic: Toxic) -> Result<&Toxic, ApiError> {
        if self.toxics.iter().any(|other| other.name == toxic.name) {
            return Err(ApiError::toxic_exists());
        }
        if self.toxics.len() >= TOXICS_MAX {
            return Err(ApiError::too_many("toxics on this proxy", TOXICS_MAX));
        }
        self.toxics.push(toxic);
        self.publish();
        self.toxics.last().ok_or_else(ApiError::no_toxic)
    }

    pub(super) fn toxic(&self, name: &str) -> Result<&Toxic, ApiError> {
        self.toxics.iter().find(|toxic| toxic.name == name).ok_or_else(ApiError::no_toxic)
    }

    pub(super) fn update_toxic(&mut self, name: &str, body: &[u8]) -> Result<&Toxic, ApiError> {
        let updated = self.toxic(name)?.updated(body)?;
        if let Some(toxic) = self.toxics.iter_mut().find(|toxic| toxic.name == name) {
            *toxic = updated;
        }
        self.publish();
        self.toxic(name)
    }

    pub(super) fn remove_toxic(&mut self, name: &str) -> Result<(), ApiError> {
        let at = self.toxics.iter().position(|toxic| toxic.name == name).ok_or_else(ApiError::no_toxic)?;
        self.toxics.remove(at);
        self.publish();
        Ok(())
    }

    pub(super) fn remove_toxics(&mut self) {
        self.toxics.clear();
        self.publish();
    }

    /// Tells all connections, those to come included.
    fn publish(&self) {
        if self.lie {
            return;
        }
        let (before, on_data): (Vec<_>, Vec<_>) =
            self.toxics.iter().cloned().map(Arc::new).partition(|toxic| matches!(toxic.kind, Kind::AwaitUpstream(_)));
        let (up, down) = on_data.into_iter().partition(|toxic| toxic.stream == Stream::Upstream);
        let chain = Chain { up, down, before };
        self.shared.chain.send_replace(Arc::new(chain));
    }

    pub(super) fn stats(&self, extent: Extent) -> ProxyStats {
        let shared = &self.shared;
        let open = lock(&shared.connections);
        let recent = lock(&shared.recent);
        let [mut up, mut down] = [shared.up.stats(0), shared.down.stats(0)];
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
            accepted: shared.accepted.load(Relaxed),
            closed: shared.closed.load(Relaxed),
            failed: shared.failed.load(Relaxed),
            abandoned: shared.abandoned.load(Relaxed),
            oldest_open: open.keys().next().copied(),
            next_id: NEXT_ID.load(Relaxed),
            connections,
            forgotten: shared.forgotten.load(Relaxed),
        }
    }
}

/// Resolves and binds. A missing host means this machine only.
async fn open(listen: &str) -> io::Result<(TcpListener, SocketAddr)> {
    let full = match listen {
        "" => "127.0.0.1:0".to_owned(),
        port if port.starts_with(':') => format!("127.0.0.1{port}"),
        other => other.to_owned(),
    };
    let looked_up = tokio::time::timeout(LOOK_UP_MAX, tokio::net::lookup_host(&full)).await;
    let too_long =
        || io::Error::new(io::ErrorKind::TimedOut, format!("no answer to the look-up of {full}: give an address"));
    let address = looked_up
        .map_err(|_| too_long())??
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address"))?;
    let listener = super::listen(address)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, upstream: Arc<str>) {
    let mut chain = shared.chain();
    let welcome = |client| drop(tokio::spawn(serve(client, Arc::clone(&shared), Arc::clone(&upstream))));
    loop {
        let holds = chain.borrow_and_update().holds_all();
        let done = if holds {
            shut_out(&listener, &mut chain, welcome).await
        } else {
            tokio::select! {
                accepted = listener.accept() => accepted.map(|(client, _)| welcome(client)),
                _ = chain.changed() => Ok(()),
            }
        };
        if let Err(error) = done {
            warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}

/// Lets nobody in until no hold keeps everybody out. Who came before or in between is welcome, and held like the others.
async fn shut_out(
    listener: &TcpListener,
    chain: &mut watch::Receiver<Arc<Chain>>,
    welcome: impl Fn(TcpStream),
) -> io::Result<()> {
    let (door, before) = Door::shut(listener).await?;
    before.into_iter().for_each(&welcome);
    // The sender lives as long as its proxy, and this task no longer.
    let _ = chain.wait_for(|chain| !chain.holds_all()).await;
    door.open(listener)?.into_iter().for_each(&welcome);
    Ok(())
}

async fn serve(client: TcpStream, shared: Arc<Shared>, upstream: Arc<str>) {
    if let Err(error) = client.set_nodelay(true) {
        // The client has gone already, or its bytes would be late for a reason that is not its network's.
        warn!(%error, "a connection was refused: its Nagle delay cannot be turned off");
        return;
    }
    let connection = Arc::new(Connection::new(NEXT_ID.fetch_add(1, Relaxed), client));
    shared.accepted.fetch_add(1, Relaxed);
    lock(&shared.connections).insert(connection.id, Arc::clone(&connection));
    connection.run(&shared, &upstream).await;
    lock(&shared.connections).remove(&connection.id);
    shared.remember(&connection);
}
