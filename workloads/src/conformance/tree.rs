//! The tree: creates, deletes, reads and writes, by one session or by all at once.

use futures::future::join5;

use super::{ConformanceTarget, close_all, is_silent, make, place, refused, told, two};
use crate::coordination::{CreateMode, Op, OpError, Refusal, Session, WatchEvent};

fn number(path: &str, prefix: &str) -> i64 {
    let digits = path.strip_prefix(prefix).unwrap_or_else(|| panic!("{path} begins with {prefix}"));
    assert_eq!(digits.len(), 10, "{path} ends with ten digits");
    digits.parse().unwrap_or_else(|_| panic!("{path} ends with a number"))
}

pub(super) async fn every_mode_creates_what_it_says<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let place = place(arm, &session).await;
    let mut czxid = 0;
    for (mode, owner) in [
        (CreateMode::Persistent, 0),
        (CreateMode::Ephemeral, session.id()),
        (CreateMode::EphemeralSequential, session.id()),
        (CreateMode::Container, 0),
    ] {
        let asked = format!("{place}/{mode:?}-");
        let created = session.create(&asked, b"data", mode).await.expect("created");
        if mode == CreateMode::EphemeralSequential {
            number(&created.path, &asked);
        } else {
            assert_eq!(created.path, asked);
        }
        let (data, stat) = session.get(&created.path).await.expect("it is there");
        assert_eq!((data.as_slice(), stat.version, stat.ephemeral_owner), (&b"data"[..], 0, owner), "{mode:?}");
        assert_eq!(stat.czxid, created.czxid, "{mode:?}");
        assert!(created.czxid > czxid, "later znodes have larger czxids: {mode:?}");
        czxid = created.czxid;
        let below = session.create(&format!("{}/below", created.path), b"", CreateMode::Persistent).await;
        assert_eq!(below.is_ok(), owner == 0, "only what is not ephemeral has children: {mode:?}");
    }
    close_all(arm, [session]).await;
}

pub(super) async fn a_create_that_cannot_be_is_refused<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let place = place(arm, &session).await;
    for mode in [CreateMode::Persistent, CreateMode::Ephemeral, CreateMode::Container] {
        assert_eq!(refused(session.create(&place, b"", mode).await), Refusal::NodeExists, "{mode:?}");
        let orphan = format!("{place}/none/below");
        assert_eq!(refused(session.create(&orphan, b"", mode).await), Refusal::NoNode, "{mode:?}");
    }
    let orphan = format!("{place}/none/n_");
    assert_eq!(refused(session.create(&orphan, b"", CreateMode::EphemeralSequential).await), Refusal::NoNode);
    close_all(arm, [session]).await;
}

pub(super) async fn sequence_numbers_count_the_parents_creates<A: ConformanceTarget>(arm: &A) {
    let (one, other, place) = two(arm).await;
    let next = async |session: &A::Session, name: &str| {
        let asked = format!("{place}/{name}");
        let mode = CreateMode::EphemeralSequential;
        number(&session.create(&asked, b"", mode).await.expect("created").path, &asked)
    };
    assert_eq!(next(&one, "a-").await, 0);
    assert_eq!(next(&other, "b-").await, 1, "one counter for all names and sessions");
    make(&one, &format!("{place}/plain")).await;
    assert_eq!(next(&one, "a-").await, 3, "a create without a number counts too");
    for name in one.children(&place).await.expect("listed") {
        one.delete(&format!("{place}/{name}"), None).await.expect("deleted");
    }
    assert_eq!(next(&one, "a-").await, 4, "a number is not given twice");
    close_all(arm, [one, other]).await;
}

pub(super) async fn the_sequence_starts_again_with_its_parent<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let place = place(arm, &session).await;
    let parent = format!("{place}/parent");
    let mut seen: Vec<(String, i64)> = Vec::new();
    for _ in 0..2 {
        make(&session, &parent).await;
        let prefix = format!("{parent}/n_");
        let made = session.create(&prefix, b"", CreateMode::EphemeralSequential).await.expect("created");
        session.delete(&made.path, None).await.expect("deleted");
        session.delete(&parent, None).await.expect("deleted");
        seen.push((made.path, made.czxid));
    }
    assert_eq!(seen[0].0, seen[1].0, "the same number again");
    assert!(seen[0].1 < seen[1].1, "and only the czxid tells them apart");
    close_all(arm, [session]).await;
}

