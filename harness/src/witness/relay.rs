//! A port that forwards all data to a server and back, and reports decoded messages before it forwards them.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::conversation::{Conversation, DecodedMessage};
use super::lines::{OpenConnection, RelayLines};
use crate::access::Access;
use crate::wire::end::{addresses, root};

/// Pause after a failed accept (out of descriptors), so that it does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// An event on one of a relay's connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// A client has connected.
    Opened,
    Said(DecodedMessage),
    /// The connection has ended; `failure`: why not everything could be decoded until then.
    Ended {
        failure: Option<String>,
    },
}

/// Callback for events: the connection's number within this witness, and the event.
pub type RelayCallback = Rc<dyn Fn(u64, RelayEvent)>;

/// A listening port in front of one server. Dropping it ends all of its connections.
pub struct Relay {
    address: SocketAddr,
    _accepting: JoinSet<()>,
}

impl Relay {
    /// Opens a port on this machine's loopback. Registers its connections in `lines`.
    ///
    /// # Errors
    /// There is no port.
    pub async fn open(upstream: SocketAddr, lines: Arc<RelayLines>, tell: RelayCallback) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let mut accepting = JoinSet::new();
        accepting.spawn_local(accept(listener, upstream, lines, tell));
        Ok(Self { address, _accepting: accepting })
    }

    /// Opens one in front of each of these servers, in their order.
    ///
    /// # Errors
    /// There is no port.
    pub async fn open_all(
        servers: impl IntoIterator<Item = SocketAddr>,
        lines: &Arc<RelayLines>,
        tell: &RelayCallback,
    ) -> io::Result<Vec<Self>> {
        let mut relays = Vec::new();
        for server in servers {
            relays.push(Self::open(server, lines.clone(), tell.clone()).await?);
        }
        Ok(relays)
    }

    /// Opens one in front of each server of a connect string. Returns their own connect string, with the same root.
    ///
    /// # Errors
    /// A server's address is invalid, or there is no port.
    pub async fn open_before(
        cluster: &str,
        lines: &Arc<RelayLines>,
        tell: &RelayCallback,
    ) -> anyhow::Result<(Vec<Self>, String)> {
        let parsed = addresses(cluster).map(|text| text.parse().with_context(|| format!("{text} is no address")));
        let servers: Vec<SocketAddr> = parsed.collect::<anyhow::Result<_>>()?;
        let relays = Self::open_all(servers, lines, tell).await.context("no port for a relay")?;
        let ports: Vec<SocketAddr> = relays.iter().map(Self::address).collect();
        let cluster = Access::default().connect_string(&ports, root(cluster));
        Ok((relays, cluster))
    }

    /// The address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, lines: Arc<RelayLines>, tell: RelayCallback) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => _ = connections.spawn_local(pass(client, lines.open(upstream), tell.clone())),
                Err(error) => {
                    tracing::warn!(%error, "a client's connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn pass(client: TcpStream, open: OpenConnection, tell: RelayCallback) {
    let number = open.number;
    tell(number, RelayEvent::Opened);
    let conversation = Rc::new(RefCell::new(Conversation::default()));
    let passed = async {
        let server = TcpStream::connect(open.line.server).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (read, told) = (conversation.clone(), tell.clone());
        let mut client = TappedStream::new(client, move |data| {
            read.borrow_mut().up(data, |said| told(number, RelayEvent::Said(said)));
        });
        let (read, told, line) = (conversation.clone(), tell.clone(), open.line.clone());
        let mut server = TappedStream::new(server, move |data| {
            line.hears();
            read.borrow_mut().down(data, |said| {
                if let DecodedMessage::Established { session, .. } = said {
                    line.carries(session);
                }
                told(number, RelayEvent::Said(said));
            });
        });
        copy_bidirectional(&mut client, &mut server).await
    };
    tokio::select! {
        passed = passed => if let Err(error) = passed {
            tracing::debug!(number, %error, "a connection broke off");
        },
        () = open.line.cut() => tracing::debug!(number, "a connection was cut"),
    }
    let failure = conversation.borrow().failure().map(str::to_owned);
    tell(number, RelayEvent::Ended { failure });
}

/// A stream that reports all data that is read from it first.
struct TappedStream<S, T> {
    stream: S,
    tell: T,
}

impl<S, T: FnMut(&[u8])> TappedStream<S, T> {
    fn new(stream: S, tell: T) -> Self {
        Self { stream, tell }
    }
}

impl<S: AsyncRead + Unpin, T: FnMut(&[u8]) + Unpin> AsyncRead for TappedStream<S, T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let there = into.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, into))?;
        let read = &into.filled()[there..];
        if !read.is_empty() {
            (this.tell)(read);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, T: Unpin> AsyncWrite for TappedStream<S, T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
