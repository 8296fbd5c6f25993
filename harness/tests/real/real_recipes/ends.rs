//! The end of an election: all candidates are notified, and none recreates it.

use std::rc::Rc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use hustings_record::Direction;
use hustings_workloads::coordination::{OpError, Refusal, Session as _};
use hustings_workloads::host::Departure;
use hustings_workloads::recipes::election::delete_election;
use hustings_workloads::recipes::{Election, RecipeKind};

use super::group::{Group, TIMEOUT, make_path};
use crate::real_support::ServerStage;

/// Two seconds are promised; a busy machine gets more.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

pub(crate) async fn deleting_a_missing_election_is_no_error(stage: &ServerStage, recipe: RecipeKind) {
    let group = Group::new(stage, recipe).await;
    delete_election(&group.outsider, &group.election.path).await.expect("no error");
    assert_eq!(group.lead().await, None);
}

pub(crate) async fn a_deletion_from_outside_tells_everyone(stage: &ServerStage, recipe: RecipeKind) {
    let group = Group::of(stage, recipe, 10).await;
    // As ZooKeeper's own command line does it: znode after znode without waiting for answers, the election last. A
    // candidate that comes back quickly enough in between makes another round necessary.
    let (session, path) = (&group.outsider, group.election.path.as_str());
    let mut rounds = 0;
    loop {
        rounds += 1;
        assert!(rounds <= 20, "candidates keep coming back");
        let names = session.children(path).await.expect("listed");
        let paths = names.iter().map(|name| format!("{path}/{name}")).chain([path.to_owned()]);
        let mut answers = join_all(paths.map(async |path| session.delete(&path, None).await)).await;
        let last = answers.pop().expect("that of the election");
        for answer in answers {
            assert!(matches!(answer, Ok(()) | Err(OpError::Refused(Refusal::NoNode))), "{answer:?}");
        }
        match last {
            Ok(()) => break,
            Err(error) => assert_eq!(error, OpError::Refused(Refusal::NotEmpty)),
        }
    }
    all_end(&group, 10, Instant::now(), TOLD_WITHIN).await;
}

pub(crate) async fn one_who_was_away_is_told_when_it_comes_back(stage: &ServerStage, recipe: RecipeKind) {
    let group = Group::of(stage, recipe, 2).await;
    let session = stage.linked(TIMEOUT).await;
    let link = stage.link_of(session.id());
    let away = group.joins(session).await;
    stage.links.partition(&[link], Direction::Both).await.expect("held");
    delete_election(&group.outsider, &group.election.path).await.expect("deleted");
    assert_eq!(group.departs(0).await, Departure::ElectionDeleted);
    assert_eq!(group.departs(1).await, Departure::ElectionDeleted);
    assert_eq!(group.departure(away), None);
    stage.links.disconnect(&[link]).await.expect("disconnected");
    stage.links.heal(&[link]).await.expect("healed");
    all_end(&group, 3, Instant::now(), TOLD_WITHIN).await;
}

async fn all_end(group: &Group<'_>, candidates: u32, deleted: Instant, within: Duration) {
    for number in 0..candidates {
        assert_eq!(group.departs(number).await, Departure::ElectionDeleted, "{number}: {:?}", group.said(number));
    }
    assert!(deleted.elapsed() <= within, "the last was told after {:?}", deleted.elapsed());
    assert!(group.shared.believers.borrow().is_empty());
    assert_eq!(group.outsider.exists(&group.election.path).await.expect("answered"), None, "it stays deleted");
    group.never_two();
}

pub(crate) async fn a_thousand_that_come_while_it_is_deleted_all_end(stage: &ServerStage, recipe: RecipeKind) {
    const HALF: u32 = 500;
    let group = Group::new(stage, recipe).await;
    make_path(&group.outsider, &group.election.path).await;
    let election = Election { create_missing: false, poll_interval_ms: 500, ..group.election.clone() };
    let mut sessions = Vec::new();
    for _ in 0..10 {
        sessions.push(stage.direct(TIMEOUT).await);
    }
    let enter = |number: u32| {
        let session = sessions[number as usize % sessions.len()].share();
        assert_eq!(group.enter_for(Rc::new(session), election.clone()), number);
    };
    (0..HALF).for_each(enter);
    let joined = || group.shared.journal.borrow().iter().filter(|(_, e)| *e == super::host::Entry::Joined).count();
    group.until("half of them have joined", || joined() >= HALF as usize).await;
    let racing = async {
        for number in HALF..2 * HALF {
            enter(number);
            if number % 10 == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    let deleting = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        delete_election(&group.outsider, &group.election.path).await.expect("deleted");
        Instant::now()
    };
    let ((), deleted) = futures::join!(racing, deleting);
    all_end(&group, 2 * HALF, deleted, Duration::from_secs(20)).await;
}