pub(super) async fn a_delete_wants_the_version_and_no_children<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let place = place(arm, &session).await;
    let (node, below) = (format!("{place}/node"), format!("{place}/node/below"));
    make(&session, &node).await;
    make(&session, &below).await;
    assert_eq!(refused(session.delete(&node, None).await), Refusal::NotEmpty);
    session.delete(&below, Some(0)).await.expect("version 0 is the one there is");
    session.set(&node, b"1", None).await.expect("set");
    for version in [0, 2] {
        assert_eq!(refused(session.delete(&node, Some(version)).await), Refusal::BadVersion);
    }
    session.delete(&node, Some(1)).await.expect("deleted");
    assert_eq!(refused(session.delete(&node, None).await), Refusal::NoNode);
    close_all(arm, [session]).await;
}

pub(super) async fn children_are_listed_by_name<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let place = place(arm, &session).await;
    assert_eq!(session.children(&place).await.expect("listed"), [""; 0]);
    for name in ["b", "a", "c", "b/not-a-child"] {
        make(&session, &format!("{place}/{name}")).await;
    }
    let mut names = session.children(&place).await.expect("listed");
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(refused(session.children(&format!("{place}/none")).await), Refusal::NoNode);
    close_all(arm, [session]).await;
}

pub(super) async fn data_is_set_by_version<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let place = place(arm, &session).await;
    let (node, none) = (format!("{place}/node"), format!("{place}/none"));
    let created = session.create(&node, b"0", CreateMode::Persistent).await.expect("created");
    let stat = session.exists(&node).await.expect("answered").expect("it is there");
    assert_eq!((stat.czxid, stat.version, stat.ephemeral_owner), (created.czxid, 0, 0));
    assert_eq!(session.set(&node, b"1", Some(0)).await.expect("set").version, 1);
    assert_eq!(refused(session.set(&node, b"lost", Some(0)).await), Refusal::BadVersion);
    let set = session.set(&node, b"2", None).await.expect("set");
    assert_eq!((set.version, set.czxid), (2, created.czxid), "the czxid is that of its creation");
    assert_eq!(session.get(&node).await.expect("read"), (b"2".to_vec(), set));
    assert_eq!(session.exists(&none).await.expect("answered"), None, "a missing znode is no error here");
    assert_eq!(refused(session.get(&none).await), Refusal::NoNode);
    assert_eq!(refused(session.set(&none, b"", None).await), Refusal::NoNode);
    close_all(arm, [session]).await;
}

pub(super) async fn a_transaction_is_all_or_nothing<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let place = place(arm, &session).await;
    let path = |name: &str| format!("{place}/{name}");
    let create = |name: &str| Op::Create { path: path(name), data: b"new".to_vec(), mode: CreateMode::Ephemeral };
    make(&session, &path("kept")).await;
    make(&session, &path("gone")).await;
    let work = [
        create("made"),
        Op::Set { path: path("kept"), data: b"1".to_vec(), version: Some(0) },
        Op::Delete { path: path("gone"), version: Some(0) },
    ];
    for (spoiler, why) in [
        (Op::Check { path: path("kept"), version: 7 }, Refusal::BadVersion),
        (Op::Check { path: path("none"), version: 0 }, Refusal::NoNode),
        (create("gone/below/it"), Refusal::NoNode),
        (Op::Set { path: place.clone(), data: Vec::new(), version: Some(3) }, Refusal::BadVersion),
        (Op::Delete { path: place.clone(), version: None }, Refusal::NotEmpty),
    ] {
        for place in 0..=work.len() {
            let mut ops = work.to_vec();
            ops.insert(place, spoiler.clone());
            assert_eq!(refused(session.multi(ops).await), why, "{spoiler:?} at {place}");
        }
        assert_eq!(session.exists(&path("made")).await.expect("answered"), None);
        assert_eq!(session.get(&path("kept")).await.expect("read").0, b"0");
        assert!(session.exists(&path("gone")).await.expect("answered").is_some());
    }
    let mut ops = vec![Op::Check { path: path("kept"), version: 0 }];
    ops.extend(work);
    ops.push(Op::Check { path: path("kept"), version: 1 });
    session.multi(ops).await.expect("each step sees what the earlier ones did");
    let made = session.exists(&path("made")).await.expect("answered").expect("it was made");
    assert_eq!(made.ephemeral_owner, session.id());
    assert_eq!(session.get(&path("kept")).await.expect("read").0, b"1");
    assert_eq!(session.exists(&path("gone")).await.expect("answered"), None);
    close_all(arm, [session]).await;
}

