//! Waits for an ensemble's start: a quorum serves, and every server takes part in it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::{EnsembleError, four_letter};
use crate::access::Access;

const POLL: Duration = Duration::from_millis(25);
/// A starting server may accept a connection and never reply on it. So retry soon, with a longer bound each time,
/// because the machine may be busy.
const SRVR_WITHIN: Duration = Duration::from_millis(200);
const SRVR_WITHIN_MAX: Duration = Duration::from_secs(5);
/// Timeout of the sessions that verify that servers serve; the servers clamp it to their bounds.
const PROBE_SESSION: Duration = Duration::from_secs(10);

/// Servers that have been started, of any kind. They are numbered from 1, in the order of their addresses.
pub(super) trait StartingServers {
    fn addrs(&self) -> Vec<SocketAddr>;

    /// Fails if one of them has ended.
    async fn check_alive(&mut self) -> Result<(), EnsembleError>;

    /// The last lines of a server's log, indented; empty if there are none.
    async fn log_tail(&self, server: u32) -> String;
}

/// Waits until every server reports a mode that fits the ensemble, then opens a session through every one. A session is
/// a write, which only a quorum can acknowledge. Returns the first server's reply to `srvr`.
pub(super) async fn wait_until_serving(
    servers: &mut impl StartingServers,
    within: Duration,
) -> Result<String, EnsembleError> {
    let addrs = servers.addrs();
    let until = Instant::now() + within;
    let mut first = String::new();
    let mut patience = SRVR_WITHIN;
    loop {
        servers.check_alive().await?;
        let asked = addrs.iter().map(|addr| four_letter::ask(*addr, "srvr", patience));
        let answers = futures::future::join_all(asked).await;
        let modes: Vec<Option<&str>> =
            answers.iter().map(|a| a.as_ref().ok().and_then(|text| four_letter::mode(text))).collect();
        if is_quorum(&modes) {
            first.extend(answers.into_iter().take(1).flatten());
            break;
        }
        if Instant::now() >= until {
            let server = modes.iter().position(|mode| !matches!(mode, Some("leader" | "follower"))).unwrap_or(0);
            let why = match (&answers[server], modes[server]) {
                (Err(e), _) => e.to_string(),
                (Ok(_), Some(mode)) => {
                    format!(
                        "it is a {}, and the ensemble has no leader with all others following",
                        four_letter::shown(mode)
                    )
                }
                (Ok(text), None) => four_letter::shown(text),
            };
            return Err(not_serving(servers, server, within, why).await);
        }
        // Only a timeout calls for a longer bound: a refused connection fails at once.
        if answers.iter().any(|a| matches!(a, Err(four_letter::FourLetterError::TimedOut { .. }))) {
            patience = (patience * 2).min(SRVR_WITHIN_MAX);
        }
        sleep(POLL).await;
    }
    for (server, addr) in addrs.iter().enumerate() {
        if let Err(why) = open_session(*addr, until).await {
            servers.check_alive().await?;
            return Err(not_serving(servers, server, within, why).await);
        }
    }
    Ok(first)
}

/// One standalone server, or one leader and followers only.
fn is_quorum(modes: &[Option<&str>]) -> bool {
    let count = |mode| modes.iter().filter(|m| **m == Some(mode)).count();
    match modes.len() {
        1 => count("standalone") == 1,
        n => count("leader") == 1 && count("follower") == n - 1,
    }
}

/// Opens a session and reads the root with it; Err gives the reason for a failure.
async fn open_session(addr: SocketAddr, until: Instant) -> Result<(), String> {
    let addr = addr.to_string();
    let probe = async {
        let client = Access::default().connect(&addr, PROBE_SESSION).await?;
        client.check_stat("/").await
    };
    match timeout_at(until, probe).await {
        Ok(Ok(Some(_))) => Ok(()),
        Ok(Ok(None)) => Err("it has no root znode".to_owned()),
        Ok(Err(e)) => Err(format!("a session could not be opened: {e}")),
        Err(_) => Err("a session could not be opened in time".to_owned()),
    }
}

async fn not_serving(servers: &impl StartingServers, index: usize, within: Duration, why: String) -> EnsembleError {
    let server = u32::try_from(index + 1).unwrap_or(u32::MAX);
    EnsembleError::NotServing { server, within, why, log: servers.log_tail(server).await }
}

#[cfg(test)]
mod tests {
    use super::is_quorum;

    #[test]
    fn a_quorum_is_one_leader_with_all_others_following() {
        assert!(is_quorum(&[Some("standalone")]));
        assert!(is_quorum(&[Some("follower"), Some("leader"), Some("follower")]));
        for not in [
            &[Some("leader"), Some("follower"), None][..],
            &[Some("leader"), Some("leader"), Some("follower")],
            &[Some("standalone"), Some("standalone"), Some("standalone")],
            &[Some("leader"), Some("follower"), Some("observer")],
            &[Some("follower")],
            &[None],
        ] {
            assert!(!is_quorum(not), "{not:?}");
        }
    }
}
