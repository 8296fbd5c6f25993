//! Links in front of real servers: a partition ends sessions when it should, a short one ends none, and the links know
//! the sessions that they carry.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::real_support::{CLOSE_AT_MOST, ServerStage, on_one_thread};
use futures::future::{join, join_all};
use hustings::client::session::ZkSession;
use hustings::process::clock;
use hustings_record::Direction;
use hustings_workloads::coordination::{CreateMode, Session as _, SessionState, States as _, Watch as _, WatchEvent};

/// T is clamped to 2 to 20 ticks.
const TICK_MS: u64 = 500;
const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(10);

const MS: u64 = 1_000_000;

/// The servers' clocks count whole milliseconds.
const EARLY_NS: u64 = 5 * MS;
/// The most that a busy machine may add between an expiry and its notification.
const LATE_NS: u64 = 5_000 * MS;

#[test]
fn links_and_real_servers_agree_on_sessions() {
    on_one_thread(async {
        let stage = <ServerStage>::set_up(TICK_MS).await;
        a_partitioned_session_expires_in_its_window(&stage).await;
        a_partition_that_the_client_does_not_notice_heals_without_a_trace(&stage).await;
        a_partition_shorter_than_the_timeout_keeps_the_session(&stage).await;
        stage.tear_down().await;
    });
}

/// A session whose ephemeral an outsider watches.
struct WatchedSession {
    session: ZkSession,
    link: u16,
    node: String,
}

async fn watched(stage: &ServerStage, timeout: Duration) -> WatchedSession {
    let session = stage.linked(timeout).await;
    let (link, node) = (stage.link_of(session.id()), format!("/links-{}", stage.fresh()));
    session.create(&node, b"", CreateMode::Ephemeral).await.expect("created");
    WatchedSession { session, link, node }
}

async fn touches(stage: &ServerStage, links: &[u16]) -> BTreeMap<i64, u64> {
    let touches = stage.links.touches(links).await.expect("counted");
    touches.list.into_iter().map(|touch| (touch.session, touch.last_up)).collect()
}

async fn a_partitioned_session_expires_in_its_window(stage: &ServerStage) {
    let outsider = stage.direct(LONG).await;
    let all: Vec<WatchedSession> = join_all((0..8).map(|_| watched(stage, SHORT))).await;
    let links: Vec<u16> = all.iter().map(|one| one.link).collect();
    let ids: BTreeSet<i64> = all.iter().map(|one| one.session.id()).collect();
    let mut watches = Vec::new();
    for one in &all {
        outsider.sync(&one.node).await.expect("synced");
        let (found, watch) = outsider.exists_and_watch(&one.node).await.expect("armed");
        assert_eq!(found.map(|stat| stat.ephemeral_owner), Some(one.session.id()));
        watches.push(watch);
    }
    assert!(touches(stage, &links).await.keys().eq(&ids), "the links know whose sessions they carry");
    let gone = join_all(watches.iter_mut().map(async |watch| (watch.fired().await, clock::now())));
    let partition = async {
        let verification = stage.links.partition(&links, Direction::Both).await.expect("held");
        assert!(verification.verified, "{}", verification.evidence);
        let last = touches(stage, &links).await;
        assert!(last.values().all(|at| *at <= verification.to), "nothing goes up any more");
        last
    };
    let (gone, last) = tokio::time::timeout(Duration::from_secs(30), join(gone, partition)).await.expect("they expire");
    assert!(touches(stage, &links).await == last, "nothing went up until the end");
    for (one, (event, at)) in all.iter().zip(gone) {
        assert_eq!(event, WatchEvent::Deleted);
        let (timeout_ns, tick_ns) = (one.session.timeout_ms() * MS, TICK_MS * MS);
        let after = at.checked_sub(last[&one.session.id()]).expect("an expiry after the last touch");
        println!("gone {:.0} ms after its last touch, T = {} ms", after as f64 / 1e6, one.session.timeout_ms());
        assert!(after >= timeout_ns - EARLY_NS, "too early: {after} ns");
        assert!(after <= timeout_ns + tick_ns * 3 / 2 + LATE_NS, "too late: {after} ns");
    }
    stage.links.heal(&links).await.expect("healed");
    assert!(outsider.close(CLOSE_AT_MOST).await);
}

/// The session still works, and has kept its ephemeral.
async fn goes_on(one: &WatchedSession, id: i64) {
    assert_eq!(one.session.id(), id);
    let stat = one.session.exists(&one.node).await.expect("answered").expect("its ephemeral is there");
    assert_eq!(stat.ephemeral_owner, id);
}

async fn accepted(stage: &ServerStage, link: u16) -> u64 {
    let prefix = format!("h{link:03}-");
    let stats = stage.links.stats().await.expect("counted");
    // Probes connect as well: only connections with a session count.
    let of_link = stats.iter().filter(|(name, _)| name.starts_with(&prefix));
    of_link.flat_map(|(_, stats)| &stats.connections).filter(|c| c.head.len() > 60).count() as u64
}

async fn a_partition_that_the_client_does_not_notice_heals_without_a_trace(stage: &ServerStage) {
    let one = watched(stage, LONG).await;
    let (id, mut states) = (one.session.id(), one.session.states());
    assert_eq!(states.now(), SessionState::Connected);
    let before = accepted(stage, one.link).await;
    assert_eq!(before, 1);
    stage.links.partition(&[one.link], Direction::Both).await.expect("held");
    let answer = one.session.exists(&one.node);
    let heal = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        stage.links.heal(&[one.link]).await.expect("healed")
    };
    let (answer, verification) = join(answer, heal).await;
    assert!(verification.verified, "{}", verification.evidence);
    assert!(answer.expect("what was asked meanwhile is answered").is_some());
    goes_on(&one, id).await;
    assert_eq!(accepted(stage, one.link).await, before, "on the same connection");
    assert!(tokio::time::timeout(Duration::from_millis(300), states.changed()).await.is_err(), "nothing was noticed");
    assert!(one.session.close(CLOSE_AT_MOST).await);
}

async fn a_partition_shorter_than_the_timeout_keeps_the_session(stage: &ServerStage) {
    let one = watched(stage, LONG).await;
    let (id, mut states) = (one.session.id(), one.session.states());
    stage.links.partition(&[one.link], Direction::Both).await.expect("held");
    // The client drops the connection after 2/5 T, and cannot make another one.
    let lost = tokio::time::timeout(LONG, async {
        while states.now() != SessionState::Disconnected {
            states.changed().await;
        }
    });
    lost.await.expect("it gives the silent connection up");
    let verification = stage.links.heal(&[one.link]).await.expect("healed");
    assert!(verification.verified, "{}", verification.evidence);
    let back = tokio::time::timeout(LONG, async {
        while states.now() != SessionState::Connected {
            states.changed().await;
        }
    });
    back.await.expect("it connects again");
    goes_on(&one, id).await;
    assert!(touches(stage, &[one.link]).await.contains_key(&id), "known by its new connection too");
    assert!(one.session.close(CLOSE_AT_MOST).await);
}
