//! One proxy: a listening port, its upstream, its toxics and its connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::warn;

use super::active_toxic::ConnectionEnd;
use super::closed_port::{self, ClosedPort};
use super::error::ApiError;
use super::pipeline::Chain;
use super::port::{BoundPort, look_up};
use super::request::ProxyRequest;
use super::serve::serve;
use super::shared::{ProxyShared, StatsScope, next_id};
use super::stats::{DisconnectReply, ProxyStats};
use super::tap::Taps;
use super::toxic::{Stream, Toxic, ToxicKind};

const TOXICS_MAX: usize = 64;
/// Pause after a failed accept (out of descriptors), to avoid a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A proxy as the API shows it.
#[derive(Serialize)]
pub(super) struct ProxyView<'a> {
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
    open: Option<OpenPort>,
    shared: Arc<ProxyShared>,
    lie: bool,
}

/// The port of an enabled proxy, and the task that accepts its clients.
struct OpenPort {
    port: BoundPort,
    acceptor: JoinHandle<()>,
}

impl Relay {
    pub(super) fn new(request: ProxyRequest, lie: bool, seed: u64, taps: Taps) -> Self {
        let ProxyRequest { name, listen, upstream, .. } = request;
        let shared = Arc::new(ProxyShared::new(&name, seed, taps));
        Self { name, listen, upstream, toxics: Vec::new(), open: None, shared, lie }
    }

    /// The same proxy with another address or upstream, and a closed port. It has the same toxics, counters and
    /// connections.
    pub(super) fn moved(&self, listen: String, upstream: String) -> Self {
        let Self { name, toxics, shared, lie, .. } = self;
        let (name, toxics, shared) = (name.clone(), toxics.clone(), Arc::clone(shared));
        Self { name, listen, upstream, toxics, open: None, shared, lie: *lie }
    }

    pub(super) fn view(&self) -> ProxyView<'_> {
        let Self { name, listen, upstream, toxics, .. } = self;
        ProxyView { name, listen, upstream, enabled: self.enabled(), toxics }
    }

    pub(super) fn enabled(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn port(&self) -> Option<&BoundPort> {
        self.open.as_ref().map(|open| &open.port)
    }

    /// Whether `listen`, which names this address, is where the proxy listens or would listen.
    pub(super) fn is_at(&self, listen: &str, address: Option<SocketAddr>) -> bool {
        self.listen == listen || address.is_some_and(|address| self.listen == address.to_string())
    }

    pub(super) fn toxics(&self) -> &[Toxic] {
        &self.toxics
    }

    /// Opens the port if it is closed.
    pub(super) async fn start(&mut self) -> Result<(), ApiError> {
        if self.enabled() {
            return Ok(());
        }
        let address = look_up(&self.listen).await?;
        let port = BoundPort::bind(address).map_err(|error| ApiError::listen(&self.listen, error))?;
        self.accept_on(port);
        Ok(())
    }

    /// Accepts clients on this port. From then on, `listen` contains the actual port.
    pub(super) fn accept_on(&mut self, port: BoundPort) {
        self.listen = port.address.to_string();
        let upstream: Arc<str> = Arc::from(self.upstream.as_str());
        let acceptor = tokio::spawn(accept(Arc::clone(&port.listener), Arc::clone(&self.shared), upstream));
        self.open = Some(OpenPort { port, acceptor });
    }

    /// Closes the port and all connections. When it returns, the port is free, or its successor's.
    pub(super) async fn stop(&mut self) {
        self.close_port().await;
        self.shared.end_all(ConnectionEnd::Close);
    }

    /// Closes the port. Connections stay.
    pub(super) async fn close_port(&mut self) {
        let Some(OpenPort { port, acceptor }) = self.open.take() else { return };
        acceptor.abort();
        // The expected result is a cancellation error.
        let _ = acceptor.await;
        if Arc::strong_count(&port.listener) > 1 {
            closed_port::clear(&port.listener);
        }
    }

    /// Resets all connections.
    pub(super) fn disconnect(&self) -> DisconnectReply {
        let reset = if self.lie { self.shared.open() } else { self.shared.end_all(ConnectionEnd::Reset) };
        DisconnectReply { reset, below: next_id() }
    }

    pub(super) fn add_toxic(&mut self, toxic: Toxic) -> Result<&Toxic, ApiError> {
        if self.toxics.iter().any(|other| other.name == toxic.name) {
            return Err(ApiError::toxic_exists());
        }
        if self.toxics.len() >= TOXICS_MAX {
            return Err(ApiError::too_many("toxics on this proxy", TOXICS_MAX));
        }
        // The API lists upstream toxics first.
        let at = self.toxics.partition_point(|other| other.stream <= toxic.stream);
        self.toxics.insert(at, toxic);
        self.publish();
        Ok(&self.toxics[at])
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

    /// Publishes the toxics to all current and future connections.
    fn publish(&self) {
        if self.lie {
            return;
        }
        let mut chain = Chain::default();
        for toxic in self.toxics.iter().cloned().map(Arc::new) {
            let place = match (toxic.kind, toxic.stream) {
                (ToxicKind::AwaitUpstream(_), _) => &mut chain.before,
                (ToxicKind::LoseReply(_), _) => &mut chain.reading,
                (_, Stream::Upstream) => &mut chain.up,
                (_, Stream::Downstream) => &mut chain.down,
            };
            place.push(toxic);
        }
        self.shared.publish(chain);
    }

    pub(super) fn stats(&self, extent: StatsScope) -> ProxyStats {
        self.shared.stats(extent)
    }
}

async fn accept(listener: Arc<TcpListener>, shared: Arc<ProxyShared>, upstream: Arc<str>) {
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

/// Accepts nothing until no hold applies to all. Earlier and intermediate clients are served, and held like others.
async fn shut_out(
    listener: &TcpListener,
    chain: &mut watch::Receiver<Arc<Chain>>,
    welcome: impl Fn(TcpStream),
) -> io::Result<()> {
    let (door, before) = ClosedPort::shut(listener).await?;
    before.into_iter().for_each(&welcome);
    // The sender lives as long as its proxy, and this task does not outlive the proxy.
    let _ = chain.wait_for(|chain| !chain.holds_all()).await;
    door.open(listener)?.into_iter().for_each(&welcome);
    Ok(())
}
