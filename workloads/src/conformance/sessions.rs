//! Sessions: their states, their ends, and the fate of their ephemerals.

use std::pin::pin;

use futures::future::{Either, select};

use hustings_record::Direction;

use super::{
    ConformanceTarget, QUIET_MS, SOON_MS, close_all, make, place, reconnect, soon, state_comes, two, until_exists,
};
use crate::coordination::{CreateMode, OpError, Session, SessionEnd, SessionState, States};

const EXPIRED: SessionState = SessionState::Ended(SessionEnd::Expired);

/// An ephemeral of the session, which the other session can see.
async fn ephemeral<A: ConformanceTarget>(session: &A::Session, other: &A::Session, place: &str) -> String {
    let node = format!("{place}/ephemeral");
    session.create(&node, b"", CreateMode::Ephemeral).await.expect("created");
    other.sync(&node).await.expect("synced");
    let stat = other.exists(&node).await.expect("answered").expect("it is there");
    assert_eq!(stat.ephemeral_owner, session.id());
    node
}

/// Whether no state change arrives for `QUIET_MS`.
async fn is_quiet<A: ConformanceTarget>(arm: &A, states: &mut impl States) -> bool {
    matches!(select(pin!(states.changed()), pin!(arm.sleep(QUIET_MS))).await, Either::Right(_))
}

pub(super) async fn ephemerals_belong_to_their_session<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    assert_ne!(one.id(), other.id());
    assert!((2_000..=10_000).contains(&one.timeout_ms()), "T is {} ms", one.timeout_ms());
    let node = ephemeral::<A>(&one, &other, &place).await;
    close_all(arm, [one]).await;
    other.sync(&node).await.expect("synced");
    assert_eq!(other.exists(&node).await.expect("answered"), None, "gone with the answer to the close");
    close_all(arm, [other]).await;
}

pub(super) async fn a_lost_connection_is_told_and_the_session_goes_on<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let node = ephemeral::<A>(&one, &other, &place).await;
    let id = one.id();
    let mut states = one.states();
    assert_eq!(states.now(), SessionState::Connected);
    arm.hold(&one, Direction::Both).await;
    arm.cut(&one).await;
    state_comes(arm, &mut states, SessionState::Disconnected).await;
    arm.release(&one).await;
    state_comes(arm, &mut states, SessionState::Connected).await;
    for _ in 0..2 {
        reconnect(arm, &one).await;
    }
    assert_eq!(one.id(), id);
    let stat = one.exists(&node).await.expect("answered").expect("an ephemeral outlives a connection");
    assert_eq!(stat.ephemeral_owner, id);
    assert_eq!(other.states().now(), SessionState::Connected, "the other one has a link of its own");
    close_all(arm, [one, other]).await;
}

pub(super) async fn a_short_silence_is_not_even_noticed<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let mut states = one.states();
    arm.hold(&one, Direction::Both).await;
    arm.release(&one).await;
    assert!(is_quiet(arm, &mut states).await, "the connection was never lost");
    make(&one, &format!("{place}/node")).await;
    close_all(arm, [one, other]).await;
}

pub(super) async fn a_long_silence_ends_the_session<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let node = ephemeral::<A>(&one, &other, &place).await;
    let mut states = one.states();
    arm.hold(&one, Direction::Both).await;
    until_exists(arm, &other, &node, false).await;
    state_comes(arm, &mut states, EXPIRED).await;
    assert_eq!(one.exists(&node).await, Err(OpError::Ended(SessionEnd::Expired)));
    arm.release(&one).await;
    close_all(arm, [other]).await;
}

pub(super) async fn an_expired_session_is_told_and_refuses<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let node = ephemeral::<A>(&one, &other, &place).await;
    let mut states = one.states();
    arm.expire(&one).await;
    other.sync(&node).await.expect("synced");
    assert_eq!(other.exists(&node).await.expect("answered"), None, "gone when the session is");
    state_comes(arm, &mut states, EXPIRED).await;
    let late = one.create(&node, b"", CreateMode::Ephemeral).await;
    assert_eq!(late, Err(OpError::Ended(SessionEnd::Expired)));
    assert_eq!(states.now(), EXPIRED);
    assert!(is_quiet(arm, &mut states).await, "no state follows an end");
    close_all(arm, [other]).await;
}

