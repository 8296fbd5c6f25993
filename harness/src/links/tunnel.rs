//! The tunnel to servers that speak TLS. It has one loopback port per server, which all clients of the run use in
//! plaintext. It opens one TLS connection per client connection. Components that decode or forward the ZooKeeper
//! protocol, such as links, need no TLS. A server has the same name on every path.
//!
//! The tunnel has its own thread, so that load on the coordinator does not delay candidates. Stalls of that thread are
//! recorded, as for every process that carries links.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncWriteExt as _, copy, split};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::access::Tls;
use crate::sidecar::{Sidecar, SidecarOrder};

/// Connections that wait to be accepted: thousands of candidates connect at once.
const BACKLOG: u32 = 4096;
/// Limit for connecting to a server, handshake included. The client has given up before that.
const DIAL_AT_MOST: Duration = Duration::from_secs(10);
/// Time for data in flight to arrive after one side closes.
const LINGER: Duration = Duration::from_secs(5);
/// Orders are executed at once, unless the machine stalls.
const ORDER_AT_MOST: Duration = Duration::from_secs(5);
/// Pause before the next accept when the descriptor limit is reached.
const AGAIN: Duration = Duration::from_millis(50);

/// Ports that lead to the servers. Dropping it ends the connections over them.
#[derive(Debug)]
pub struct Tunnel {
    addrs: Vec<SocketAddr>,
    /// None: the thread must end.
    orders: Option<mpsc::UnboundedSender<StallOrder>>,
    thread: Option<JoinHandle<()>>,
}

/// An order about the segment that records stalls, and the channel for its result.
type StallOrder = (SidecarOrder, oneshot::Sender<Result<(), String>>);

impl Tunnel {
    /// Opens a port for each server, given as its address and its name.
    ///
    /// # Errors
    /// No port is available, or no thread can be started.
    pub fn open(tls: Tls, servers: Vec<(SocketAddr, String)>) -> io::Result<Self> {
        let (tell, told) = std::sync::mpsc::channel();
        let (orders, taken) = mpsc::unbounded_channel();
        let work = move || {
            let opened = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
                let _inside = runtime.enter();
                let doors = servers.iter().map(|_| door()).collect::<io::Result<Vec<_>>>()?;
                let addrs = doors.iter().map(TcpListener::local_addr).collect::<io::Result<Vec<_>>>()?;
                Ok((runtime, doors, addrs))
            });
            let (runtime, doors) = match opened {
                Ok((runtime, doors, addrs)) => {
                    // If the receiver is gone, the stop follows.
                    let _ = tell.send(Ok(addrs));
                    (runtime, doors)
                }
                Err(error) => return drop(tell.send(Err(error))),
            };
            runtime.block_on(async {
                for (door, (addr, name)) in doors.into_iter().zip(servers) {
                    tokio::spawn(serve(door, tls.clone(), addr, name));
                }
                record(taken).await;
            });
        };
        let thread = std::thread::Builder::new().name("tunnel".to_owned()).spawn(work)?;
        let addrs = told.recv().map_err(|_| io::Error::other("its thread ended at once"))??;
        Ok(Self { addrs, orders: Some(orders), thread: Some(thread) })
    }

    /// The ports, in the order of the servers.
    #[must_use]
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// Begins or ends the segment in which the thread's stalls are recorded.
    ///
    /// # Errors
    /// The segment cannot be created, or cannot be written to its end.
    pub(crate) async fn record(&self, order: SidecarOrder) -> anyhow::Result<()> {
        let (tell, told) = oneshot::channel();
        let sent = self.orders.as_ref().is_some_and(|orders| orders.send((order, tell)).is_ok());
        anyhow::ensure!(sent, "the tunnel's thread has ended");
        let told = timeout(ORDER_AT_MOST, told).await.context("the tunnel's thread does not run")?;
        told.context("the tunnel's thread has ended")?.map_err(anyhow::Error::msg)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        drop(self.orders.take());
        // A thread that panicked has ended as well.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Records stalls as ordered, until all senders of orders are dropped.
async fn record(mut orders: mpsc::UnboundedReceiver<StallOrder>) {
    let mut sidecar = Sidecar::default();
    loop {
        let order = tokio::select! {
            order = orders.recv() => order,
            never = sidecar.write() => match never {},
        };
        let Some((order, tell)) = order else { return };
        // A caller that no longer waits has given up.
        let _ = tell.send(sidecar.obey(order));
    }
}

fn door() -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    socket.listen(BACKLOG)
}

async fn serve(door: TcpListener, tls: Tls, addr: SocketAddr, name: String) {
    loop {
        match door.accept().await {
            Ok((near, _)) => {
                let (tls, name) = (tls.clone(), name.clone());
                tokio::spawn(async move {
                    // The client sees its connection end, as if the server had gone.
                    if let Err(error) = relay(near, &tls, addr, &name).await {
                        tracing::debug!(%addr, %error, "a connection by TLS ended");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the tunnel was not taken in");
                sleep(AGAIN).await;
            }
        }
    }
}

/// Carries one connection until either side hangs up.
async fn relay(near: TcpStream, tls: &Tls, addr: SocketAddr, name: &str) -> io::Result<()> {
    near.set_nodelay(true)?;
    let far = match timeout(DIAL_AT_MOST, tls.dial(addr, name)).await {
        Ok(far) => far?,
        Err(_) => return Err(io::ErrorKind::TimedOut.into()),
    };
    if has_hung_up(&near).await {
        // The client's request is outdated: a connection that was given up must not take its session back.
        return Ok(());
    }
    let (mut from_far, mut to_far) = split(far);
    let (mut from_near, mut to_near) = near.into_split();
    tokio::select! {
        up = copy(&mut from_near, &mut to_far) => {
            up?;
            let _ = timeout(LINGER, to_far.shutdown()).await;
        }
        down = copy(&mut from_far, &mut to_near) => {
            // A server that crashes sends no TLS shutdown.
            down?;
            let _ = timeout(LINGER, to_near.shutdown()).await;
        }
    }
    Ok(())
}

/// Whether the client closed its connection before the server answered.
async fn has_hung_up(near: &TcpStream) -> bool {
    let ready = timeout(Duration::ZERO, near.ready(tokio::io::Interest::READABLE)).await;
    matches!(ready, Ok(Ok(ready)) if ready.is_read_closed())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::has_hung_up;

    #[tokio::test]
    async fn who_has_left_is_known_though_what_it_said_is_still_to_be_read() {
        let door = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut client = TcpStream::connect(door.local_addr().expect("its address")).await.expect("connected");
        let (near, _) = door.accept().await.expect("a client");
        client.write_all(b"a session, please").await.expect("sent");
        let a_moment = || tokio::time::sleep(Duration::from_millis(50));
        a_moment().await;
        assert!(!has_hung_up(&near).await, "it waits for an answer");
        drop(client);
        a_moment().await;
        assert!(has_hung_up(&near).await, "it has given up");
    }
}
