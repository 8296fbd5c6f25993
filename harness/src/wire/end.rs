//! Ends another client's session at its servers, at once.
//!
//! The session's holder competes: it reconnects as soon as it loses its connection, and the server then closes the
//! connection that took the session over. So the close request is sent together with the connect request that takes the
//! session over.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hustings_record::Nanos;
use hustings_workloads::model::{Connect, Request, SessionId};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout_at};

use super::client::write_request;
use super::connect::{read_connected, write_connect};
use super::jute::Reader;
use super::op_code;
use super::stream::read_frame;
use crate::process::clock;

/// Pause between two attempts. It varies, so that the holder's reconnects do not always come first.
const PAUSE: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(100);
/// A server that is partitioned, paused or overloaded answers late or never. After this time the next one is asked,
/// with a longer limit.
const PATIENCE: Duration = Duration::from_secs(1);
/// The requested timeout. It has no effect: the session keeps its timeout.
const TIMEOUT_MS: i32 = 10_000;
const XID: i32 = 1;

/// The servers' answer.
enum CloseAnswer {
    /// The close was executed.
    Closed,
    /// The session is unknown to the servers.
    Unknown,
}

/// Another client's session, and the password that permits taking it over.
#[derive(Clone, Copy, Debug)]
pub struct SessionCredentials {
    pub session: SessionId,
    pub password: [u8; 16],
}

