//! A port on which no connection can be made, though nobody refuses it: what a partition does to a handshake. Merely not
//! accepting would not do: the kernel completes handshakes on its own, and a client that has a connection waits for answers
//! on it, where in a partition it would still be waiting for the connection. So the queue of the port is made as short as
//! it can be and filled: from then on the kernel drops every SYN, and clients send it again and again, as they would.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connections that may wait to be accepted, on every port.
const BACKLOG: u32 = 4096;

/// A connection over loopback stands at once, or the queue is full.
const FILL_LIMIT: Duration = Duration::from_millis(20);
/// A queue of length 0 takes one connection; another may have gone before ours.
const FILLERS_MAX: usize = 3;

/// Binds and listens, with a backlog that takes a whole host's reconnects at once.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A shut port. Open it again with [`open`](Self::open).
pub(super) struct Door {
    fillers: Vec<TcpStream>,
}

impl Door {
    /// Shuts the port. Gives the connections that were made before as well: their handshake was complete.
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

    /// Opens the port again. Gives who waited in the queue and is none of ours.
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
