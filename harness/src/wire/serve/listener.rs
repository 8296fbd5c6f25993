//! A server's port: bound while the server runs, and silent while it is paused.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use hustings_workloads::model::Server;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::sleep;

use super::connection;
use super::core::ServedEnsemble;
use super::member::ServerProcessState;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: u32 = 4_096;
/// Pause after a failed accept, for example without free descriptors.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl ServedEnsemble {
    /// Starts a stopped server on a bound port.
    pub(super) fn run(self: &Rc<Self>, server: Server, socket: TcpListener) {
        let member = &self.members[server];
        member.is_bound.set(true);
        member.gate.send_replace(ServerProcessState::Running);
        self.drive(|ensemble, now| ensemble.start(now, server));
        tokio::task::spawn_local(accept(self.clone(), server, socket));
    }
}

/// Accepts connections until the server is killed.
async fn accept(core: Rc<ServedEnsemble>, server: Server, socket: TcpListener) {
    let member = &core.members[server];
    let mut gate = member.gate.subscribe();
    loop {
        let is_running = match *gate.borrow_and_update() {
            ServerProcessState::Down => break,
            ServerProcessState::Running => true,
            ServerProcessState::Paused => false,
        };
        tokio::select! {
            biased;
            changed = gate.changed() => if changed.is_err() { break },
            accepted = socket.accept(), if is_running => match accepted {
                Ok((stream, peer)) => {
                    drop(tokio::task::spawn_local(connection::serve(core.clone(), server, stream, peer)));
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection could not be accepted");
                    sleep(PAUSE).await;
                }
            },
        }
    }
    drop(socket);
    member.is_bound.set(false);
}