/// Takes a session over and closes it, on any server of `cluster` (a connect string), with retries for up to `within`.
/// Returns when it was first requested and when it was confirmed, on the common clock. `proof`: the `user:password` of
/// the scheme `digest`, if clients must authenticate.
///
/// # Errors
/// The session had already ended, or no server confirmed its end in time.
pub async fn end_session(
    cluster: &str,
    taken: SessionCredentials,
    proof: Option<&str>,
    within: Duration,
) -> Result<(Nanos, Nanos), String> {
    let servers: Vec<&str> = addresses(cluster).collect();
    let asked = both_requests(taken, proof);
    let until = Instant::now() + within;
    let (mut pause, mut patience) = (PAUSE, PATIENCE);
    // Servers to which the close was sent.
    let mut asked_to_close = BTreeSet::new();
    let mut first = None;
    for server in servers.iter().copied().cycle() {
        let close_sent = Cell::new(None);
        let answer = timeout_at(until.min(Instant::now() + patience), ask(server, &asked, &close_sent)).await;
        first = first.or(close_sent.get());
        let why = match answer {
            Ok(Ok(CloseAnswer::Unknown)) if asked_to_close.is_empty() => {
                return Err(format!("{server} knows no such session: it had already ended"));
            }
            Ok(Ok(CloseAnswer::Closed | CloseAnswer::Unknown)) => {
                let confirmed = clock::now();
                // Includes the server that answered: the holder may have reconnected there in the meantime.
                asked_to_close.insert(server);
                tell_survivors(&asked_to_close, &asked, until).await;
                let sent = first.ok_or_else(|| format!("{server} answered what it was not asked"))?;
                return Ok((sent, confirmed));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => {
                patience *= 2;
                "it gave no answer".to_owned()
            }
        };
        if close_sent.get().is_some() {
            asked_to_close.insert(server);
        }
        if Instant::now() + pause >= until {
            let ms = within.as_millis();
            return Err(format!(
                "no server confirmed the session's end within {ms} ms; the last one was {server}: {why}"
            ));
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
    Err(format!("{cluster:?} names no server"))
}

/// Makes all servers of `cluster` check whether a client is still connected with an ended session.
pub async fn tell_all(cluster: &str, ended: SessionCredentials, until: Instant) {
    tell_survivors(&addresses(cluster).collect(), &both_requests(ended, None), until).await;
}

/// The requests that take a session over and close it.
fn both_requests(SessionCredentials { session, password }: SessionCredentials, proof: Option<&str>) -> Vec<u8> {
    let connect = Connect { session, password, timeout_ms: TIMEOUT_MS, ..Connect::default() };
    let add_auth = |proof: &str| Request::AddAuth { scheme: "digest".to_owned(), id: proof.to_owned() };
    let known = proof.map(|proof| write_request(op_code::XID_AUTH, &add_auth(proof))).unwrap_or_default();
    [write_connect(&connect), known, write_request(XID, &Request::CloseSession)].concat()
}

/// A holder may reconnect to the server that executes the close, just before it takes effect. Its connection then stays
/// open and it is not notified: servers search for connections of a closed session only if another server closed it. A
/// connect request with that session's id triggers the search. It misses connections that the server has forgotten,
/// which are left to components between server and holder.
async fn tell_survivors(servers: &BTreeSet<&str>, asked: &[u8], until: Instant) {
    for server in servers {
        let told = timeout_at(until.min(Instant::now() + PATIENCE), ask(server, asked, &Cell::new(None))).await;
        if !matches!(told, Ok(Ok(_))) {
            tracing::info!(server, "could not be asked whether the ended session is still connected there");
        }
    }
}

/// One attempt. Sets `close_sent` to its send time once the server may have received the close request.
async fn ask(server: &str, both: &[u8], close_sent: &Cell<Option<Nanos>>) -> io::Result<CloseAnswer> {
    let mut stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    let sent = clock::now();
    stream.write_all(both).await?;
    close_sent.set(Some(sent));
    if read_connected(&read_frame(&mut stream).await?).map_err(no_server)?.timeout_ms <= 0 {
        return Ok(CloseAnswer::Unknown);
    }
    loop {
        let message = read_frame(&mut stream).await?;
        let mut from = Reader::new(&message);
        let xid = from.int().map_err(no_server)?;
        let _zxid = from.long().map_err(no_server)?;
        let error = from.int().map_err(no_server)?;
        match (xid, error) {
            (XID, 0) => return Ok(CloseAnswer::Closed),
            (XID, error) => return Err(io::Error::other(format!("it refused to close the session (error {error})"))),
            // Watch events, if the session had watches, and the confirmation of a proof.
            _ => {}
        }
    }
}

fn no_server(error: super::jute::WireError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The servers of a connect string, without its chroot.
pub(crate) fn addresses(cluster: &str) -> impl Iterator<Item = &str> {
    let servers = cluster.split('/').next().unwrap_or_default();
    servers.split(',').map(str::trim).filter(|server| !server.is_empty())
}

/// The chroot of a connect string, including its leading slash, or an empty string.
pub(crate) fn root(cluster: &str) -> &str {
    cluster.find('/').map_or("", |at| &cluster[at..])
}

/// The servers of a connect string, those with a connection of the session last. If another server takes it over, the
/// session ends as on expiry, without interference by its holder.
pub(crate) fn holders_last(cluster: &str, held: &[SocketAddr]) -> String {
    let mut servers: Vec<&str> = addresses(cluster).collect();
    servers.sort_by_key(|server| server.parse().is_ok_and(|server| held.contains(&server)));
    servers.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::jute::Writer;

    #[test]
    fn a_chroot_is_no_part_of_the_addresses() {
        assert_eq!(addresses("a:1, b:2/deep/root").collect::<Vec<_>>(), ["a:1", "b:2"]);
        assert_eq!(addresses("").count(), 0);
    }

    /// Ends a session on a server that sends `answers` to successive connections, and closes each afterwards.
    async fn against(answers: Vec<Vec<u8>>) -> Result<(Nanos, Nanos), String> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("its address").to_string();
        let server = async {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.expect("a client");
                for _ in 0..2 {
                    read_frame(&mut stream).await.expect("both requests");
                }
                stream.write_all(&answer).await.expect("sent");
            }
            std::future::pending::<()>().await;
        };
        let taken = SessionCredentials { session: 7, password: [1; 16] };
        tokio::select! {
            biased;
            ended = end_session(&addr, taken, None, Duration::from_millis(400)) => ended,
            () = server => unreachable!("it waits forever"),
        }
    }

    fn connected(timeout_ms: i32) -> Vec<u8> {
        let answer = hustings_workloads::model::ConnectResponse { session: 7, password: [1; 16], timeout_ms };
        crate::wire::connect::write_connected(&answer, true)
    }

    fn reply(xid: i32, error: i32) -> Vec<u8> {
        let mut to = Writer::default();
        to.int(xid).long(9).int(error);
        to.frame()
    }

    #[tokio::test]
    async fn a_close_that_is_answered_is_an_end() {
        assert_eq!(against(vec![[connected(4_000), reply(-1, 0), reply(XID, 0)].concat()]).await.map(drop), Ok(()));
    }

    #[tokio::test]
    async fn an_attempt_that_was_cut_off_is_made_again() {
        let ends = [connected(4_000), reply(XID, 0)].concat();
        assert_eq!(against(vec![vec![], connected(4_000), ends]).await.map(drop), Ok(()));
    }

    #[tokio::test]
    async fn a_session_that_is_unknown_after_a_close_was_sent_has_ended() {
        assert_eq!(against(vec![vec![], connected(0)]).await.map(drop), Ok(()));
    }

    #[tokio::test]
    async fn a_session_that_is_unknown_at_first_had_ended_before() {
        let error = against(vec![connected(0)]).await.expect_err("nothing was done");
        assert!(error.contains("had already ended"), "{error}");
    }

    #[tokio::test]
    async fn servers_that_never_answer_are_given_up() {
        let error = against(vec![]).await.expect_err("no answer");
        assert!(error.contains("within 400 ms"), "{error}");
    }

    #[test]
    fn the_servers_that_hold_a_session_are_the_last_to_be_asked_to_end_it() {
        let cluster = "1.1.1.1:1,2.2.2.2:2,3.3.3.3:3/root";
        let held = |text: &str| holders_last(cluster, &[text.parse().expect("an address")]);
        assert_eq!(held("1.1.1.1:1"), "2.2.2.2:2,3.3.3.3:3,1.1.1.1:1");
        assert_eq!(held("4.4.4.4:4"), "1.1.1.1:1,2.2.2.2:2,3.3.3.3:3");
        assert_eq!(holders_last("zk1:1,1.1.1.1:1", &[]), "zk1:1,1.1.1.1:1");
    }
}
