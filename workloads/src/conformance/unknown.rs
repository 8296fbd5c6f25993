//! The third outcome: a request whose connection was lost before its answer may have taken effect.

use futures::FutureExt;
use futures::future::join;

use hustings_record::Direction;

use super::{ConformanceTarget, SOON_MS, close_all, make, soon, state_comes, two, until_exists};
use crate::coordination::{CreateMode, Op, OpError, Session, SessionState};

pub(super) async fn a_request_that_did_not_arrive_is_unknown<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let mut states = one.states();
    arm.hold(&one, Direction::Both).await;
    let node = format!("{place}/node");
    let request = one.create(&node, b"", CreateMode::Ephemeral);
    let (outcome, ()) = soon(arm, "an outcome", join(request, arm.cut(&one))).await;
    assert_eq!(outcome, Err(OpError::Unknown));
    arm.release(&one).await;
    state_comes(arm, &mut states, SessionState::Connected).await;
    one.sync(&node).await.expect("synced");
    assert_eq!(one.exists(&node).await.expect("answered"), None, "it is not sent again");
    close_all(arm, [one, other]).await;
}

pub(super) async fn a_request_whose_reply_was_lost_is_unknown<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let mut states = one.states();
    arm.hold(&one, Direction::Down).await;
    let prefix = format!("{place}/n_");
    let request = one.create(&prefix, b"", CreateMode::EphemeralSequential);
    let node = format!("{prefix}0000000000");
    let cut = async {
        until_exists(arm, &other, &node, true).await;
        arm.cut(&one).await;
    };
    let (outcome, ()) = soon(arm, "an outcome", join(request, cut)).await;
    assert_eq!(outcome, Err(OpError::Unknown), "although it happened");
    arm.release(&one).await;
    state_comes(arm, &mut states, SessionState::Connected).await;
    one.sync(&place).await.expect("synced");
    assert_eq!(one.children(&place).await.expect("listed"), ["n_0000000000"], "once");
    let stat = one.exists(&node).await.expect("answered").expect("it is there");
    assert_eq!(stat.ephemeral_owner, one.id());
    close_all(arm, [one, other]).await;
}

/// Reads end in the same way: their outcome is unknown, too.
pub(super) async fn every_kind_of_request_ends_when_its_connection_does<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let mut states = one.states();
    arm.hold(&one, Direction::Both).await;
    let below = format!("{place}/below");
    let requests = async {
        let changes = futures::join!(
            one.create(&below, b"", CreateMode::Persistent).map(|r| r.map(drop)),
            one.set(&place, b"", None).map(|r| r.map(drop)),
            one.delete(&below, None),
            one.multi(vec![Op::Check { path: place.clone(), version: 0 }]),
            one.sync(&place),
        );
        for outcome in <[_; 5]>::from(changes) {
            assert_eq!(outcome, Err(OpError::Unknown));
        }
    };
    let questions = async {
        let answers = futures::join!(
            one.children(&place).map(|r| r.map(drop)),
            one.exists(&place).map(|r| r.map(drop)),
            one.exists_and_watch(&below).map(|r| r.map(drop)),
            one.get(&place).map(|r| r.map(drop)),
            one.get_and_watch(&place).map(|r| r.map(drop)),
        );
        for outcome in <[_; 5]>::from(answers) {
            assert_eq!(outcome, Err(OpError::Unknown));
        }
    };
    let all = async { futures::join!(requests, questions, arm.cut(&one)) };
    soon(arm, "all outcomes", all).await;
    arm.release(&one).await;
    state_comes(arm, &mut states, SessionState::Connected).await;
    make(&one, &format!("{place}/again")).await;
    close_all(arm, [one, other]).await;
}

pub(super) async fn a_request_made_without_a_connection_ends_too<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let mut states = one.states();
    arm.hold(&one, Direction::Both).await;
    arm.cut(&one).await;
    state_comes(arm, &mut states, SessionState::Disconnected).await;
    let node = format!("{place}/node");
    let request = one.create(&node, b"", CreateMode::Persistent);
    let (outcome, ()) = soon(arm, "an outcome", join(request, arm.release(&one))).await;
    match outcome {
        // An implementation may wait for a connection or fail at once.
        Ok(_) => until_exists(arm, &other, &node, true).await,
        Err(error) => assert_eq!(error, OpError::Unknown, "within {SOON_MS} ms"),
    }
    state_comes(arm, &mut states, SessionState::Connected).await;
    close_all(arm, [one, other]).await;
}

pub(super) async fn a_future_that_is_dropped_takes_nothing_back<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let node = format!("{place}/node");
    // Polled once, then dropped.
    let _ = one.create(&node, b"", CreateMode::Persistent).now_or_never();
    until_exists(arm, &other, &node, true).await;
    close_all(arm, [one, other]).await;
}
