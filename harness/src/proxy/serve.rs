//! The lifecycle of one connection through a proxy, from accept to close.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::watch;
use tracing::{debug, warn};

use super::active_toxic::ConnectionEnd;
use super::connection::ProxyConnection;
use super::pipeline::Chain;
use super::port::leads_to;
use super::pump::{DirectionEnd, Pump};
use super::shared::ProxyShared;
use super::toxic::Stream;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Pause between two attempts to reach the upstream. ZooKeeper's followers pause as long before retrying a new leader,
/// so a link neither speeds them up nor delays them.
const CONNECT_AGAIN: Duration = Duration::from_millis(100);
/// Polling interval of a connection that waits for the end of a hold.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Idle limit of the open half of a half-closed connection.
const HALF_OPEN_LIMIT: Duration = Duration::from_secs(60);

/// Serves an accepted client. The sockets close when the last owner drops the connection.
pub(super) async fn serve(client: TcpStream, shared: Arc<ProxyShared>, upstream: Arc<str>) {
    if let Err(error) = client.set_nodelay(true) {
        // Either the client has gone, or its data would be delayed for reasons unrelated to its network.
        warn!(%error, "a connection was refused: its Nagle delay cannot be turned off");
        return;
    }
    let connection = shared.admit(client);
    let fate = tokio::select! {
        fate = connection.end_requested() => fate,
        fate = carry(&connection, &shared, &upstream) => fate,
    };
    if fate == ConnectionEnd::Reset {
        for socket in [Some(&connection.client), connection.server.get()].into_iter().flatten() {
            if let Err(error) = socket.set_zero_linger() {
                debug!(%error, "a connection is closed instead of reset");
            }
        }
    }
    shared.dismiss(&connection);
}

async fn carry(connection: &ProxyConnection, shared: &ProxyShared, upstream: &str) -> ConnectionEnd {
    let mut chain = shared.chain();
    let Some(server) = reach(connection, &mut chain, shared, upstream).await else { return ConnectionEnd::Close };
    let server = connection.server.get_or_init(|| server);
    let ways = [(Stream::Upstream, &connection.client, server), (Stream::Downstream, server, &connection.client)];
    let [up, down] =
        ways.map(|(stream, source, sink)| Pump::new(connection, stream, (source, sink), shared, chain.clone()).run());
    let (mut up, mut down) = (pin!(up), pin!(down));
    tokio::select! {
        outcome = &mut up => other_half(connection, outcome, down).await,
        outcome = &mut down => other_half(connection, outcome, up).await,
    }
}

/// Connects once no hold prevents it, and retries within the time limit. None: the reason was counted.
async fn reach(
    connection: &ProxyConnection,
    chain: &mut watch::Receiver<Arc<Chain>>,
    shared: &ProxyShared,
    upstream: &str,
) -> Option<TcpStream> {
    let begun = Instant::now();
    loop {
        if !may_connect(connection, chain, shared.seed).await {
            shared.abandoned();
            return None;
        }
        let server = connect(upstream, &connection.client).await;
        if server.is_some() {
            return server;
        }
        let patience = chain.borrow().patience(connection.id, shared.seed);
        if begun.elapsed() >= patience || hung_up(&connection.client) {
            shared.failed();
            return None;
        }
        tokio::time::sleep(CONNECT_AGAIN).await;
    }
}

/// One direction has ended. The other continues, unless it is idle for too long.
async fn other_half(
    connection: &ProxyConnection,
    first: DirectionEnd,
    mut other: impl Future<Output = DirectionEnd> + Unpin,
) -> ConnectionEnd {
    if let DirectionEnd::Fate(fate) = first {
        return fate;
    }
    let moved = || connection.ways().map(|way| way.bytes);
    let mut before = moved();
    loop {
        match tokio::time::timeout(HALF_OPEN_LIMIT, &mut other).await {
            Ok(DirectionEnd::Fate(fate)) => return fate,
            Ok(DirectionEnd::Finished) => return ConnectionEnd::Close,
            Err(_) if connection.is_held() => {}
            Err(_) if moved() == before => return ConnectionEnd::Close,
            Err(_) => before = moved(),
        }
    }
}

/// Waits until no hold prevents the upstream connection. False: the client has closed its connection.
async fn may_connect(connection: &ProxyConnection, chain: &mut watch::Receiver<Arc<Chain>>, seed: u64) -> bool {
    loop {
        let holds = chain.borrow_and_update().holds(connection.id, seed);
        if !holds {
            return true;
        }
        tokio::select! {
            _ = chain.changed() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        if hung_up(&connection.client) {
            return false;
        }
    }
}

async fn connect(upstream: &str, client: &TcpStream) -> Option<TcpStream> {
    let connected = tokio::time::timeout(CONNECT_LIMIT, connect_elsewhere(upstream, client)).await;
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

/// Connects to any address of the upstream but the one that this client connected to: the proxy would serve itself
/// without end.
async fn connect_elsewhere(upstream: &str, client: &TcpStream) -> io::Result<TcpStream> {
    let own = client.local_addr()?;
    let addresses: Vec<SocketAddr> = lookup_host(upstream).await?.filter(|target| !leads_to(own, *target)).collect();
    if addresses.is_empty() {
        return Err(io::Error::other(format!("it has no address but {own}, which is the proxy's own")));
    }
    TcpStream::connect(addresses.as_slice()).await
}

/// Whether the peer has closed its end. Does not read the data sent before.
fn hung_up(socket: &TcpStream) -> bool {
    let mut fds = [PollFd::new(socket, PollFlags::RDHUP)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}
