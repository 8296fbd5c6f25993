//! Watches: their events, that each fires once, across lost connections too, and their cost.

use std::pin::pin;

use futures::FutureExt;
use futures::future::{join, join_all};

use hustings_record::Direction;

use super::{
    ConformanceTarget, close_all, is_silent, make, place, reconnect, refused, soon, state_comes, told, two,
    until_exists,
};
use crate::coordination::{CreateMode, Refusal, Session, SessionEnd, SessionState, Watch, WatchEvent};

pub(super) async fn a_watch_tells_what_happened<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    let node = format!("{place}/node");
    let (found, mut created) = watcher.exists_and_watch(&node).await.expect("armed");
    assert_eq!(found, None);
    make(&doer, &node).await;
    assert_eq!(told(arm, &mut created).await, WatchEvent::Created);
    for event in [WatchEvent::DataChanged, WatchEvent::Deleted] {
        let (found, mut by_exists) = watcher.exists_and_watch(&node).await.expect("armed");
        let (_, stat, mut by_get) = watcher.get_and_watch(&node).await.expect("armed");
        assert_eq!(found, Some(stat));
        if event == WatchEvent::Deleted {
            doer.delete(&node, None).await.expect("deleted");
        } else {
            doer.set(&node, b"1", None).await.expect("set");
        }
        assert_eq!(told(arm, &mut by_exists).await, event);
        assert_eq!(told(arm, &mut by_get).await, event);
    }
    close_all(arm, [watcher, doer]).await;
}

pub(super) async fn a_watch_on_children_tells_who_comes_and_goes_and_nothing_else<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    let node = format!("{place}/node");
    for round in 0..2 {
        watcher.sync(&place).await.expect("synced");
        let (names, mut children) = watcher.children_and_watch(&place).await.expect("armed");
        assert_eq!(names.len(), round);
        doer.set(&place, b"1", None).await.expect("set");
        if round == 0 {
            make(&doer, &node).await;
        } else {
            doer.delete(&node, None).await.expect("deleted");
        }
        assert_eq!(told(arm, &mut children).await, WatchEvent::ChildrenChanged);
    }
    watcher.sync(&place).await.expect("synced");
    let (_, _, mut own) = watcher.get_and_watch(&place).await.expect("armed");
    let (_, mut children) = watcher.children_and_watch(&place).await.expect("armed");
    doer.delete(&place, None).await.expect("deleted");
    assert_eq!(told(arm, &mut own).await, WatchEvent::Deleted);
    assert_eq!(told(arm, &mut children).await, WatchEvent::Deleted);
    close_all(arm, [watcher, doer]).await;
}

pub(super) async fn a_watch_fires_once_for_the_first_change<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    let node = format!("{place}/node");
    make(&doer, &node).await;
    watcher.sync(&node).await.expect("synced");
    let (_, _, mut watch) = watcher.get_and_watch(&node).await.expect("armed");
    doer.set(&node, b"1", None).await.expect("set");
    doer.delete(&node, None).await.expect("deleted");
    until_exists(arm, &watcher, &node, false).await;
    assert_eq!(told(arm, &mut watch).await, WatchEvent::DataChanged, "the first of both");
    let (_, mut next) = watcher.exists_and_watch(&node).await.expect("armed");
    assert!(is_silent(arm, &mut next).await, "what is past is not told");
    close_all(arm, [watcher, doer]).await;
}

pub(super) async fn a_watch_sees_its_own_sessions_change<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let node = format!("{}/node", place(arm, &session).await);
    make(&session, &node).await;
    let (_, _, mut watch) = session.get_and_watch(&node).await.expect("armed");
    session.delete(&node, None).await.expect("deleted");
    assert_eq!(told(arm, &mut watch).await, WatchEvent::Deleted);
    close_all(arm, [session]).await;
}

pub(super) async fn a_wait_that_was_dropped_loses_nothing<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    let node = format!("{place}/node");
    let (_, mut watch) = watcher.exists_and_watch(&node).await.expect("armed");
    for _ in 0..3 {
        assert_eq!(pin!(watch.fired()).now_or_never(), None);
    }
    make(&doer, &node).await;
    until_exists(arm, &watcher, &node, true).await;
    assert_eq!(told(arm, &mut watch).await, WatchEvent::Created);
    close_all(arm, [watcher, doer]).await;
}

