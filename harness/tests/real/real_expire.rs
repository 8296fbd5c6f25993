//! Real servers end sessions at once, even if their clients try to keep them.

use std::time::{Duration, Instant};

use crate::real_support::{CLOSE_AT_MOST, ServerStage, joined, on_one_thread};
use futures::future::join_all;
use hustings::access::Access;
use hustings::client::session::ZkSession;
use hustings::client::take_over::take_over_and_close;
use hustings::ensemble::Ensemble as _;
use hustings_workloads::coordination::{CreateMode, Session as _, SessionEnd, SessionState, States as _};

/// T is long: no session expires by itself here.
const TICK_MS: u64 = 3_000;
const TIMEOUT: Duration = Duration::from_secs(60);
/// The harness's bound on an expiry.
const AT_MOST: Duration = Duration::from_secs(5);
/// Rejected clients back off for seconds; a client without any answer gives up by itself after 2/5 T.
const LEARNS_AT_MOST: Duration = Duration::from_secs(20);
const SESSIONS: usize = 100;
const LINKED: usize = 20;

struct Victim {
    session: ZkSession,
    /// The addresses through which its host reaches the servers.
    cluster: String,
    znode: String,
}

#[test]
fn sessions_whose_holders_come_back_at_once_are_ended_within_seconds() {
    on_one_thread(async {
        let stage = <ServerStage>::set_up(TICK_MS).await;
        let victims = join_all((0..SESSIONS).map(|number| victim(&stage, number))).await;

        let started = Instant::now();
        let access = Access::default();
        let ended = victims.iter().map(|v| take_over_and_close(&access, &v.cluster, v.session.info(), AT_MOST));
        let outcomes = join_all(ended).await;
        println!("{SESSIONS} sessions at the same time: {:.3} s", started.elapsed().as_secs_f64());
        let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
        assert!(failed.is_empty(), "{} of {SESSIONS} failed: {failed:?}", failed.len());
        let witness = stage.direct(TIMEOUT).await;
        witness.sync("/").await.expect("synced");
        for victim in &victims {
            assert_eq!(witness.exists(&victim.znode).await, Ok(None), "a verification of a session that lives");
        }
        join_all(victims.iter().map(|v| learns_of_its_end(&v.session))).await;
        println!("all of them know: {:.3} s", started.elapsed().as_secs_f64());

        one_after_the_other(&stage).await;
        a_session_that_has_ended_gives_no_verification(&stage, &victims[0]).await;
        a_paused_server_delays_it_and_no_more(&stage).await;
        assert!(witness.close(CLOSE_AT_MOST).await);
        drop(victims);
        stage.tear_down().await;
    });
}

async fn victim(stage: &ServerStage, number: usize) -> Victim {
    let (session, cluster) = if number < LINKED {
        let session = stage.linked(TIMEOUT).await;
        let endpoints = stage.links.endpoints(stage.link_of(session.id()));
        (session, joined(&endpoints))
    } else {
        (stage.direct(TIMEOUT).await, stage.cluster.clone())
    };
    let znode = format!("/victim-{}", stage.fresh());
    session.create(&znode, b"", CreateMode::Ephemeral).await.expect("created");
    Victim { session, cluster, znode }
}

async fn learns_of_its_end(session: &ZkSession) {
    let mut states = session.states();
    let learned = async {
        let mut state = states.now();
        while !matches!(state, SessionState::Ended(_)) {
            state = states.changed().await;
        }
        state
    };
    let state = tokio::time::timeout(LEARNS_AT_MOST, learned).await.expect("it learns of it");
    assert_eq!(state, SessionState::Ended(SessionEnd::Expired));
}

async fn one_after_the_other(stage: &ServerStage) {
    let mut longest = Duration::ZERO;
    for number in LINKED..LINKED + 50 {
        let victim = victim(stage, number).await;
        let started = Instant::now();
        take_over_and_close(&Access::default(), &victim.cluster, victim.session.info(), AT_MOST).await.expect("ended");
        longest = longest.max(started.elapsed());
    }
    println!("the longest of 50, one after the other: {:.3} s", longest.as_secs_f64());
    assert!(longest < AT_MOST / 2, "{longest:?}");
}

async fn a_session_that_has_ended_gives_no_verification(stage: &ServerStage, victim: &Victim) {
    let error = take_over_and_close(&Access::default(), &stage.cluster, victim.session.info(), AT_MOST)
        .await
        .expect_err("it has ended");
    assert!(error.contains("had already ended"), "{error}");
}

async fn a_paused_server_delays_it_and_no_more(stage: &ServerStage) {
    let victims = join_all((LINKED..LINKED + 12).map(|number| victim(stage, number))).await;
    let control = stage.ensemble.control().expect("servers of our own");
    let leader = leader(&stage.cluster).await;
    let paused = if leader == 1 { 2 } else { 1 };
    control.pause(paused).await.expect("paused");
    let access = Access::default();
    let ended = victims.iter().map(|v| take_over_and_close(&access, &v.cluster, v.session.info(), AT_MOST));
    let outcomes = join_all(ended).await;
    control.resume(paused).await.expect("resumed");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

/// The number of the leading server.
async fn leader(cluster: &str) -> u32 {
    for (number, server) in (1..).zip(cluster.split(',')) {
        let addr = server.parse().expect("an address");
        let text = hustings::ensemble::four_letter::ask(addr, "srvr", AT_MOST).await.expect("an answer");
        if hustings::ensemble::four_letter::mode(&text) == Some("leader") {
            return number;
        }
    }
    panic!("nobody leads");
}
