//! Successions of leaders, orderly and after crashes.

use std::time::Duration;

use hustings_workloads::coordination::{Session as _, SessionEnd};
use hustings_workloads::host::{Departure, Order, Predecessor, RevokeReason, Token};
use hustings_workloads::recipes::election::delete_election;
use hustings_workloads::recipes::{RecipeKind, names};

use super::group::{Group, TIMEOUT};
use super::host::Entry;
use crate::real_support::ServerStage;

fn granted(said: &[Entry]) -> Vec<Token> {
    said.iter().filter_map(|e| if let Entry::Grant(token) = e { Some(*token) } else { None }).collect()
}

fn revoked(said: &[Entry]) -> Vec<RevokeReason> {
    said.iter().filter_map(|e| if let Entry::Revoke(reason) = e { Some(*reason) } else { None }).collect()
}

pub(crate) async fn a_sole_candidate_leads_by_an_ephemeral_and_leaves_a_deletable_election(
    stage: &ServerStage,
    recipe: RecipeKind,
) {
    let group = Group::of(stage, recipe, 1).await;
    let lead = group.lead().await.expect("somebody leads");
    let token = granted(&group.said(0))[0];
    assert_eq!((lead.session, lead.czxid), (token.session, token.czxid), "the token is the znode's");
    assert_eq!((lead.session, lead.who), (group.session(0).id(), Some((7, 0))), "the owner makes it ephemeral");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let status: Vec<Entry> = group.said(0).into_iter().filter(|e| !matches!(e, Entry::Joined)).collect();
    assert_eq!(status, [Entry::Grant(token)], "nothing else is said while nothing happens");
    group.resigns(0).await;
    assert_eq!(group.children().await, [""; 0]);
    assert_eq!(group.lead().await, None);
    delete_election(&group.outsider, &group.election.path).await.expect("deleted");
    assert_eq!(group.outsider.exists(&group.election.path).await.expect("answered"), None);
}

pub(crate) async fn a_follower_leads_after_a_crash_and_one_who_comes_back_follows(
    stage: &ServerStage,
    recipe: RecipeKind,
) {
    let group = Group::of(stage, recipe, 3).await;
    let old = granted(&group.said(0))[0];
    group.expire(0).await;
    assert_eq!(group.departs(0).await, Departure::SessionEnded(SessionEnd::Expired));
    let next = group.has_one_leader().await;
    assert_ne!(next, 0);
    if !recipe.is_lock() {
        assert_eq!(next, 1, "first come, first served");
    }
    let new = granted(&group.said(next))[0];
    assert!(new.czxid > old.czxid, "later leaders have larger tokens");
    let fenced = Entry::Fence(Predecessor { host: 7, candidate: 0, token: old }, new);
    let said: Vec<Entry> =
        group.said(next).into_iter().filter(|e| matches!(e, Entry::Fence(..) | Entry::Grant(_))).collect();
    let wanted: Vec<Entry> = recipe.fences().then_some(fenced).into_iter().chain([Entry::Grant(new)]).collect();
    assert_eq!(said, wanted, "who fences does so before it leads");
    let back = group.joins(stage.direct(TIMEOUT).await).await;
    assert_eq!(group.has_one_leader().await, next);
    assert_eq!(granted(&group.said(back)), []);
    group.nothing_is_left_over(next, 1..=back).await;
}

pub(crate) async fn a_breadcrumb_stays_after_a_crash_and_goes_with_a_resign(stage: &ServerStage, recipe: RecipeKind) {
    let group = Group::of(stage, recipe, 1).await;
    assert_eq!(group.has(names::BREADCRUMB).await, recipe.fences());
    group.expire(0).await;
    group.departs(0).await;
    assert_eq!(group.has(names::BREADCRUMB).await, recipe.fences(), "kept");
    let next = group.joins(stage.direct(TIMEOUT).await).await;
    group.is_led_by(next).await;
    group.resigns(next).await;
    assert_eq!(group.children().await, [""; 0], "nothing is left");
    let third = group.joins(stage.direct(TIMEOUT).await).await;
    group.is_led_by(third).await;
    assert!(!group.said(third).iter().any(|e| matches!(e, Entry::Fence(..))), "there is nobody to fence");
    group.never_two();
}

pub(crate) async fn a_follower_leads_after_a_resign_and_the_rejoiner_follows(stage: &ServerStage, recipe: RecipeKind) {
    let group = Group::of(stage, recipe, 3).await;
    group.resigns(0).await;
    let next = group.has_one_leader().await;
    assert_ne!(next, 0);
    group.stand_again(0);
    group.until("it joins again", || group.said(0).iter().filter(|e| **e == Entry::Joined).count() == 2).await;
    assert_eq!(group.has_one_leader().await, next);
    group.nothing_is_left_over(next, 0..3).await;
    group.resigns(next).await;
    if !recipe.is_lock() {
        group.is_led_by(2).await;
    }
    group.has_one_leader().await;
    group.never_two();
}