/// Waits until the servers hold this many watches.
async fn until_watches<A: ConformanceTarget>(arm: &A, wanted: u64, what: &str) {
    let wait = async {
        while arm.watch_count().await != wanted {
            arm.sleep(50).await;
        }
    };
    soon(arm, &format!("{wanted} watches, {what}"), wait).await;
}

/// The number of watches, once those of sessions closed before are gone.
async fn settled_watches<A: ConformanceTarget>(arm: &A) -> u64 {
    let settled = async {
        let mut count = arm.watch_count().await;
        loop {
            arm.sleep(200).await;
            match arm.watch_count().await {
                same if same == count => return count,
                other => count = other,
            }
        }
    };
    soon(arm, "a steady number of watches", settled).await
}

pub(super) async fn only_an_exists_watches_a_missing_znode<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let none = format!("{}/none", place(arm, &session).await);
    let before = settled_watches(arm).await;
    assert_eq!(session.get_and_watch(&none).await.err().map(|e| refused::<()>(Err(e))), Some(Refusal::NoNode));
    assert_eq!(arm.watch_count().await, before);
    let (found, watch) = session.exists_and_watch(&none).await.expect("armed");
    assert_eq!(found, None);
    assert_eq!(arm.watch_count().await, before + 1);
    drop(watch);
    until_watches(arm, before, "for its watch was dropped").await;
    close_all(arm, [session]).await;
}

pub(super) async fn a_dropped_watch_costs_nothing<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let place = place(arm, &session).await;
    let before = settled_watches(arm).await;
    for round in 0..10 {
        let node = format!("{place}/{round}");
        make(&session, &node).await;
        drop(session.get_and_watch(&node).await.expect("armed"));
        drop(session.exists_and_watch(&node).await.expect("armed"));
    }
    until_watches(arm, before, "for all were dropped").await;
    close_all(arm, [session]).await;
}

/// A recipe arms the next watch before it drops the previous one, often on the same znode.
pub(super) async fn a_watch_beside_a_dropped_one_stays_armed<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    for round in 0..20 {
        let node = format!("{place}/{round}");
        make(&doer, &node).await;
        watcher.sync(&node).await.expect("synced");
        let (_, _, old) = watcher.get_and_watch(&node).await.expect("armed");
        let mut kept = if round % 2 == 0 {
            let kept = watcher.get_and_watch(&node).await.expect("armed").2;
            drop(old);
            kept
        } else {
            drop(old);
            watcher.get_and_watch(&node).await.expect("armed").2
        };
        // Any request that the drop sent is answered before this one is.
        watcher.sync(&node).await.expect("synced");
        doer.delete(&node, None).await.expect("deleted");
        assert_eq!(told(arm, &mut kept).await, WatchEvent::Deleted, "round {round}");
    }
    close_all(arm, [watcher, doer]).await;
}

pub(super) async fn a_watch_outlives_its_connection<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    let (node, none) = (format!("{place}/node"), format!("{place}/none"));
    make(&doer, &node).await;
    watcher.sync(&node).await.expect("synced");
    let (_, _, mut deleted) = watcher.get_and_watch(&node).await.expect("armed");
    let (_, mut created) = watcher.exists_and_watch(&none).await.expect("armed");
    reconnect(arm, &watcher).await;
    assert!(is_silent(arm, &mut deleted).await, "a lost connection is no event of a watch");
    assert!(is_silent(arm, &mut created).await, "a lost connection is no event of a watch");
    doer.delete(&node, None).await.expect("deleted");
    make(&doer, &none).await;
    assert_eq!(told(arm, &mut deleted).await, WatchEvent::Deleted);
    assert_eq!(told(arm, &mut created).await, WatchEvent::Created);
    close_all(arm, [watcher, doer]).await;
}

/// Runs `meanwhile` while the session has no connection, and waits until it has one again.
async fn away<A: ConformanceTarget>(arm: &A, session: &A::Session, meanwhile: impl Future<Output = ()>) {
    let mut states = session.states();
    arm.hold(session, Direction::Both).await;
    meanwhile.await;
    arm.cut(session).await;
    state_comes(arm, &mut states, SessionState::Disconnected).await;
    arm.release(session).await;
    state_comes(arm, &mut states, SessionState::Connected).await;
}

