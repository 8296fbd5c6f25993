//! Lost connections, lost replies, silent links and killed servers.

use hustings_record::Direction;
use hustings_record::StepDown;
use std::time::{Duration, Instant};

use hustings::process::procfs::ProcessId;
use hustings_workloads::coordination::Session as _;
use hustings_workloads::host::{Departure, Order, RevokeReason};
use hustings_workloads::recipes::RecipeKind;

use super::group::{Group, TIMEOUT, make_path};
use super::host::Entry;
use crate::real_support::ServerStage;

/// Two seconds are promised; a busy machine gets more.
const RESIGNED_WITHIN: Duration = Duration::from_secs(4);

pub(crate) async fn a_resign_without_the_ensemble_ends_in_time(stage: &ServerStage, recipe: RecipeKind) {
    let group = Group::new(stage, recipe).await;
    let session = stage.linked(TIMEOUT).await;
    let link = stage.link_of(session.id());
    let number = group.joins(session).await;
    group.is_led_by(number).await;
    let held = stage.links.partition(&[link], Direction::Both).await.expect("held");
    assert!(held.verified, "{}", held.evidence);
    let ordered = Instant::now();
    group.order(number, Order::Resign);
    let departure = group.departs(number).await;
    let took = ordered.elapsed();
    assert_eq!(departure, Departure::Resigned { delete: None });
    assert!(took <= RESIGNED_WITHIN, "it took {took:?}");
    assert!(group.said(number).contains(&Entry::Revoke(RevokeReason::Resigned)));
    assert!(group.shared.believers.borrow().is_empty());
    stage.links.heal(&[link]).await.expect("healed");
}

pub(crate) async fn a_create_whose_reply_is_lost_leaves_one_znode(stage: &ServerStage, recipe: RecipeKind) {
    let group = Group::new(stage, recipe).await;
    make_path(&group.outsider, &group.election.path).await;
    let session = stage.linked(TIMEOUT).await;
    let (id, link) = (session.id(), stage.link_of(session.id()));
    let held = stage.links.partition(&[link], Direction::Down).await.expect("held");
    assert!(held.verified, "{}", held.evidence);
    let number = group.enter(session);
    let applied = async {
        while group.owned_by(id).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), applied).await.expect("the create was applied");
    let other = group.joins(stage.direct(TIMEOUT).await).await;
    assert!(group.shared.believers.borrow().is_empty(), "no reply, no lead");
    stage.links.disconnect(&[link]).await.expect("disconnected");
    stage.links.heal(&[link]).await.expect("healed");
    assert_eq!(group.has_one_leader().await, number, "it finds its own: {:?}", group.said(number));
    let lost = |e: &Entry| matches!(e, Entry::Note(text) if text.contains("lost"));
    assert!(group.said(number).iter().any(lost), "{:?}", group.said(number));
    group.nothing_is_left_over(number, [number, other]).await;
    group.resigns(number).await;
    group.is_led_by(other).await;
    group.nothing_is_left_over(other, [other]).await;
    group.never_two();
}

pub(crate) async fn a_deletion_whose_reply_is_lost_does_not_hit_the_next_leader(
    stage: &ServerStage,
    recipe: RecipeKind,
) {
    let group = Group::new(stage, recipe).await;
    let session = stage.linked(TIMEOUT).await;
    let link = stage.link_of(session.id());
    group.joins(session).await;
    group.is_led_by(0).await;
    let other = group.joins(stage.direct(TIMEOUT).await).await;
    let held = stage.links.partition(&[link], Direction::Down).await.expect("held");
    assert!(held.verified, "{}", held.evidence);
    group.order(0, Order::Resign);
    if recipe.fences() {
        // Its breadcrumb is deleted first, and that answer does not arrive.
        group.until("it stops believing", || group.shared.believers.borrow().is_empty()).await;
    } else {
        group.is_led_by(other).await;
    }
    stage.links.disconnect(&[link]).await.expect("disconnected");
    stage.links.heal(&[link]).await.expect("healed");
    let Departure::Resigned { delete } = group.departs(0).await else { panic!("it resigns") };
    if delete.is_none() {
        // A busy machine took longer than the bound of a resignation: the end of its session removes the rest.
        group.expire(0).await;
    }
    group.is_led_by(other).await;
    assert_eq!(group.has_one_leader().await, other);
    assert!(!group.said(other).iter().any(|e| matches!(e, Entry::Revoke(_))), "{:?}", group.said(other));
    group.never_two();
    group.nothing_is_left_over(other, [other]).await;
}