pub(crate) async fn a_follower_in_the_middle_goes_and_the_leader_is_untouched(stage: &ServerStage, recipe: RecipeKind) {
    let group = Group::of(stage, recipe, 4).await;
    let before = group.said(0);
    group.order(1, Order::Stop);
    assert_eq!(group.departs(1).await, Departure::Stopped);
    group.expire(2).await;
    group.departs(2).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    group.never_two();
    assert_eq!(group.said(0), before, "not even woken");
    assert_eq!(group.has_one_leader().await, 0);
    group.nothing_is_left_over(0, [0, 3]).await;
    group.resigns(0).await;
    group.is_led_by(3).await;
    group.never_two();
}

pub(crate) async fn a_leader_whose_znode_is_deleted_steps_down_and_stands_anew(
    stage: &ServerStage,
    recipe: RecipeKind,
) {
    let group = Group::of(stage, recipe, 3).await;
    let lead = group.lead().await.expect("somebody leads");
    group.outsider.delete(&format!("{}/{}", group.election.path, lead.node), None).await.expect("deleted");
    group.until("it is deposed", || revoked(&group.said(0)) == [RevokeReason::Deposed]).await;
    group
        .until("it stands anew", || {
            let joins = group.said(0).iter().filter(|e| **e == Entry::Joined).count();
            joins == 2 || recipe.is_lock()
        })
        .await;
    let next = group.has_one_leader().await;
    assert!(granted(&group.said(next)).last().expect("a grant").czxid > lead.czxid);
    group.nothing_is_left_over(next, 0..3).await;
}

/// Takes five seconds. A resource that checks tokens would see them rise from leader to leader.
pub(crate) async fn sessions_that_expire_at_random_leave_one_leader_and_no_orphans(
    stage: &ServerStage,
    recipe: RecipeKind,
) {
    let group = Group::of(stage, recipe, 5).await;
    let mut standing: Vec<u32> = (0..5).collect();
    let mut draw = 7_u32;
    for _ in 0..25 {
        draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let victim = standing.remove((draw >> 16) as usize % standing.len());
        group.expire(victim).await;
        let departure = group.departs(victim).await;
        assert_eq!(departure, Departure::SessionEnded(SessionEnd::Expired), "{victim}");
        standing.push(group.enter(stage.direct(TIMEOUT).await));
        tokio::time::sleep(Duration::from_millis(u64::from(draw >> 24))).await;
    }
    let joined = |number: &u32| group.said(*number).contains(&Entry::Joined);
    group.until("all stand", || standing.iter().all(joined)).await;
    let leader = group.has_one_leader().await;
    group.nothing_is_left_over(leader, standing.iter().copied()).await;
    let terms = terms(&group);
    assert!(terms.len() >= 2, "{terms:?}");
    for pair in terms.windows(2) {
        let ((first, old), (second, new)) = (pair[0], pair[1]);
        // A victim that loses its connection to the client that expires it may come back before its session is closed.
        let again = first == second && old == new && !standing.contains(&first);
        assert!(old.czxid < new.czxid || again, "each token is above the last: {terms:?}");
    }
}

fn terms(group: &Group<'_>) -> Vec<(u32, Token)> {
    let journal = group.shared.journal.borrow();
    let grant = |(who, entry): &(u32, Entry)| if let Entry::Grant(token) = entry { Some((*who, *token)) } else { None };
    journal.iter().filter_map(grant).collect()
}

/// Every round is one resignation of the leader, one handover, and one new candidate.
pub(crate) async fn two_hundred_rounds_of_resign_and_rejoin(group: &Group<'_>) {
    let mut leader = 0;
    for _ in 0..200 {
        group.resigns(leader).await;
        group.stand_again(leader);
        leader = {
            group.until("somebody leads", || group.shared.believers.borrow().len() == 1).await;
            *group.shared.believers.borrow().first().expect("one leads")
        };
    }
    let joins = |number| group.said(number).iter().filter(|e| **e == Entry::Joined).count();
    group.until("all have joined", || (0..3).map(joins).sum::<usize>() == 203).await;
    let leader = group.has_one_leader().await;
    group.nothing_is_left_over(leader, 0..3).await;
    group.never_two();
    let terms = terms(group);
    assert!(terms.len() > 200, "{} terms", terms.len());
    assert!(terms.is_sorted_by(|a, b| a.1.czxid < b.1.czxid), "each token is above the last: {terms:?}");
}
