//! A client that sends only what a test orders.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hustings::wire::client::{SessionEvent, code, read_response, read_session_event, write_request};
use hustings::wire::connect::{read_connected, write_connect};
use hustings::wire::jute::Writer;
use hustings::wire::stream::read_frame;
use hustings_workloads::model::{Acl, Code, Connect, ConnectResponse, CreateKind, Request, Response, ZnodeLifetime};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A server's answer to a request for a session with a password of this length.
pub(crate) async fn ask_with_password(server: SocketAddr, session: i64, length: usize) -> ConnectResponse {
    let mut message = Writer::default();
    message.int(0).long(0).int(4_000).long(session).buffer(&vec![1; length]).boolean(false);
    let mut stream = TcpStream::connect(server).await.expect("connected");
    stream.write_all(&message.frame()).await.expect("sent");
    let answer = timeout(SOON, read_frame(&mut stream)).await.expect("in time").expect("an answer");
    read_connected(&answer).expect("an answer to that")
}

pub(crate) const SOON: Duration = Duration::from_secs(10);

pub(crate) struct RawConnection {
    pub(crate) stream: TcpStream,
    pub(crate) granted: ConnectResponse,
    xid: i32,
}

impl RawConnection {
    pub(crate) async fn open(server: SocketAddr, timeout_ms: i32) -> io::Result<Self> {
        Self::with(server, &Connect { timeout_ms, ..Connect::default() }).await
    }

    /// Continues a session.
    pub(crate) async fn with(server: SocketAddr, ask: &Connect) -> io::Result<Self> {
        let mut stream = TcpStream::connect(server).await?;
        stream.write_all(&write_connect(ask)).await?;
        let answer = timeout(SOON, read_frame(&mut stream)).await??;
        Ok(Self { stream, granted: read_connected(&answer).map_err(io::Error::other)?, xid: 0 })
    }

    pub(crate) fn again(&self) -> Connect {
        let ConnectResponse { session, password, timeout_ms } = self.granted.clone();
        Connect { session, password, timeout_ms, ..Connect::default() }
    }

    pub(crate) async fn send(&mut self, request: &Request) -> io::Result<()> {
        self.xid += 1;
        self.stream.write_all(&write_request(self.xid, request)).await
    }

    /// The answer to a request; watch events before it are skipped.
    pub(crate) async fn ask(&mut self, request: &Request) -> io::Result<Result<Response, Code>> {
        self.send(request).await?;
        loop {
            let message = timeout(SOON, read_frame(&mut self.stream)).await??;
            if let SessionEvent::Reply { xid, error, body, .. } =
                read_session_event(&message).map_err(io::Error::other)?
            {
                assert_eq!(xid, self.xid, "answers come in order");
                return match error {
                    0 => Ok(Ok(read_response(request, body).map_err(io::Error::other)?)),
                    error => Ok(Err(code(error).expect("a known error"))),
                };
            }
        }
    }

    /// Creates a znode.
    pub(crate) async fn create(
        &mut self,
        path: &str,
        data: &[u8],
        life: ZnodeLifetime,
    ) -> io::Result<Result<Response, Code>> {
        let kind = CreateKind { life, sequential: false };
        let (path, data) = (path.to_owned(), data.to_owned());
        self.ask(&Request::Create { path, data, acl: Acl::open(), kind, with_stat: false }).await
    }

    pub(crate) async fn exists(&mut self, path: &str) -> bool {
        let asked = self.ask(&Request::Exists { path: path.to_owned(), watch: false }).await;
        asked.expect("an answer").is_ok()
    }
}
