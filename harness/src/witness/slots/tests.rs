use hustings_record::Event;

use super::super::slot::EphemeralNode;
use super::*;

const T_MS: i32 = 4_000;

fn slots(queue: bool) -> Slots {
    Slots::new(HostSlots { candidates: vec![(4, "/c/g1".to_owned()), (5, "/c/g10".to_owned())], queue })
}

fn established(session: i64) -> RelayEvent {
    let (password, asked_ms, timeout_ms) = ([1; 16], T_MS, T_MS);
    RelayEvent::Said(DecodedMessage::Established { session, password, asked_ms, timeout_ms, resumed: false })
}

fn request(xid: i32, op: i32, path: &str) -> PendingRequest {
    PendingRequest { xid, op, path: path.into(), ephemeral: op == op_code::CREATE }
}

/// A request and its reply a microsecond later; `created`: by this zxid.
fn carried_out(asked: &PendingRequest, created: Option<i64>) -> [RelayEvent; 2] {
    let shows = created.map_or(ReplyContent::Nothing, |_| ReplyContent::Made(asked.path.clone()));
    answered(asked, created.unwrap_or(1), 0, shows)
}

fn answered(asked: &PendingRequest, zxid: i64, error: i32, shows: ReplyContent) -> [RelayEvent; 2] {
    let answer = DecodedMessage::Answered { asked: asked.clone(), zxid, error, shows };
    [RelayEvent::Said(DecodedMessage::Asked(asked.clone())), RelayEvent::Said(answer)]
}

/// A name that no other client requests.
const GUID: &str = "0123456789abcdef0123456789abcdef-lock-";

/// A slot that created and deleted a znode, requested another, and lost its connection before the reply.
fn with_unanswered_create() -> Slots {
    let mut slots = slots(true);
    take(&mut slots, 0, 1, [established(70)]);
    take(&mut slots, 10, 1, carried_out(&request(1, op_code::CREATE, "/c/g1/old-0000000001"), Some(100)));
    take(&mut slots, 20, 1, carried_out(&request(2, op_code::DELETE, "/c/g1/old-0000000001"), None));
    let create = request(3, op_code::CREATE, &format!("/c/g1/{GUID}"));
    take(&mut slots, 30, 1, [RelayEvent::Said(DecodedMessage::Asked(create)), RelayEvent::Ended { failure: None }]);
    take(&mut slots, 40, 2, [established(70)]);
    slots
}

fn list(names: &[&str]) -> [RelayEvent; 2] {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    answered(&request(9, op_code::GET_CHILDREN, "/c/g1"), 200, 0, ReplyContent::Names(names))
}

/// Name and czxid of the znode by which the slot leads from now on.
fn rests_on<'s>(slots: &'s Slots, named: Option<&str>) -> Option<(&'s str, Option<i64>)> {
    slots.slot(4)?.rests_on(named).map(|node| (node.name.as_str(), node.czxid))
}

#[test]
fn what_has_gone_is_no_evidence_of_the_next_lead() {
    let slots = with_unanswered_create();
    let slot = slots.slot(4).unwrap();
    assert_eq!((slot.rests_on(None), slot.rests_on(Some("old-0000000001")), slot.writes_by()), (None, None, None));
}

#[test]
fn whoever_asks_for_nothing_else_writes_on_by_what_it_led_by_last() {
    let mut slots = slots(true);
    take(&mut slots, 0, 1, [established(70)]);
    take(&mut slots, 10, 1, carried_out(&request(1, op_code::CREATE, "/c/g1/n-0000000001"), Some(100)));
    take(&mut slots, 20, 3, [RelayEvent::Said(DecodedMessage::Expired { session: 70 })]);
    let slot = slots.slot(4).unwrap();
    assert_eq!((slot.rests_on(None), slot.writes_by().and_then(|node| node.czxid)), (None, Some(100)));
}

