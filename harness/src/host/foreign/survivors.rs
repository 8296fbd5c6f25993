//! Connections on which a server still replies although their session has ended: their holder is never notified.
//!
//! A client may reconnect at the very moment of its session's takeover. Then both connections may be on one server,
//! which knows only one connection per session. When it should close the other one, it has forgotten it (observed on
//! ZooKeeper 3.8.0). A program cannot know that, so this module cuts the program's end, and the program reconnects. A
//! connection cut off by a fault is left alone: it gets no replies.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use hustings_record::Nanos;

use crate::witness::{RelayLines, Slots};

/// Sessions that were ended, and the connections that may still carry them.
pub(super) struct Survivors {
    lines: Arc<RelayLines>,
    /// When the servers confirmed each session's end.
    ended: RefCell<BTreeMap<i64, Nanos>>,
}

/// A connection that was cut.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CutConnection {
    pub(super) session: i64,
    /// Time from the session's end to its server's last reply.
    pub(super) answered_after: Nanos,
}

impl Survivors {
    pub(super) fn among(lines: Arc<RelayLines>) -> Self {
        Self { lines, ended: RefCell::default() }
    }

    /// Notes that the servers have confirmed a session's end.
    pub(super) fn ended(&self, session: i64, confirmed: Nanos) {
        self.ended.borrow_mut().insert(session, confirmed);
    }

    /// Cuts the connections on which a server still replies. A reply sent before a session's end may be in transit for
    /// half the session timeout: over slower links, no session survives.
    pub(super) fn cut(&self, slots: &Slots) -> Vec<CutConnection> {
        let mut ended = self.ended.borrow_mut();
        ended.retain(|&session, _| slots.session(session).is_some_and(|seen| !seen.over));
        let mut cuts = Vec::new();
        for (&session, &confirmed) in &*ended {
            let Some(seen) = slots.session(session) else { continue };
            let on_its_way = seen.timeout_ms * 1_000_000 / 2;
            for connection in slots.carried_by(session) {
                let answered_after = self.lines.heard(connection).map_or(0, |heard| heard.saturating_sub(confirmed));
                if answered_after > on_its_way && self.lines.cut(connection) {
                    cuts.push(CutConnection { session, answered_after });
                }
            }
        }
        cuts
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::time::Duration;

    use hustings_workloads::model::{Connect, ConnectResponse};
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::{LocalSet, spawn_local};

    use super::*;
    use crate::process::clock;
    use crate::wire::client::write_ping;
    use crate::wire::connect::{write_connect, write_connected};
    use crate::wire::op_code;
    use crate::wire::stream::read_frame;
    use crate::witness::{HostSlots, Relay, RelayCallback};

    const SESSION: i64 = 7;
    const T_MS: i32 = 200;

    /// A client of a server that grants a session, and answers all pings or none.
    struct Setup {
        survivors: Survivors,
        slots: Rc<RefCell<Slots>>,
        client: TcpStream,
        _relay: Relay,
    }

    impl Setup {
        async fn with(answers_pings: bool) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let upstream = listener.local_addr().expect("its address");
            spawn_local(async move {
                let (mut stream, _) = listener.accept().await.expect("a client");
                let granted = ConnectResponse { session: SESSION, password: [1; 16], timeout_ms: T_MS };
                read_frame(&mut stream).await.expect("who asks");
                stream.write_all(&write_connected(&granted, true)).await.expect("sent");
                while read_frame(&mut stream).await.is_ok() {
                    if answers_pings {
                        let pong = [&16_i32.to_be_bytes()[..], &op_code::XID_PING.to_be_bytes(), &[0; 12]].concat();
                        stream.write_all(&pong).await.expect("sent");
                    }
                }
            });
            let survivors = Survivors::among(Arc::default());
            let slots = Rc::new(RefCell::new(Slots::new(HostSlots::default())));
            let told = slots.clone();
            let tell: RelayCallback =
                Rc::new(move |line, what| told.borrow_mut().take(clock::now(), line, &what, &mut |_| {}));
            let relay = Relay::open(upstream, survivors.lines.clone(), tell).await.expect("a port");
            let mut client = TcpStream::connect(relay.address()).await.expect("connected");
            let connect = Connect { timeout_ms: T_MS, ..Connect::default() };
            client.write_all(&write_connect(&connect)).await.expect("sent");
            read_frame(&mut client).await.expect("a session");
            Self { survivors, slots, client, _relay: relay }
        }

        /// Pings for this long, and cuts surviving connections. Returns the cuts, and whether the client is still
        /// connected.
        async fn pings(&mut self, ms: u64) -> (Vec<CutConnection>, bool) {
            let (until, mut cuts) = (clock::now() + ms * 1_000_000, Vec::new());
            let ping = write_ping();
            while clock::now() < until {
                let sent = self.client.write_all(&ping).await;
                tokio::time::sleep(Duration::from_millis(10)).await;
                cuts.extend(self.survivors.cut(&self.slots.borrow()));
                let mut answers = [0; 256];
                let over = match self.client.try_read(&mut answers) {
                    Ok(bytes) => bytes == 0,
                    Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
                };
                if sent.is_err() || over {
                    return (cuts, false);
                }
            }
            (cuts, true)
        }
    }

    #[tokio::test]
    async fn a_server_that_answers_on_after_the_end_of_a_session_has_its_connection_cut() {
        let staged = async {
            let mut stage = Setup::with(true).await;
            assert_eq!(stage.pings(150).await, (vec![], true), "nobody has ended it");
            stage.survivors.ended(SESSION, clock::now());
            let (cuts, connected) = stage.pings(5_000).await;
            assert!(!connected);
            assert!(
                matches!(cuts[..], [CutConnection { session: SESSION, answered_after }] if answered_after > 100_000_000)
            );
        };
        LocalSet::new().run_until(staged).await;
    }

    #[tokio::test]
    async fn whoever_hears_nothing_any_more_is_left_alone_and_so_is_another_session() {
        let staged = async {
            let mut stage = Setup::with(false).await;
            stage.survivors.ended(SESSION, clock::now());
            assert_eq!(stage.pings(300).await, (vec![], true));
            let mut other = Setup::with(true).await;
            other.survivors.ended(SESSION + 1, clock::now());
            assert_eq!(other.pings(300).await, (vec![], true));
        };
        LocalSet::new().run_until(staged).await;
    }
}
