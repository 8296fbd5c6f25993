//! Waits for a run's servers outside of its cells' phases, and for how long they go on after an interruption.

use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt as _};
use hustings_record::EnsembleKind;

use crate::coordinator::liveness_monitor;
use crate::ensemble::{Ensemble, EnsembleError, four_letter, look};

/// Servers that were hit in a cell serve again within this after it.
const WHOLE_AT_MOST: Duration = Duration::from_secs(30);
/// After an interruption, servers that do not answer are waited for no longer than this.
const ANSWER_AT_MOST: Duration = Duration::from_secs(5);
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Whether all servers are there and serve: faults of the cell before have healed, and nothing has died by itself.
pub(super) async fn whole(ensemble: &dyn Ensemble) -> anyhow::Result<()> {
    ensemble.check_alive().await?;
    let servers: Vec<u32> = (1..).take(ensemble.servers().len()).collect();
    let states = tokio::select! {
        states = look::until_all_serve(ensemble, &servers, WHOLE_AT_MOST) => states,
        died = liveness_monitor::death(ensemble) => return Err(died.into()),
    };
    let idle = look::idle(&states);
    anyhow::ensure!(
        idle.is_empty(),
        "servers {idle:?} do not serve, {} s after the last cell",
        WHOLE_AT_MOST.as_secs()
    );
    Ok(())
}

/// The result of a wait for servers. None: they had not answered some seconds after the interruption.
pub(super) async fn unless_given_up<T>(
    interrupted: impl Future<Output = ()>,
    wait: impl Future<Output = T>,
) -> Option<T> {
    unless_late(interrupted, wait, ANSWER_AT_MOST).await
}

async fn unless_late<T>(
    interrupted: impl Future<Output = ()>,
    wait: impl Future<Output = T>,
    at_most: Duration,
) -> Option<T> {
    let late = async {
        interrupted.await;
        tokio::time::sleep(at_most).await;
    };
    tokio::select! {
        biased;
        done = wait => Some(done),
        () = late => None,
    }
}

/// Stops the ensemble. True: servers of somebody else did not serve after the interruption and were given up, so that
/// znodes of the run may be left there.
///
/// # Errors
/// As for [`Ensemble::stop`].
pub(super) async fn stop(
    ensemble: &dyn Ensemble,
    interrupted: impl Future<Output = ()>,
) -> Result<bool, EnsembleError> {
    stop_within(ensemble, interrupted, ANSWER_AT_MOST).await
}

async fn stop_within(
    ensemble: &dyn Ensemble,
    interrupted: impl Future<Output = ()>,
    at_most: Duration,
) -> Result<bool, EnsembleError> {
    // Servers of the run's own are killed, whether they answer or not.
    if ensemble.kind() != EnsembleKind::External {
        return ensemble.stop().await.map(|()| false);
    }
    let silent = async {
        interrupted.await;
        while tokio::time::timeout(at_most, serving(ensemble)).await.is_ok() {
            tokio::time::sleep(ASK_AGAIN).await;
        }
    };
    tokio::select! {
        biased;
        stopped = ensemble.stop() => stopped.map(|()| false),
        () = silent => Ok(true),
    }
}

/// Waits until a server says that it serves.
async fn serving(ensemble: &dyn Ensemble) {
    loop {
        let servers = (1..).take(ensemble.servers().len());
        let mut asked: FuturesUnordered<_> = servers.map(|server| ensemble.ask(server, "srvr")).collect();
        while let Some(answer) = asked.next().await {
            if answer.is_ok_and(|text| four_letter::mode(&text).is_some()) {
                return;
            }
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::net::SocketAddr;

    use futures::future::LocalBoxFuture;

    use super::*;
    use crate::ensemble::ServerControl;

    const SHORT: Duration = Duration::from_millis(100);
    const LONG: Duration = Duration::from_secs(2);

    /// Servers that take long to be stopped.
    struct SlowServers {
        kind: EnsembleKind,
        answers: bool,
    }

    impl Ensemble for SlowServers {
        fn servers(&self) -> Vec<SocketAddr> {
            vec![SocketAddr::from(([127, 0, 0, 1], 1)); 3]
        }

        fn control(&self) -> Option<&dyn ServerControl> {
            None
        }

        fn log(&self, _server: u32) -> LocalBoxFuture<'_, Result<Option<String>, EnsembleError>> {
            Box::pin(ready(Ok(None)))
        }

        fn kind(&self) -> EnsembleKind {
            self.kind
        }

        fn version(&self) -> &str {
            crate::wire::serve::VERSION
        }

        fn describe(&self) -> String {
            String::new()
        }

        /// Only the last one answers, if any does.
        fn ask(&self, server: u32, _word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>> {
            let answers = self.answers && server == 3;
            Box::pin(async move { if answers { Ok("Mode: leader\n".to_owned()) } else { pending().await } })
        }

        fn check_alive(&self) -> LocalBoxFuture<'_, Result<Vec<String>, EnsembleError>> {
            Box::pin(ready(Ok(Vec::new())))
        }

        fn stop(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
            Box::pin(async {
                tokio::time::sleep(LONG).await;
                Ok(())
            })
        }
    }

    async fn is_given_up(servers: SlowServers, interrupted: impl Future<Output = ()>) -> bool {
        stop_within(&servers, interrupted, SHORT).await.expect("stopped, or given up")
    }

    #[tokio::test]
    async fn servers_of_somebody_else_that_do_not_answer_are_given_up_after_an_interruption() {
        let external = |answers| SlowServers { kind: EnsembleKind::External, answers };
        let embedded = SlowServers { kind: EnsembleKind::Embedded, answers: false };
        assert!(is_given_up(external(false), ready(())).await);
        assert!(!is_given_up(external(true), ready(())).await, "one answers: it takes as long as it takes");
        assert!(!is_given_up(external(false), pending()).await, "nobody has interrupted the run");
        assert!(!is_given_up(embedded, ready(())).await, "the run's own are stopped in any case");
    }

    #[tokio::test]
    async fn a_wait_ends_some_time_after_an_interruption_and_not_without_one() {
        let slow = || tokio::time::sleep(SHORT * 3);
        assert_eq!(unless_late(ready(()), slow(), SHORT).await, None);
        assert_eq!(unless_late(pending(), slow(), SHORT).await, Some(()));
        assert_eq!(unless_late(ready(()), ready(7), SHORT).await, Some(7));
    }
}