pub(super) async fn a_failed_transaction_wakes_nobody<A: ConformanceTarget>(arm: &A) {
    let (watcher, doer, place) = two(arm).await;
    let [kept, made] = ["kept", "made"].map(|name| format!("{place}/{name}"));
    make(&doer, &kept).await;
    watcher.sync(&kept).await.expect("synced");
    let (_, _, mut on_kept) = watcher.get_and_watch(&kept).await.expect("armed");
    let (_, mut on_made) = watcher.exists_and_watch(&made).await.expect("armed");
    let ops = |version| {
        vec![
            Op::Create { path: made.clone(), data: Vec::new(), mode: CreateMode::Persistent },
            Op::Set { path: kept.clone(), data: b"1".to_vec(), version: Some(0) },
            Op::Delete { path: kept.clone(), version: Some(version) },
        ]
    };
    assert_eq!(refused(doer.multi(ops(0)).await), Refusal::BadVersion);
    watcher.sync(&kept).await.expect("synced");
    assert!(is_silent(arm, &mut on_kept).await && is_silent(arm, &mut on_made).await, "nothing has happened");
    doer.multi(ops(1)).await.expect("done");
    assert_eq!(told(arm, &mut on_kept).await, WatchEvent::DataChanged, "the first of the steps that concern it");
    assert_eq!(told(arm, &mut on_made).await, WatchEvent::Created);
    close_all(arm, [watcher, doer]).await;
}

pub(super) async fn the_steps_of_a_transaction_number_their_znodes_in_order<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let place = place(arm, &session).await;
    let prefix = format!("{place}/n_");
    let create = || Op::Create { path: prefix.clone(), data: Vec::new(), mode: CreateMode::EphemeralSequential };
    let spoiler = Op::Check { path: format!("{place}/none"), version: 0 };
    assert_eq!(refused(session.multi(vec![create(), create(), spoiler]).await), Refusal::NoNode);
    let first_gone = Op::Delete { path: format!("{prefix}0000000000"), version: None };
    session.multi(vec![create(), create(), first_gone]).await.expect("done");
    assert_eq!(session.children(&place).await.expect("listed"), ["n_0000000001"], "what failed took no number");
    let made = session.create(&prefix, b"", CreateMode::EphemeralSequential).await.expect("created");
    assert_eq!(number(&made.path, &prefix), 2);
    close_all(arm, [session]).await;
}

pub(super) async fn a_container_is_a_parent_like_any_other<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let container = format!("{}/container", place(arm, &session).await);
    session.create(&container, b"", CreateMode::Container).await.expect("created");
    let child = format!("{container}/child");
    session.create(&child, b"", CreateMode::Ephemeral).await.expect("created");
    assert_eq!(refused(session.delete(&container, None).await), Refusal::NotEmpty);
    session.delete(&child, None).await.expect("deleted");
    assert!(session.exists(&container).await.expect("answered").is_some(), "it does not go at once");
    session.delete(&container, None).await.expect("deleted");
    close_all(arm, [session]).await;
}

pub(super) async fn after_a_sync_the_writes_of_others_are_seen<A: ConformanceTarget>(arm: &A) {
    let (writer, reader, place) = two(arm).await;
    for round in 0..20 {
        let node = format!("{place}/{round}");
        make(&writer, &node).await;
        reader.sync(&node).await.expect("synced");
        assert!(reader.exists(&node).await.expect("answered").is_some(), "round {round}");
    }
    close_all(arm, [writer, reader]).await;
}

pub(super) async fn requests_take_effect_in_the_order_they_were_sent<A: ConformanceTarget>(arm: &A) {
    let session = arm.connect().await;
    let node = format!("{}/node", place(arm, &session).await);
    for _ in 0..20 {
        let (first, second, third, fourth, fifth) = join5(
            session.delete(&node, None),
            session.create(&node, b"0", CreateMode::Ephemeral),
            session.set(&node, b"1", Some(0)),
            session.get(&node),
            session.delete(&node, Some(1)),
        )
        .await;
        assert_eq!(first, Err(OpError::Refused(Refusal::NoNode)));
        second.expect("created");
        third.expect("set");
        assert_eq!(fourth.expect("read").0, b"1");
        fifth.expect("deleted");
    }
    close_all(arm, [session]).await;
}