pub(super) async fn a_close_is_answered_and_takes_the_ephemerals<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    for i in 0..50 {
        one.create(&format!("{place}/{i}"), b"", CreateMode::Ephemeral).await.expect("created");
    }
    let mut states = one.states();
    close_all(arm, [one]).await;
    assert_eq!(states.now(), SessionState::Ended(SessionEnd::Closed));
    other.sync(&place).await.expect("synced");
    assert_eq!(other.children(&place).await.expect("listed"), [""; 0]);
    close_all(arm, [other]).await;
}

pub(super) async fn a_take_over_keeps_the_ephemerals_until_it_closes<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let node = ephemeral::<A>(&one, &other, &place).await;
    let mut states = one.states();
    arm.hold(&one, Direction::Both).await;
    let heir = arm.take_over(&one).await;
    assert_eq!(heir.id(), one.id());
    let stat = heir.exists(&node).await.expect("answered").expect("the ephemeral is still there");
    assert_eq!(stat.ephemeral_owner, one.id());
    let more = format!("{place}/more");
    heir.create(&more, b"", CreateMode::Ephemeral).await.expect("the session goes on");
    close_all(arm, [heir]).await;
    other.sync(&place).await.expect("synced");
    assert_eq!(other.children(&place).await.expect("listed"), [""; 0]);
    arm.release(&one).await;
    let ended = async {
        let mut state = states.now();
        while !matches!(state, SessionState::Ended(_)) {
            state = states.changed().await;
        }
        state
    };
    assert_eq!(soon(arm, "the end", ended).await, EXPIRED, "within {SOON_MS} ms");
    close_all(arm, [other]).await;
}

/// One of the servers is the one that the session is already connected to.
pub(super) async fn a_take_over_works_at_every_server<A: ConformanceTarget>(arm: &A) {
    for server in 0..arm.servers() {
        let (one, other, place) = two(arm).await;
        let node = ephemeral::<A>(&one, &other, &place).await;
        let mut states = one.states();
        arm.hold(&one, Direction::Both).await;
        let heir = arm.take_over_at(&one, server).await;
        assert_eq!(heir.id(), one.id());
        heir.sync(&node).await.expect("synced");
        let stat = heir.exists(&node).await.expect("answered").expect("the ephemeral is still there");
        assert_eq!(stat.ephemeral_owner, one.id(), "at server {server}");
        let more = format!("{place}/more");
        heir.create(&more, b"", CreateMode::Ephemeral).await.expect("the session goes on");
        close_all(arm, [heir]).await;
        until_exists(arm, &other, &more, false).await;
        until_exists(arm, &other, &node, false).await;
        arm.release(&one).await;
        state_comes(arm, &mut states, EXPIRED).await;
        close_all(arm, [other]).await;
    }
}

/// Far enough apart that neither the rounding to ticks nor the batching in followers changes the order.
const APART_MS: u64 = 1_000;

pub(super) async fn sessions_expire_after_their_timeout_in_the_order_of_their_silence<A: ConformanceTarget>(arm: &A) {
    let (observer, place) = {
        let observer = arm.connect().await;
        let place = place(arm, &observer).await;
        (observer, place)
    };
    let mut silent = Vec::new();
    for name in ["a", "b", "c"] {
        let session = arm.connect().await;
        let node = format!("{place}/{name}");
        session.create(&node, b"", CreateMode::Ephemeral).await.expect("created");
        silent.push((session, node));
    }
    // A different order from the one in which they were created.
    silent.rotate_left(1);
    let mut touched_ms = Vec::new();
    for (session, node) in &silent {
        let now_ms = arm.now_ms();
        session.exists(node).await.expect("answered");
        arm.hold(session, Direction::Both).await;
        touched_ms.push(now_ms);
        arm.sleep(APART_MS).await;
    }
    for (at, (session, node)) in silent.iter().enumerate() {
        until_exists(arm, &observer, node, false).await;
        let waited_ms = arm.now_ms() - touched_ms[at];
        assert!(waited_ms >= session.timeout_ms(), "{node} went after {waited_ms} ms");
        for (_, later) in &silent[at + 1..] {
            assert!(observer.exists(later).await.expect("answered").is_some(), "{later} went before its turn");
        }
    }
    for (session, _) in &silent {
        arm.release(session).await;
    }
    close_all(arm, [observer]).await;
}