#[test]
fn a_znode_whose_making_was_not_heard_is_known_by_its_name_and_its_token_once_that_is_told() {
    let mut slots = with_unanswered_create();
    let name = format!("{GUID}0000000002");
    let events = take(&mut slots, 50, 2, list(&["other-0000000001", &name]));
    assert!(
        matches!(&events[..], [Event::Joined { node: Some(node), czxid: None, .. }] if *node == name),
        "{events:?}"
    );
    assert_eq!(rests_on(&slots, None), Some((name.as_str(), None)));
    assert_eq!(rests_on(&slots, Some("other-0000000001")), None);
    let path = format!("/c/g1/{name}");
    let there = ReplyContent::There { czxid: 140, session: 70 };
    let events = take(&mut slots, 60, 2, answered(&request(10, op_code::EXISTS, &path), 200, 0, there));
    assert!(matches!(&events[..], [Event::Created { czxid: 140, .. }, ..]), "{events:?}");
    assert_eq!(rests_on(&slots, Some(&name)), Some((name.as_str(), Some(140))));
    slots.resigns(4);
    let left = take(&mut slots, 70, 2, carried_out(&request(11, op_code::DELETE, &path), None));
    assert!(matches!(left[..], [Event::Left { how: Departure::Resigned { delete: Some(_) }, .. }]), "{left:?}");
}

#[test]
fn a_name_that_others_ask_for_too_is_nobody_s_by_a_list() {
    let mut slots = slots(true);
    take(&mut slots, 0, 1, [established(70)]);
    let create = request(3, op_code::CREATE, "/c/g1/n-");
    take(&mut slots, 30, 1, [RelayEvent::Said(DecodedMessage::Asked(create)), RelayEvent::Ended { failure: None }]);
    take(&mut slots, 40, 2, [established(70)]);
    assert!(take(&mut slots, 50, 2, list(&["n-0000000001"])).is_empty());
    assert_eq!(rests_on(&slots, Some("n-0000000001")), None);
    let there = |session| ReplyContent::There { czxid: 140, session };
    let exists = request(10, op_code::GET_DATA, "/c/g1/n-0000000001");
    take(&mut slots, 60, 2, answered(&exists, 200, 0, there(71)));
    assert_eq!(rests_on(&slots, None), None, "it is somebody else's");
    take(&mut slots, 70, 2, answered(&exists, 200, 0, there(70)));
    assert_eq!(rests_on(&slots, None), Some(("n-0000000001", Some(140))));
}

#[test]
fn a_deletion_that_was_not_heard_ends_what_is_known_until_it_is_seen_again() {
    let name = "n-0000000001";
    let path = format!("/c/g1/{name}");
    let unheard = || {
        let mut slots = slots(true);
        take(&mut slots, 0, 1, [established(70)]);
        take(&mut slots, 10, 1, carried_out(&request(1, op_code::CREATE, &path), Some(100)));
        slots.resigns(4);
        let delete = RelayEvent::Said(DecodedMessage::Asked(request(2, op_code::DELETE, &path)));
        take(&mut slots, 20, 1, [delete, RelayEvent::Ended { failure: None }]);
        take(&mut slots, 40, 2, [established(70)]);
        assert_eq!(rests_on(&slots, None), None);
        slots
    };
    let mut kept = unheard();
    take(&mut kept, 50, 2, list(&[name]));
    assert_eq!(rests_on(&kept, None), Some((name, Some(100))));
    let gone = [list(&[]), answered(&request(5, op_code::DELETE, &path), 200, NO_NODE, ReplyContent::Nothing)];
    for gone in gone {
        let mut slots = unheard();
        let left = take(&mut slots, 50, 2, gone);
        let how = Departure::Resigned { delete: Some((20, 1_050)) };
        assert_eq!(left, [Event::Left { t: 1_050, cand: 4, session: 70, how }]);
        assert_eq!(slots.slot(4).unwrap().nodes, Vec::<EphemeralNode>::new());
    }
}

/// Handles all events, a microsecond apart from `t` on.
fn take(slots: &mut Slots, t: Nanos, connection: u64, all: impl IntoIterator<Item = RelayEvent>) -> Vec<Event> {
    let mut events = Vec::new();
    for (i, happened) in all.into_iter().enumerate() {
        slots.take(t + 1_000 * i as Nanos, connection, &happened, &mut |event| events.push(event));
    }
    events
}

