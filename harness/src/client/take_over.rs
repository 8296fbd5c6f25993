//! Ends a candidate's session at the servers, at once: the fault `expire`.

use std::io;
use std::net::Ipv4Addr;
use std::pin::pin;
use std::time::Duration;

use hustings_record::Nanos;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep, timeout_at};
use zookeeper_client as zk;

use crate::access::Access;
use crate::process::clock;
use crate::wire::connect::read_connect;
use crate::wire::end::{SessionCredentials, end_session, tell_all};
use crate::wire::stream::read_frame;

/// Between two attempts by the library.
const PAUSE: Duration = Duration::from_millis(20);

/// Ends a session at the server, at once: a second connection takes it over and closes it. The victim loses its
/// connection and learns of the expiry when it reconnects. Returns when the servers were first asked and when one
/// confirmed, on the common clock.
///
/// # Errors
/// No server confirmed the session's end in time, or it had already ended.
pub async fn take_over_and_close(
    access: &Access,
    cluster: &str,
    info: zk::SessionInfo,
    timeout: Duration,
) -> Result<(Nanos, Nanos), String> {
    let until = Instant::now() + timeout;
    let password = match timeout_at(until, password_of(info.clone())).await {
        Ok(password) => password.map_err(|error| format!("the session's password could not be learned: {error}"))?,
        Err(_) => return Err("the session's password could not be learned in time".into()),
    };
    let taken = SessionCredentials { session: info.id().0, password };
    if access.sasl.is_none() {
        let proof = access.digest.as_ref().map(|secret| secret.text());
        return end_session(cluster, taken, proof, until.saturating_duration_since(Instant::now())).await;
    }
    let ended = close_by_library(access, cluster, info, until).await?;
    tell_all(cluster, taken, until).await;
    Ok(ended)
}

/// Takes the session over and closes it with a client of the library. Servers may require SASL to close a session, and
/// the library implements the SASL exchange.
async fn close_by_library(
    access: &Access,
    cluster: &str,
    info: zk::SessionInfo,
    until: Instant,
) -> Result<(Nanos, Nanos), String> {
    let mut first = None;
    loop {
        // The session's holder loses its connection as soon as the servers accept this one.
        let began = clock::now();
        let connecting = access.connector().with_session(info.clone()).connect(cluster);
        let why = match timeout_at(until, connecting).await {
            Ok(Ok(client)) => {
                let sent = *first.get_or_insert(began);
                let mut states = client.state_watcher();
                // Dropping the last user of a session closes it.
                drop(client);
                let ended = async {
                    while !states.state().is_terminated() {
                        states.changed().await;
                    }
                };
                match timeout_at(until, ended).await {
                    Ok(()) => return Ok((sent, clock::now())),
                    Err(_) => "the close was not answered".to_owned(),
                }
            }
            Ok(Err(zk::Error::SessionExpired)) => {
                let sent = first.ok_or("the servers know no such session: it had already ended")?;
                return Ok((sent, clock::now()));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no server gave the session".to_owned(),
        };
        if Instant::now() + PAUSE >= until {
            return Err(format!("no server confirmed the session's end in time: {why}"));
        }
        sleep(PAUSE).await;
    }
}

/// A session's password. The client library reveals it only to servers, so this function acts as one.
async fn password_of(info: zk::SessionInfo) -> io::Result<[u8; 16]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let cluster = listener.local_addr()?.to_string();
    let session = info.id().0;
    let mut client = pin!(zk::Client::connector().with_session(info).connect(&cluster));
    let asked = async {
        loop {
            let (mut stream, _) = listener.accept().await?;
            let asked = read_frame(&mut stream).await.ok().and_then(|message| read_connect(&message).ok());
            match asked {
                Some((asked, _)) if asked.session == session => return Ok(asked.password),
                // Another client, which connected to the port that its previous user had just released.
                _ => {}
            }
        }
    };
    tokio::select! {
        password = asked => password,
        ended = &mut client => Err(io::Error::other(ended.err().map_or_else(String::new, |error| error.to_string()))),
    }
}
