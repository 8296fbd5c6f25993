//! One client's connection: reads permitted requests, and sends pending data while the client accepts it.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use hustings_workloads::model::{Conn, Server};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::super::connect::read_connect;
use super::super::jute::{WireError, frame_length};
use super::super::request::read_request;
use super::core::ServedEnsemble;
use super::line::{ServedConnection, ServedConnectionState};
use super::member::ServerProcessState;
use super::words;

/// A client must request a session within this time, as servers require by default.
const ASKS_WITHIN: Duration = Duration::from_secs(10);
/// Time for sending pending data before a connection closes.
const CLOSES_WITHIN: Duration = Duration::from_secs(5);
/// Maximum number of bytes per read.
const READ_BYTES: usize = 16 << 10;

/// Serves a connection from start to end.
pub(super) async fn serve(core: Rc<ServedEnsemble>, server: Server, stream: TcpStream, peer: SocketAddr) {
    let line = Rc::new(ServedConnection::new(peer));
    let conn = core.admit(server, &line);
    let _ = stream.set_nodelay(true);
    let gate = core.members[server].gate.subscribe();
    let mut served =
        ConnectionTask { core: &core, server, conn, line: &line, stream, inbox: Vec::new(), heard: Instant::now() };
    if let Err(error) = served.run(gate).await {
        tracing::debug!(%error, %peer, "a connection ends");
    }
    if line.fate.get() == ServedConnectionState::Reset {
        let _ = served.stream.set_zero_linger();
    }
    drop(served);
    core.forget(server, conn);
}

struct ConnectionTask<'a> {
    core: &'a ServedEnsemble,
    server: Server,
    conn: Conn,
    line: &'a ServedConnection,
    stream: TcpStream,
    /// Bytes that are read but not yet parsed.
    inbox: Vec<u8>,
    /// When the client last sent data.
    heard: Instant,
}

impl ConnectionTask<'_> {
    /// Runs until either side ends the connection. An error comes from the client or the network.
    async fn run(&mut self, mut gate: watch::Receiver<ServerProcessState>) -> io::Result<()> {
        loop {
            let is = *gate.borrow_and_update();
            if is == ServerProcessState::Down {
                self.line.end(ServedConnectionState::Reset);
            }
            if is == ServerProcessState::Paused && self.line.fate.get() != ServedConnectionState::Reset {
                tokio::select! {
                    changed = gate.changed() => if changed.is_err() { return Ok(()) },
                    () = self.line.wake.notified() => {}
                }
                self.heard = Instant::now();
                continue;
            }
            self.understand()?;
            self.flush()?;
            let is_flushed = self.line.unsent.borrow().is_empty();
            match self.line.fate.get() {
                ServedConnectionState::Reset => return Ok(()),
                ServedConnectionState::Close if is_flushed => return Ok(()),
                ServedConnectionState::Open | ServedConnectionState::Close => {}
            }
            let reads = self.line.may_ask();
            let silent_until = self.silent_until();
            let interest = match (reads, is_flushed) {
                (true, true) => Some(Interest::READABLE),
                (true, false) => Some(Interest::READABLE | Interest::WRITABLE),
                (false, false) => Some(Interest::WRITABLE),
                (false, true) => None,
            };
            tokio::select! {
                ready = self.stream.ready(interest.unwrap_or(Interest::WRITABLE)), if interest.is_some() => {
                    if ready?.is_readable() && reads && !self.read()? {
                        return Ok(());
                    }
                }
                () = self.line.wake.notified() => {}
                changed = gate.changed() => if changed.is_err() { return Ok(()) },
                () = sleep_until(silent_until), if reads || self.line.fate.get() == ServedConnectionState::Close => {
                    self.line.end(ServedConnectionState::Reset);
                }
            }
        }
    }

    /// Deadline for the client's next data.
    fn silent_until(&self) -> Instant {
        let may = match (self.line.fate.get(), self.line.timeout_ms.get()) {
            (ServedConnectionState::Open, 0) => ASKS_WITHIN,
            // Its session expires earlier than that, on whichever server it is.
            (ServedConnectionState::Open, timeout_ms) => {
                2 * Duration::from_millis(timeout_ms.unsigned_abs().into()) + ASKS_WITHIN
            }
            _ => CLOSES_WITHIN,
        };
        self.heard + may
    }

    /// Reads available data. False at the end of the stream.
    fn read(&mut self) -> io::Result<bool> {
        let mut scratch = [0; READ_BYTES];
        match self.stream.try_read(&mut scratch) {
            Ok(0) => Ok(false),
            Ok(length) => {
                self.inbox.extend_from_slice(&scratch[..length]);
                self.heard = Instant::now();
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Sends as much as the client accepts.
    fn flush(&self) -> io::Result<()> {
        let mut unsent = self.line.unsent.borrow_mut();
        let mut sent = 0;
        while sent < unsent.len() {
            match self.stream.try_write(&unsent[sent..]) {
                Ok(length) => sent += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        unsent.drain(..sent);
        if unsent.is_empty() {
            // Most connections are idle most of the time.
            unsent.shrink_to(READ_BYTES);
        }
        Ok(())
    }

    /// Processes the requests that have arrived, as many as are permitted.
    fn understand(&mut self) -> io::Result<()> {
        let mut taken = 0;
        while self.line.may_ask() {
            let rest = &self.inbox[taken..];
            let Some((first, message)) = rest.split_first_chunk::<4>() else { break };
            if self.line.asked.get().is_none()
                && let Some(text) = words::answer(self.core, self.server, *first)
            {
                self.line.send(text.as_bytes());
                self.line.end(ServedConnectionState::Close);
                break;
            }
            let length = frame_length(*first).map_err(invalid)?;
            let Some(message) = message.get(..length) else { break };
            taken += 4 + length;
            self.take(message)?;
        }
        self.inbox.drain(..taken);
        if self.inbox.is_empty() {
            self.inbox = Vec::new();
        }
        Ok(())
    }

    fn take(&self, message: &[u8]) -> io::Result<()> {
        let member = &self.core.members[self.server];
        member.received.set(member.received.get() + 1);
        self.line.received.set(self.line.received.get() + 1);
        if self.line.asked.get().is_none() {
            let (ask, tells_read_only) = read_connect(message).map_err(invalid)?;
            self.line.asked.set(Some(tells_read_only));
            self.core.connect(self.server, self.conn, ask);
        } else {
            let (xid, ask) = read_request(message).map_err(invalid)?;
            self.core.request(self.server, self.conn, self.line, xid, ask);
        }
        Ok(())
    }
}

fn invalid(error: WireError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