#[test]
fn a_life_comes_out_as_candidates_tell_it_themselves() {
    let mut slots = slots(true);
    let mut events = take(&mut slots, 0, 1, [RelayEvent::Opened, established(70)]);
    events.extend(take(&mut slots, 10_000, 1, carried_out(&request(1, op_code::CREATE, "/c/g1/n-0"), Some(100))));
    events.extend(take(&mut slots, 20_000, 1, carried_out(&request(2, op_code::GET_CHILDREN2, "/c/g1"), None)));
    slots.settle(20_000 + QUIET_NS / 2, &mut |event| events.push(event));
    slots.settle(21_000 + QUIET_NS, &mut |event| events.push(event));
    let woken = DecodedMessage::Woken { path: "/c/g1/n-9".into(), kind: WatchEvent::Deleted };
    events.extend(take(&mut slots, 90_000_000, 1, [RelayEvent::Said(woken)]));
    slots.resigns(4);
    events.extend(take(&mut slots, 100_000_000, 1, carried_out(&request(3, op_code::DELETE, "/c/g1/n-0"), None)));
    let (cand, session) = (4, 70);
    let node = |name: &str| name.to_owned();
    assert_eq!(
        events,
        [
            Event::Session { t: 1_000, session, timeout_ms: 4_000, asked_ms: 4_000, connect_ns: 1_000 },
            Event::Incarnation { t: 10_000, cand, session },
            Event::Created { t: 11_000, cand, session, node: node("n-0"), czxid: 100 },
            Event::Joined { t: 11_000, cand, session, node: Some(node("n-0")), czxid: Some(100) },
            Event::Settled { t: 21_000 + QUIET_NS, cand, session, requests: 1 },
            Event::Notified { t: 90_000_000, cand, session, node: node("n-9"), kind: WatchEvent::Deleted },
            Event::Left {
                t: 100_001_000,
                cand,
                session,
                how: Departure::Resigned { delete: Some((100_000_000, 100_001_000)) }
            },
        ]
    );
    assert_eq!(slots.standing(), (1, 0));
}

#[test]
fn znodes_are_their_slots_until_they_or_their_session_go() {
    let mut slots = slots(true);
    for (connection, session) in [(1, 70), (2, 80)] {
        take(&mut slots, 0, connection, [established(session)]);
    }
    take(&mut slots, 1, 1, carried_out(&request(1, op_code::CREATE, "/c/g1/n-0"), Some(100)));
    take(&mut slots, 1, 2, carried_out(&request(1, op_code::CREATE, "/c/g10/n-0"), Some(101)));
    take(&mut slots, 1, 2, carried_out(&request(2, op_code::CREATE, "/elsewhere/n-0"), Some(102)));
    let kept = PendingRequest { ephemeral: false, ..request(3, op_code::CREATE, "/c/g1/notes") };
    take(&mut slots, 1, 1, carried_out(&kept, Some(99)));
    let node = |slots: &Slots, slot| slots.slot(slot).unwrap().nodes.first().map(|node| (node.czxid, node.session));
    assert_eq!((node(&slots, 4), node(&slots, 5)), (Some((Some(100), 70)), Some((Some(101), 80))));
    assert_eq!(slots.standing(), (2, 2));
    let left = take(&mut slots, 2, 1, carried_out(&request(4, op_code::DELETE, "/c/g1/n-0"), None));
    assert!(matches!(&left[..], [Event::Left { how: Departure::Failed(_), .. }]), "{left:?}");
    let ended = take(&mut slots, 2, 3, [RelayEvent::Said(DecodedMessage::Expired { session: 80 })]);
    let state = Event::State { t: 2, session: 80, state: SessionState::Ended(SessionEnd::Expired) };
    let left = Event::Left { t: 2, cand: 5, session: 80, how: Departure::SessionEnded(SessionEnd::Expired) };
    assert_eq!(ended, [state, left]);
    assert_eq!((node(&slots, 4), node(&slots, 5)), (None, None));
    assert!(slots.session(80).unwrap().over && !slots.session(70).unwrap().over);
}

