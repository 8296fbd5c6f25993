//! A port that lets connection attempts time out without refusing them, as a partition does. Not accepting is
//! insufficient: the kernel completes handshakes by itself. The client would then wait for answers, while in a
//! partition it still waits for the connection. So the port's queue is made as short as possible and filled. The kernel
//! then drops every SYN, and clients retransmit.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::FutureExt as _;
use rustix::net::SocketFlags;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tracing::warn;

/// Backlog of every port.
const BACKLOG: u32 = 4096;

/// A connection over loopback is established at once, unless the queue is full.
const FILL_LIMIT: Duration = Duration::from_millis(20);
/// A queue of length 0 takes one connection. Another client's may have taken it before ours.
const FILLERS_MAX: usize = 3;

/// Binds and listens, with a backlog for the concurrent reconnects of a whole host.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Prepares a port for its next owner: removes all clients and fillers from its queue, and restores the queue's length.
pub(super) fn clear(listener: &TcpListener) {
    for _ in 0..=BACKLOG {
        if rustix::net::accept_with(listener, SocketFlags::CLOEXEC).is_err() {
            break;
        }
    }
    if let Err(error) = rustix::net::listen(listener, i32::try_from(BACKLOG).unwrap_or(i32::MAX)) {
        warn!(%error, "the queue of a port stays short");
    }
}

/// A closed port. [`open`](Self::open) reopens it.
pub(super) struct ClosedPort {
    fillers: Vec<TcpStream>,
}

impl ClosedPort {
    /// Closes the port. Also returns the connections whose handshakes were already complete.
    pub(super) async fn shut(listener: &TcpListener) -> io::Result<(Self, Vec<TcpStream>)> {
        rustix::net::listen(listener, 0)?;
        let mut before = Vec::new();
        while let Some(accepted) = listener.accept().now_or_never() {
            before.push(accepted?.0);
        }
        let address = listener.local_addr()?;
        let mut fillers = Vec::new();
        while fillers.len() < FILLERS_MAX {
            match tokio::time::timeout(FILL_LIMIT, TcpStream::connect(address)).await {
                Ok(filler) => fillers.push(filler?),
                Err(_) => return Ok((Self { fillers }, before)),
            }
        }
        Err(io::Error::other("the queue of the port would not fill"))
    }

    /// Reopens the port. Returns the clients that waited in the queue, without our fillers.
    pub(super) fn open(self, listener: &TcpListener) -> io::Result<Vec<TcpStream>> {
        let ours: Vec<SocketAddr> = self.fillers.iter().filter_map(|filler| filler.local_addr().ok()).collect();
        let mut waited = Vec::new();
        while let Some(accepted) = listener.accept().now_or_never() {
            let (client, from) = accepted?;
            if !ours.contains(&from) {
                waited.push(client);
            }
        }
        rustix::net::listen(listener, i32::try_from(BACKLOG).unwrap_or(i32::MAX))?;
        Ok(waited)
    }
}
