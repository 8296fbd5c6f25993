//! The conformance suite's arm for `ZkSession`, on any servers.

use std::time::{Duration, Instant};

use hustings::access::Access;
use hustings::client::session::ZkSession;
use hustings::client::take_over::take_over_and_close;
use hustings_record::Direction;
use hustings_workloads::conformance::ConformanceTarget;
use hustings_workloads::coordination::Session as _;

use crate::real_support::{CLOSE_AT_MOST, ServerStage, TestEnsemble};
use crate::watches;

/// T is at most 20 ticks.
pub(crate) const TICK_MS: u64 = 300;
const TIMEOUT: Duration = Duration::from_secs(6);

/// An arm of the suite: each session has its own link.
pub(crate) struct LinkedTarget<E> {
    pub(crate) stage: ServerStage<E>,
    pub(crate) started: Instant,
}

impl<E> LinkedTarget<E> {
    pub(crate) fn on(stage: ServerStage<E>) -> Self {
        Self { stage, started: Instant::now() }
    }
}

impl<E: TestEnsemble> ConformanceTarget for LinkedTarget<E> {
    type Session = ZkSession;

    async fn connect(&self) -> ZkSession {
        self.stage.linked(TIMEOUT).await
    }

    async fn cut(&self, session: &ZkSession) {
        self.stage.links.disconnect(&[self.stage.link_of(session.id())]).await.expect("cut");
    }

    async fn hold(&self, session: &ZkSession, way: Direction) {
        let held = self.stage.links.partition(&[self.stage.link_of(session.id())], way).await.expect("held");
        assert!(held.verified, "{}", held.evidence);
    }

    async fn release(&self, session: &ZkSession) {
        let healed = self.stage.links.heal(&[self.stage.link_of(session.id())]).await.expect("released");
        assert!(healed.verified, "{}", healed.evidence);
    }

    async fn take_over(&self, session: &ZkSession) -> ZkSession {
        ZkSession::take_over(&self.stage.cluster, session.info()).await.expect("taken over")
    }

    fn servers(&self) -> usize {
        self.stage.ensemble.servers().len()
    }

    async fn take_over_at(&self, session: &ZkSession, server: usize) -> ZkSession {
        let address = self.stage.ensemble.servers()[server].to_string();
        ZkSession::take_over(&address, session.info()).await.expect("taken over")
    }

    async fn expire(&self, session: &ZkSession) {
        take_over_and_close(&Access::default(), &self.stage.cluster, session.info(), CLOSE_AT_MOST)
            .await
            .expect("expired");
    }

    async fn close(&self, session: ZkSession) -> bool {
        session.close(CLOSE_AT_MOST).await
    }

    async fn watch_count(&self) -> u64 {
        watches::watch_count(&self.stage).await
    }

    async fn sleep(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    fn fresh(&self) -> u64 {
        self.stage.fresh()
    }
}

/// Checks that need servers with clocks and links.
pub(crate) async fn check_the_stage(stage: &ServerStage<impl TestEnsemble>) {
    a_timeout_is_what_the_servers_grant(stage).await;
    a_close_that_nobody_answers_says_so(stage).await;
}

async fn a_timeout_is_what_the_servers_grant(stage: &ServerStage<impl TestEnsemble>) {
    for (asked_ms, granted_ms) in [(TICK_MS, 2 * TICK_MS), (1_000, 1_000), (60_000, 20 * TICK_MS)] {
        let session = stage.direct(Duration::from_millis(asked_ms)).await;
        assert_eq!(session.timeout_ms(), granted_ms, "{asked_ms} ms were asked for");
        // With a very short timeout it may have expired already.
        let _ = session.close(CLOSE_AT_MOST).await;
    }
}

async fn a_close_that_nobody_answers_says_so(stage: &ServerStage<impl TestEnsemble>) {
    let session = stage.linked(Duration::from_secs(1)).await;
    let link = stage.link_of(session.id());
    stage.links.partition(&[link], Direction::Both).await.expect("held");
    // Long enough for the client to consider its session expired.
    assert!(!session.close(Duration::from_secs(5)).await);
    stage.links.heal(&[link]).await.expect("healed");
}