#[test]
fn a_connection_that_goes_and_comes_is_told_and_so_is_another_session() {
    let mut slots = slots(true);
    take(&mut slots, 0, 1, [established(70)]);
    take(&mut slots, 1, 1, carried_out(&request(1, op_code::CREATE, "/c/g1/n-0"), Some(100)));
    let gone = take(&mut slots, 5, 1, [RelayEvent::Ended { failure: None }]);
    assert_eq!(gone, [Event::State { t: 5, session: 70, state: SessionState::Disconnected }]);
    let back = take(&mut slots, 6, 2, [established(70)]);
    assert_eq!(back, [Event::State { t: 6, session: 70, state: SessionState::Connected }]);
    take(&mut slots, 7, 3, [established(71)]);
    let anew = take(&mut slots, 8, 3, carried_out(&request(1, op_code::CREATE, "/c/g1/n-1"), Some(120)));
    assert!(matches!(anew[0], Event::Left { session: 70, how: Departure::SessionEnded(_), .. }), "{anew:?}");
    assert!(matches!(anew[1], Event::Incarnation { session: 71, .. }), "{anew:?}");
    assert!(matches!(anew[3], Event::Joined { session: 71, .. }), "{anew:?}");
}

/// Another session asks for what is there, on a connection of its own.
fn reads_along(slots: &mut Slots, t: Nanos, shows: ReplyContent) -> Vec<Event> {
    let reads = [(op_code::EXISTS, "/c/g1/n-0"), (op_code::GET_DATA, "/c/g1/n-0"), (op_code::GET_CHILDREN, "/c/g1")];
    let mut events = Vec::new();
    for (xid, (op, path)) in (1..).zip(reads) {
        let listed = ReplyContent::Names(vec!["n-0".to_owned(), format!("{GUID}0000000002")]);
        let shows = if op == op_code::GET_CHILDREN { listed } else { shows.clone() };
        events.extend(take(slots, t, 9, answered(&request(xid, op, path), 200, 0, shows)));
    }
    events
}

#[test]
fn a_session_that_only_reads_never_replaces_the_one_that_owns_the_znode() {
    let owned = ReplyContent::There { czxid: 100, session: 70 };
    for queue in [true, false] {
        let mut slots = slots(queue);
        take(&mut slots, 0, 1, [established(70)]);
        take(&mut slots, 0, 9, [established(79)]);
        take(&mut slots, 1, 1, carried_out(&request(1, op_code::CREATE, "/c/g1/n-0"), Some(100)));
        slots.settle(QUIET_NS * 2, &mut |_| {});
        assert!(reads_along(&mut slots, QUIET_NS * 3, owned.clone()).is_empty(), "queue: {queue}");
        assert_eq!(slots.slot(4).unwrap().session, Some(70));
        assert_eq!(rests_on(&slots, None), Some(("n-0", Some(100))));
        // Nor while the owner has no connection; its requests are not the owner's.
        take(&mut slots, QUIET_NS * 4, 1, [RelayEvent::Ended { failure: None }]);
        assert!(reads_along(&mut slots, QUIET_NS * 5, owned.clone()).is_empty(), "queue: {queue}");
        assert_eq!(slots.slot(4).unwrap().waiting, 0);
        // The end of its session ends that.
        take(&mut slots, QUIET_NS * 6, 2, [RelayEvent::Said(DecodedMessage::Expired { session: 70 })]);
        let events = reads_along(&mut slots, QUIET_NS * 7, ReplyContent::Nothing);
        assert!(matches!(events[0], Event::Incarnation { session: 79, .. }), "{events:?}");
    }
}

#[test]
fn a_session_that_only_reads_never_replaces_one_whose_create_has_no_answer() {
    let nothing = ReplyContent::Nothing;
    let create = request(3, op_code::CREATE, &format!("/c/g1/{GUID}"));
    for is_lost in [true, false] {
        let mut slots = slots(true);
        take(&mut slots, 0, 1, [established(70)]);
        take(&mut slots, 0, 9, [established(79)]);
        take(&mut slots, 10, 1, [RelayEvent::Said(DecodedMessage::Asked(create.clone()))]);
        if is_lost {
            take(&mut slots, 20, 1, [RelayEvent::Ended { failure: None }]);
            take(&mut slots, 30, 1, [established(70)]);
        }
        assert!(reads_along(&mut slots, 40, nothing.clone()).is_empty(), "lost: {is_lost}");
        // It is the owner that knows which of the listed znodes is its own.
        let joined = take(&mut slots, 50, 1, list(&["n-0", &format!("{GUID}0000000002")]));
        let knows = matches!(&joined[..], [Event::Joined { session: 70, node: Some(_), .. }]);
        assert!(knows == is_lost && slots.slot(4).unwrap().session == Some(70), "{joined:?}");
    }
}