pub(super) async fn what_happened_meanwhile_is_told_after_a_reconnect<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    let [gone, changed, made] = ["gone", "changed", "made"].map(|name| format!("{place}/{name}"));
    make(&doer, &gone).await;
    make(&doer, &changed).await;
    watcher.sync(&place).await.expect("synced");
    let (_, _, mut gone_by_get) = watcher.get_and_watch(&gone).await.expect("armed");
    let (_, mut gone_by_exists) = watcher.exists_and_watch(&gone).await.expect("armed");
    let (_, _, mut changed_watch) = watcher.get_and_watch(&changed).await.expect("armed");
    let (_, mut made_watch) = watcher.exists_and_watch(&made).await.expect("armed");
    let meanwhile = async {
        doer.delete(&gone, None).await.expect("deleted");
        doer.set(&changed, b"1", None).await.expect("set");
        make(&doer, &made).await;
    };
    away(arm, &watcher, meanwhile).await;
    assert_eq!(told(arm, &mut gone_by_get).await, WatchEvent::Deleted);
    assert_eq!(told(arm, &mut gone_by_exists).await, WatchEvent::Deleted);
    assert_eq!(told(arm, &mut changed_watch).await, WatchEvent::DataChanged);
    assert_eq!(told(arm, &mut made_watch).await, WatchEvent::Created);
    close_all(arm, [watcher, doer]).await;
}

pub(super) async fn many_watches_are_set_again_at_once<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    let nodes: Vec<String> = (0..60).map(|i| format!("{place}/{i}")).collect();
    join_all(nodes.iter().step_by(2).map(|node| make(&doer, node))).await;
    watcher.sync(&place).await.expect("synced");
    let armed = join_all(nodes.iter().map(|node| watcher.exists_and_watch(node))).await;
    let mut watches: Vec<_> = armed.into_iter().map(|armed| armed.expect("armed").1).collect();
    // Every third znode changes while the watcher cannot be notified, the others afterwards.
    let change = async |at: usize| match at % 4 {
        0 => doer.set(&nodes[at], b"1", None).await.map(drop).expect("set"),
        2 => doer.delete(&nodes[at], None).await.expect("deleted"),
        _ => make(&doer, &nodes[at]).await,
    };
    away(arm, &watcher, join_all((0..nodes.len()).step_by(3).map(&change)).map(drop)).await;
    join_all((0..nodes.len()).filter(|at| at % 3 != 0).map(&change)).await;
    for (at, watch) in watches.iter_mut().enumerate() {
        let wanted = match at % 4 {
            0 => WatchEvent::DataChanged,
            2 => WatchEvent::Deleted,
            _ => WatchEvent::Created,
        };
        assert_eq!(told(arm, watch).await, wanted, "watch {at}");
    }
    close_all(arm, [watcher, doer]).await;
}

pub(super) async fn one_deleted_and_made_again_meanwhile_has_changed<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    let node = format!("{place}/lock");
    make(&doer, &node).await;
    watcher.sync(&node).await.expect("synced");
    let (_, _, mut watch) = watcher.get_and_watch(&node).await.expect("armed");
    let meanwhile = async {
        doer.delete(&node, None).await.expect("deleted");
        make(&doer, &node).await;
    };
    away(arm, &watcher, meanwhile).await;
    assert_eq!(told(arm, &mut watch).await, WatchEvent::DataChanged, "the deletion itself is never told");
    close_all(arm, [watcher, doer]).await;
}

pub(super) async fn the_end_of_the_session_ends_its_watches<A: ConformanceTarget>(arm: &A) {
    let (expiring, closing, place) = two(arm).await;
    let (_, _, mut expired) = expiring.get_and_watch(&place).await.expect("armed");
    let (_, mut closed) = closing.exists_and_watch(&format!("{place}/none")).await.expect("armed");
    arm.expire(&expiring).await;
    assert_eq!(told(arm, &mut expired).await, WatchEvent::Ended(SessionEnd::Expired));
    let (answered, event) = join(arm.close(closing), told(arm, &mut closed)).await;
    assert!(answered, "a close is answered");
    assert_eq!(event, WatchEvent::Ended(SessionEnd::Closed));
    let late = expiring.create(&format!("{place}/late"), b"", CreateMode::Persistent).await;
    assert!(late.is_err(), "an ended session does nothing more");
}
