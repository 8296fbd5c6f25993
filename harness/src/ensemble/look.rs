//! A look at a server from outside: what it says that it is, if it says anything.

use std::io;
use std::time::Duration;

use hustings_record::ServerState;

use super::four_letter::{self, FourLetterError};
use super::{Ensemble, EnsembleError};
use crate::process::clock;

/// A server that has not answered by then is silent. A healthy one takes a millisecond, on a busy machine some tens.
const LOOK_AT_MOST: Duration = Duration::from_millis(400);
/// Answers that break off before it is taken that nobody is there.
const BROKEN_OFF_MAX: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What a server says that it is, and the last zxid that it says it has processed.
pub(crate) async fn look(ensemble: &dyn Ensemble, server: u32) -> (ServerState, Option<i64>) {
    look_for(ensemble, server, LOOK_AT_MOST).await
}

async fn look_for(ensemble: &dyn Ensemble, server: u32, at_most: Duration) -> (ServerState, Option<i64>) {
    let until = clock::now() + at_most.as_nanos() as u64;
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
            // Broken off: a server that dies, or that closes all its connections on its way to another state. The next
            // question tells which.
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

/// Looks at a server until it shows the state that is wanted, or for so long; gives the last state seen. One that has not answered
/// for `silence` is silent.
pub(crate) async fn until(
    ensemble: &dyn Ensemble,
    server: u32,
    wanted: ServerState,
    (at_most, silence): (Duration, Duration),
) -> ServerState {
    let until = clock::now() + at_most.as_nanos() as u64;
    loop {
        let (state, _) = look_for(ensemble, server, silence.min(LOOK_AT_MOST)).await;
        if state == wanted || clock::now() > until {
            return state;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Waits until all these servers serve, or for so long; gives the last state seen of each.
pub(crate) async fn until_all_serve(
    ensemble: &dyn Ensemble,
    servers: &[u32],
    at_most: Duration,
) -> Vec<(u32, ServerState)> {
    let until = clock::now() + at_most.as_nanos() as u64;
    loop {
        let states = futures::future::join_all(servers.iter().map(|&server| look(ensemble, server))).await;
        let states: Vec<_> = servers.iter().zip(states).map(|(&server, (state, _))| (server, state)).collect();
        if idle(&states).is_empty() || clock::now() > until {
            return states;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Those that do not serve.
pub(crate) fn idle(states: &[(u32, ServerState)]) -> Vec<u32> {
    states.iter().filter(|(_, state)| !state.serves()).map(|(server, _)| *server).collect()
}