#[test]
fn a_lock_that_another_one_has_by_now_keeps_nobody_s_slot() {
    let mut slots = slots(false);
    take(&mut slots, 0, 1, [established(70)]);
    take(&mut slots, 1, 1, carried_out(&request(1, op_code::CREATE, "/c/g1/n-0"), Some(100)));
    take(&mut slots, 5, 1, [RelayEvent::Ended { failure: None }]);
    // Its client gave that session up, and begins another one.
    take(&mut slots, 6, 9, [established(79)]);
    let exists = request(1, op_code::EXISTS, "/c/g1/n-0");
    let there = |czxid, session| ReplyContent::There { czxid, session };
    // A server that is behind shows an older lock.
    for still in [answered(&exists, 99, NO_NODE, ReplyContent::Nothing), answered(&exists, 99, 0, there(90, 60))] {
        assert!(take(&mut slots, 7, 9, still).is_empty());
    }
    let events = take(&mut slots, 8, 9, answered(&exists, 200, 0, there(150, 80)));
    assert!(
        matches!(
            events[..],
            [
                Event::Left { session: 70, .. },
                Event::Incarnation { session: 79, .. },
                Event::Joined { session: 79, node: None, .. }
            ]
        ),
        "{events:?}"
    );
}

#[test]
fn whoever_needs_no_znode_to_stand_stands_when_it_first_asks() {
    let mut slots = slots(false);
    take(&mut slots, 0, 1, [established(70)]);
    let stands = take(&mut slots, 1, 1, carried_out(&request(1, op_code::EXISTS, "/c/g1/lock"), None));
    assert!(matches!(stands[1], Event::Joined { cand: 4, node: None, .. }), "{stands:?}");
    let leads = take(&mut slots, 2, 1, carried_out(&request(2, op_code::CREATE, "/c/g1/lock"), Some(100)));
    assert!(matches!(leads[..], [Event::Created { czxid: 100, .. }]), "{leads:?}");
    assert_eq!(slots.slot(4).unwrap().nodes.len(), 1);
}

#[test]
fn what_made_no_sense_is_known() {
    let mut slots = slots(true);
    take(&mut slots, 0, 1, [established(70)]);
    assert!(slots.is_sound());
    take(&mut slots, 3, 1, [RelayEvent::Ended { failure: Some("an answer to nothing".to_owned()) }]);
    assert!(!slots.is_sound() && slots.session(70).unwrap().connections == 0);
    assert_eq!(slots.slot(5).unwrap(), &ObservedSlot::default());
}

#[test]
fn a_client_that_hangs_up_once_it_has_asked_for_the_end_has_left_nothing_behind() {
    let mut slots = slots(true);
    for (connection, session) in [(1, 70), (2, 80)] {
        take(&mut slots, 0, connection, [established(session)]);
        let group = if session == 70 { "/c/g1/n-0" } else { "/c/g10/n-0" };
        take(&mut slots, 1, connection, carried_out(&request(1, op_code::CREATE, group), Some(100 + session)));
    }
    slots.stop(2);
    let close = RelayEvent::Said(DecodedMessage::Asked(request(2, op_code::CLOSE_SESSION, "")));
    let ended = take(&mut slots, 3, 1, [close, RelayEvent::Ended { failure: None }]);
    let state = Event::State { t: 1_003, session: 70, state: SessionState::Ended(SessionEnd::Closed) };
    assert_eq!(ended, [state, Event::Left { t: 1_003, cand: 4, session: 70, how: Departure::Stopped }]);
    take(&mut slots, 3, 2, [RelayEvent::Ended { failure: None }]);
    assert_eq!(slots.left_behind(), (1, 1), "the other one never asked");
}

#[test]
fn a_session_whose_connection_cannot_be_read_to_its_end_is_not_told_as_left_behind() {
    for (sound, left) in [(true, (1, 1)), (false, (0, 0))] {
        let mut slots = slots(true);
        take(&mut slots, 0, 1, [established(70)]);
        take(&mut slots, 1, 1, carried_out(&request(1, op_code::CREATE, "/c/g1/n-0"), Some(170)));
        slots.stop(2);
        let failure = (!sound).then(|| "an answer to nothing".to_owned());
        take(&mut slots, 3, 1, [RelayEvent::Ended { failure }]);
        assert_eq!(slots.left_behind(), left, "read to its end: {sound}");
    }
}