pub(crate) async fn two_quick_disconnects_leave_one_znode_and_one_leader(stage: &ServerStage, recipe: RecipeKind) {
    for step_down in [StepDown::OnDisconnect, StepDown::OnExpiry] {
        let mut group = Group::new(stage, recipe).await;
        group.election.step_down = step_down;
        let (first, second) = (stage.linked(TIMEOUT).await, stage.linked(TIMEOUT).await);
        let links = [stage.link_of(first.id()), stage.link_of(second.id())];
        group.joins(first).await;
        group.is_led_by(0).await;
        group.joins(second).await;
        for round in 0..2 {
            // The first time only the leader, then both.
            stage.links.disconnect(&links[..=round]).await.expect("disconnected");
        }
        group.reconnects(0).await;
        group.reconnects(1).await;
        let leader = group.has_one_leader().await;
        assert_eq!(leader, 0, "{step_down}: its znode never went");
        group.nothing_is_left_over(leader, [0, 1]).await;
        let revoked = group.said(0).iter().any(|e| matches!(e, Entry::Revoke(_)));
        assert_eq!(revoked, step_down == StepDown::OnDisconnect);
        group.resigns(0).await;
        group.is_led_by(1).await;
        group.never_two();
    }
}

pub(crate) async fn a_partition_longer_than_the_timeout_hands_the_lead_over(stage: &ServerStage, recipe: RecipeKind) {
    let group = Group::new(stage, recipe).await;
    let session = stage.linked(Duration::from_secs(2)).await;
    let link = stage.link_of(session.id());
    group.joins(session).await;
    group.is_led_by(0).await;
    let other = group.joins(stage.direct(TIMEOUT).await).await;
    stage.links.partition(&[link], Direction::Both).await.expect("held");
    group.is_led_by(other).await;
    let departure = group.departs(0).await;
    assert!(matches!(departure, Departure::SessionEnded(_)), "{departure:?}");
    stage.links.heal(&[link]).await.expect("healed");
    assert_eq!(group.has_one_leader().await, other);
    group.never_two();
    group.nothing_is_left_over(other, [other]).await;
}

/// A group whose leader's server can be found by its link.
pub(crate) async fn with_links<'a>(stage: &'a ServerStage, recipe: RecipeKind) -> Group<'a> {
    let group = Group::new(stage, recipe).await;
    for _ in 0..3 {
        group.joins(stage.linked(TIMEOUT).await).await;
    }
    group.is_led_by(0).await;
    group
}

/// Kills the server to which the first group's leader is connected: afterwards every group has exactly one leader.
pub(crate) async fn the_leaders_server_is_killed(stage: &ServerStage, groups: &[Group<'_>]) {
    let link = stage.link_of(groups[0].session(0).id());
    let stats = stage.links.stats().await.expect("counted");
    let servers = 1..=3_usize;
    let open = |server: &usize| stats[&format!("h{link:03}-s{server}")].open > 0;
    let server = servers.into_iter().find(open).expect("it is connected to a server");
    let process = ProcessId::of(stage.ensemble.pids()[server - 1]).expect("it lives");
    process.kill_if(|_| true).expect("killed");
    groups[0]
        .until("its leader loses its connection", || {
            groups[0].said(0).contains(&Entry::Revoke(RevokeReason::SteppedDown))
        })
        .await;
    for group in groups {
        // Candidates connected to the other servers may not have noticed.
        for number in 0..3 {
            group.reconnects(number).await;
        }
        let leader = group.has_one_leader().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(group.has_one_leader().await, leader);
        group.never_two();
        group.nothing_is_left_over(leader, 0..3).await;
    }
}
