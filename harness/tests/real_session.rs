//! `ZkSession` on real servers shows what every implementation of `Session` has to show.

mod real_support;
#[path = "real_support/watches.rs"]
mod watches;

use std::time::Duration;

use hustings::links::Direction;
use hustings::session::{ZkSession, take_over_and_close};
use hustings_workloads::conformance::{Arm, Way, check_all};
use hustings_workloads::coordination::Session as _;
use real_support::{CLOSE_AT_MOST, Stage, on_one_thread};

/// T is at most twenty of them.
const TICK_MS: u64 = 300;
const TIMEOUT: Duration = Duration::from_secs(6);

struct Real(Stage);

impl Arm for Real {
    type Session = ZkSession;

    async fn connect(&self) -> ZkSession {
        self.0.linked(TIMEOUT).await
    }

    async fn cut(&self, session: &ZkSession) {
        self.0.links.disconnect(&[self.0.link_of(session.id())]).await.expect("cut");
    }

    async fn hold(&self, session: &ZkSession, way: Way) {
        let direction = match way {
            Way::Both => Direction::Both,
            Way::Up => Direction::Up,
            Way::Down => Direction::Down,
        };
        let held = self.0.links.partition(&[self.0.link_of(session.id())], direction).await.expect("held");
        assert!(held.verified, "{}", held.evidence);
    }

    async fn release(&self, session: &ZkSession) {
        let healed = self.0.links.heal(&[self.0.link_of(session.id())]).await.expect("released");
        assert!(healed.verified, "{}", healed.evidence);
    }

    async fn take_over(&self, session: &ZkSession) -> ZkSession {
        ZkSession::take_over(&self.0.cluster, session.info()).await.expect("taken over")
    }

    async fn expire(&self, session: &ZkSession) {
        take_over_and_close(&self.0.cluster, session.info(), CLOSE_AT_MOST).await.expect("expired");
    }

    async fn close(&self, session: ZkSession) -> bool {
        session.close(CLOSE_AT_MOST).await
    }

    async fn watch_count(&self) -> u64 {
        watches::watch_count(&self.0).await
    }

    async fn sleep(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    fn fresh(&self) -> u64 {
        self.0.fresh()
    }
}

#[test]
fn a_session_on_real_servers_conforms() {
    on_one_thread(async {
        let arm = Real(Stage::set_up(TICK_MS).await);
        let started = std::time::Instant::now();
        let failures = check_all(&arm).await;
        println!("checked in {:.1} s", started.elapsed().as_secs_f64());
        a_timeout_is_what_the_servers_grant(&arm.0).await;
        a_close_that_nobody_answers_says_so(&arm.0).await;
        arm.0.tear_down().await;
        let told: Vec<String> = failures.iter().map(|(check, why)| format!("{check}: {why}")).collect();
        assert!(told.is_empty(), "{} checks failed:\n{}", told.len(), told.join("\n"));
    });
}

async fn a_timeout_is_what_the_servers_grant(stage: &Stage) {
    for (asked_ms, granted_ms) in [(TICK_MS, 2 * TICK_MS), (1_000, 1_000), (60_000, 20 * TICK_MS)] {
        let session = stage.direct(Duration::from_millis(asked_ms)).await;
        assert_eq!(session.timeout_ms(), granted_ms, "{asked_ms} ms were asked for");
        // With a very short one it may have expired already.
        let _ = session.close(CLOSE_AT_MOST).await;
    }
}

async fn a_close_that_nobody_answers_says_so(stage: &Stage) {
    let session = stage.linked(Duration::from_secs(1)).await;
    let link = stage.link_of(session.id());
    stage.links.partition(&[link], Direction::Both).await.expect("held");
    // Long enough for the client to take its session for expired.
    assert!(!session.close(Duration::from_secs(5)).await);
    stage.links.heal(&[link]).await.expect("healed");
}
