//! Samples a server from outside: the state that it reports, if it replies.

use std::io;
use std::time::Duration;

use hustings_record::ServerState;
use hustings_record::numbers::nanos;

use super::four_letter::{self, FourLetterError};
use super::{Ensemble, EnsembleError};
use crate::process::clock;

/// A server without a reply by then is silent. A healthy one takes a millisecond, on a busy machine some tens.
const LOOK_AT_MOST: Duration = Duration::from_millis(400);
/// Number of incomplete replies after which a server counts as down.
const BROKEN_OFF_MAX: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The state that a server reports, and its last processed zxid.
pub(crate) async fn look(ensemble: &dyn Ensemble, server: u32) -> (ServerState, Option<i64>) {
    look_for(ensemble, server, LOOK_AT_MOST).await
}

async fn look_for(ensemble: &dyn Ensemble, server: u32, at_most: Duration) -> (ServerState, Option<i64>) {
    let until = clock::now() + nanos(at_most);
    let mut text = String::new();
    for _ in 0..BROKEN_OFF_MAX {
        let left = Duration::from_nanos(until.saturating_sub(clock::now()));
        match tokio::time::timeout(left, ensemble.ask(server, "srvr")).await {
            Err(_) | Ok(Err(EnsembleError::Ask { source: FourLetterError::TimedOut { .. }, .. })) => {
                return (ServerState::Silent, None);
            }
            Ok(Err(EnsembleError::Ask { source: FourLetterError::Io { source, .. }, .. }))
                if source.kind() == io::ErrorKind::ConnectionRefused =>
            {
                return (ServerState::Down, None);
            }
            Ok(Ok(answer)) if !answer.trim().is_empty() => {
                text = answer;
                break;
            }
            // Incomplete: the server is dying, or closes all its connections while it changes its state. The next
            // request shows which.
            Ok(_) => {}
        }
    }
    let state = match four_letter::mode(&text) {
        Some("leader") => ServerState::Leading,
        Some("follower") => ServerState::Following,
        Some("standalone") => ServerState::Standalone,
        _ if text.is_empty() => ServerState::Down,
        _ => ServerState::NotServing,
    };
    (state, if state.serves() { four_letter::zxid(&text) } else { None })
}

/// Polls a server until it shows the wanted state, for at most `at_most`; returns the last observed state. A server
/// without a reply for `silence` is silent.
pub(crate) async fn until(
    ensemble: &dyn Ensemble,
    server: u32,
    wanted: ServerState,
    (at_most, silence): (Duration, Duration),
) -> ServerState {
    let until = clock::now() + nanos(at_most);
    loop {
        let (state, _) = look_for(ensemble, server, silence.min(LOOK_AT_MOST)).await;
        if state == wanted || clock::now() > until {
            return state;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Waits until all these servers serve, for at most `at_most`; returns the last observed state of each.
pub(crate) async fn until_all_serve(
    ensemble: &dyn Ensemble,
    servers: &[u32],
    at_most: Duration,
) -> Vec<(u32, ServerState)> {
    let until = clock::now() + nanos(at_most);
    loop {
        let states = futures::future::join_all(servers.iter().map(|&server| look(ensemble, server))).await;
        let states: Vec<_> = servers.iter().zip(states).map(|(&server, (state, _))| (server, state)).collect();
        if idle(&states).is_empty() || clock::now() > until {
            return states;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The servers that do not serve.
pub(crate) fn idle(states: &[(u32, ServerState)]) -> Vec<u32> {
    states.iter().filter(|(_, state)| !state.serves()).map(|(server, _)| *server).collect()
}
