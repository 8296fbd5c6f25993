//! Limits on API connections, their duration and their size. Incomplete or endless requests must not take descriptors,
//! memory or time from the links, and idle connections no place from new requests. A complete request is handled to its
//! end.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::serve::{IncomingStream, Listener};
use futures::StreamExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tracing::debug;

use super::error::ApiError;
use super::places::{ApiPlace, ApiPlaces};

/// Concurrent connections to the API. For a further one, the connection that has been idle for longest is closed. If a
/// request of each is handled at that moment, the further one is.
const CONNECTIONS_MAX: usize = 256;
/// A request's body must arrive within this, counted from the end of its head.
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// Head and body together must arrive within this, counted from the request's first byte, or from the beginning of its
/// connection. It leaves time for the head: the limit on the body usually expires first, and the client receives an
/// answer.
const REQUEST_WITHIN: Duration = Duration::from_secs(20);
/// Maximum body size, and the number of further bytes that are discarded so that the sender can read the answer.
const BODY_BYTES_MAX: usize = 4 << 20;
const DRAINED_BYTES_MAX: usize = 64 << 20;

/// Reads the whole request before it is handled, within the limits of size and time.
pub(super) async fn bounded(ConnectInfo(place): ConnectInfo<ApiPlace>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match timeout(BODY_WITHIN, read(body)).await {
        Ok(Ok(Some(bytes))) => handle(&place, Request::from_parts(parts, Body::from(bytes)), next).await,
        Ok(Ok(None)) => ApiError::too_large(BODY_BYTES_MAX).into_response(),
        Ok(Err(error)) => ApiError::bad_body(error).into_response(),
        Err(_) => ApiError::too_slow(BODY_WITHIN).into_response(),
    }
}

/// Handles the request in a task of its own: no change is left half made because its client leaves meanwhile.
async fn handle(place: &ApiPlace, request: Request, next: Next) -> Response {
    let busy = place.busy();
    let handled = tokio::spawn(async move {
        let answer = next.run(request).await;
        drop(busy);
        answer
    });
    handled.await.unwrap_or_else(|error| ApiError::failed(error).into_response())
}

/// None: the body is too long.
async fn read(body: Body) -> Result<Option<Bytes>, axum::Error> {
    let (mut stream, mut bytes, mut length) = (body.into_data_stream(), Vec::new(), 0_usize);
    while let Some(part) = stream.next().await.transpose()? {
        length = length.saturating_add(part.len());
        if length <= BODY_BYTES_MAX {
            bytes.extend_from_slice(&part);
        } else if length > DRAINED_BYTES_MAX {
            break;
        } else {
            bytes = Vec::new();
        }
    }
    Ok((length <= BODY_BYTES_MAX).then(|| bytes.into()))
}

/// The API's listener.
pub(super) struct ApiListener {
    listener: TcpListener,
    places: ApiPlaces,
}

impl ApiListener {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, places: ApiPlaces::new(CONNECTIONS_MAX) }
    }
}

impl Listener for ApiListener {
    type Io = ApiConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (ApiConnection, SocketAddr) {
        loop {
            // axum's own accept pauses when no descriptors are available.
            let (stream, from) = Listener::accept(&mut self.listener).await;
            let Some((place, gives_way)) = self.places.take().await else {
                debug!(%from, "too many connections to the API");
                continue;
            };
            if let Err(error) = stream.set_nodelay(true) {
                debug!(%error, "an API connection keeps its Nagle delay");
            }
            let connection = ApiConnection { stream, due: Some(in_time()), place, gives_way, given_way: false };
            return (connection, from);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, ApiListener>> for ApiPlace {
    fn connect_info(stream: IncomingStream<'_, ApiListener>) -> Self {
        stream.io().place.clone()
    }
}

/// A connection to the API. It may be idle between two requests, but not within one.
pub(super) struct ApiConnection {
    stream: TcpStream,
    /// Deadline of the next request. None: the last request was answered.
    due: Option<Pin<Box<Sleep>>>,
    place: ApiPlace,
    /// The order to end, since a new connection needs the place.
    gives_way: oneshot::Receiver<()>,
    given_way: bool,
}

impl ApiConnection {
    fn has_given_way(&mut self, cx: &mut Context<'_>) -> bool {
        self.given_way = self.given_way || Pin::new(&mut self.gives_way).poll(cx).is_ready();
        self.given_way
    }
}

/// The deadline of a request that begins now.
fn in_time() -> Pin<Box<Sleep>> {
    Box::pin(sleep_until(Instant::now() + REQUEST_WITHIN))
}

impl AsyncRead for ApiConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.has_given_way(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if polled.is_ready() {
            self.due.get_or_insert_with(in_time);
            return polled;
        }
        let late = self.due.as_mut().is_some_and(|due| due.as_mut().poll(cx).is_ready());
        if late { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { Poll::Pending }
    }
}

impl AsyncWrite for ApiConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.has_given_way(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        self.due = None;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
