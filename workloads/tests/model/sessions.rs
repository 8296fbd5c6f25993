//! Sessions: how they begin, move, expire and end.

use std::collections::BTreeMap;

use hustings_workloads::model::{Bugs, Connect, ConnectResponse, Micros, Options, Request, Response, ZnodeLifetime};
use proptest::prelude::*;

use super::support::{ConnectedClient, MS, ModelBench, ReceivedMessage, create, exists, get, made, options, set};

#[test]
fn the_timeout_is_clamped_and_ids_and_passwords_differ() {
    let mut bench = ModelBench::new(options(3));
    let mut seen = Vec::new();
    for (asked, granted) in [(0, 200), (-5, 200), (300, 300), (99_999, 2_000)] {
        let conn = bench.ask(1, Connect { timeout_ms: asked, ..Connect::default() });
        bench.settle();
        let [ReceivedMessage::Connected(ConnectResponse { session, password, timeout_ms })] = bench.take(conn)[..]
        else {
            panic!()
        };
        assert_eq!(timeout_ms, granted, "{asked} asked for");
        assert_eq!(session >> 56, 2, "the server's id");
        assert!(!seen.contains(&(session, password)));
        assert!(seen.iter().all(|(other, secret)| *other != session && *secret != password));
        seen.push((session, password));
    }
}

#[test]
fn a_wrong_password_and_an_unknown_session_are_told_so() {
    let mut bench = ModelBench::new(options(3));
    let client = bench.connect(0, 1_000);
    let refused = [ReceivedMessage::Connected(ConnectResponse::default()), ReceivedMessage::Close];
    for server in 0..3 {
        let wrong = Connect { session: client.session, password: [1; 16], timeout_ms: 1_000, ..Connect::default() };
        let conn = bench.ask(server, wrong);
        bench.settle();
        assert_eq!(bench.take(conn), refused, "server {server}");
    }
    let client = bench.reconnect(client, 1);
    assert_eq!(bench.call(client, Request::CloseSession), Ok(Response::Done));
    assert_eq!(bench.take(client.conn), [ReceivedMessage::Close]);
    for server in 0..3 {
        let ConnectedClient { session, password, .. } = client;
        let conn = bench.ask(server, Connect { session, password, timeout_ms: 1_000, ..Connect::default() });
        bench.settle();
        assert_eq!(bench.take(conn), refused, "server {server}");
    }
}

#[test]
fn a_server_that_has_seen_less_than_the_client_closes_the_connection() {
    let mut bench = ModelBench::new(options(3));
    let last_zxid_seen = bench.ensemble.last_zxid(0) + 1;
    let conn = bench.ask(0, Connect { timeout_ms: 1_000, last_zxid_seen, ..Connect::default() });
    bench.settle();
    assert_eq!(bench.take(conn), [ReceivedMessage::Close]);
    let other = bench.connect(1, 1_000);
    assert!(bench.ensemble.last_zxid(0) >= last_zxid_seen);
    let conn = bench.ask(0, Connect { timeout_ms: 1_000, last_zxid_seen, ..Connect::default() });
    bench.settle();
    assert!(matches!(bench.take(conn)[..], [ReceivedMessage::Connected(_)]));
    assert_ne!(other.session, 0);
}

#[test]
fn a_takeover_on_the_same_server_closes_the_older_connection() {
    for server in 0..3 {
        let mut bench = ModelBench::new(options(3));
        let old = bench.connect(server, 1_000);
        bench.call(old, create("/e", ZnodeLifetime::Ephemeral)).unwrap();
        let new = bench.reconnect(old, server);
        assert_eq!(bench.take(old.conn), [ReceivedMessage::Close], "server {server}");
        assert_eq!(new.session, old.session);
        assert_eq!(bench.call(new, create("/f", ZnodeLifetime::Ephemeral)), made("/f"));
        assert!(bench.exists(server, "/e"));
    }
}

#[test]
fn after_a_takeover_on_another_server_writes_of_the_old_connection_end_it() {
    let mut bench = ModelBench::new(options(3));
    let old = bench.connect(0, 1_000);
    let new = bench.reconnect(old, 1);
    assert_eq!(bench.take(old.conn), [], "nobody tells it");
    bench.ping(old);
    bench.call(old, exists("/", false)).expect("its server does not know");
    bench.send(old, create("/lost", ZnodeLifetime::Persistent));
    bench.settle();
    assert_eq!(bench.take(old.conn), [ReceivedMessage::Close]);
    assert!(!bench.exists(2, "/lost"));
    bench.create(new, "/kept").expect("the new one goes on");
    let back = bench.reconnect(new, 0);
    bench.create(back, "/back").expect("and so does the next");
    bench.send(new, set("/back", "1"));
    bench.settle();
    assert_eq!(bench.take(new.conn), [ReceivedMessage::Close]);
}

#[test]
fn at_the_leader_reads_of_a_connection_that_lost_its_session_end_it_too() {
    let mut bench = ModelBench::new(options(3));
    let old = bench.connect(bench.leader(), 1_000);
    bench.reconnect(old, bench.follower());
    bench.send(old, get("/", false));
    bench.settle();
    assert_eq!(bench.take(old.conn), [ReceivedMessage::Close]);
}

#[test]
fn the_old_connections_pings_keep_the_session_alive() {
    let mut bench = ModelBench::new(options(3));
    let old = bench.connect(0, 500);
    let new = bench.reconnect(old, 1);
    bench.ensemble.disconnected(bench.now, 1, new.conn);
    for _ in 0..30 {
        bench.run_to(bench.now + 100 * MS);
        bench.ping(old);
        bench.ensemble.hand_over_touches(bench.now, 0);
    }
    assert_eq!(bench.metric(2, "global_sessions"), 1);
    bench.run_to(bench.now + 2_000 * MS);
    assert_eq!(bench.metric(2, "global_sessions"), 0);
}

#[test]
fn a_close_is_answered_and_takes_the_ephemerals_in_one_transaction() {
    let mut bench = ModelBench::new(options(3));
    let (client, watcher) = (bench.connect(0, 1_000), bench.connect(1, 1_000));
    for i in 0..20 {
        bench.call(client, create(&format!("/e{i}"), ZnodeLifetime::Ephemeral)).unwrap();
        bench.call(watcher, exists(&format!("/e{i}"), true)).unwrap();
    }
    let before = bench.ensemble.last_zxid(1);
    let xid = bench.send(client, Request::CloseSession);
    bench.settle();
    let heard = bench.take(client.conn);
    assert!(
        matches!(heard[..], [ReceivedMessage::Reply(of, _, Ok(Response::Done)), ReceivedMessage::Close] if of == xid),
        "{heard:?}"
    );
    assert_eq!(bench.ensemble.last_zxid(1), before + 1);
    let events = bench.events(watcher);
    assert_eq!(events.len(), 20);
    assert!(events.iter().enumerate().all(|(i, (_, path))| *path == format!("/e{i}")), "in their order");
}

#[test]
fn an_expired_session_loses_its_ephemerals_and_its_connection_everywhere() {
    let mut bench = ModelBench::new(options(3));
    let (client, watcher) = (bench.connect(0, 300), bench.connect(1, 2_000));
    let old = client;
    let client = bench.reconnect(old, 2);
    bench.call(client, create("/e", ZnodeLifetime::Ephemeral)).unwrap();
    bench.call(watcher, exists("/e", true)).unwrap();
    bench.run_to(bench.now + 1_500 * MS);
    assert_eq!(bench.take(client.conn), [ReceivedMessage::Close]);
    assert_eq!(bench.take(old.conn), [ReceivedMessage::Close]);
    assert_eq!(bench.events(watcher).len(), 1);
    assert!((0..3).all(|server| !bench.exists(server, "/e")));
    assert_eq!((0..3).map(|server| bench.metric(server, "stale_sessions_expired")).sum::<u64>(), 1);
}

#[test]
fn a_write_that_comes_after_the_expiry_is_refused() {
    let mut bench = ModelBench::new(options(3));
    let client = bench.connect(0, 300);
    bench.send(client, create("/e", ZnodeLifetime::Ephemeral));
    bench.collect();
    let (_, ticket) = bench.tickets.remove(0);
    bench.now += 1_000 * MS;
    bench.ensemble.advance(bench.now);
    bench.collect();
    bench.ensemble.order(bench.now, ticket).expect("it has a zxid");
    bench.settle();
    assert!(!bench.exists(0, "/e"));
    assert_eq!(bench.take(client.conn), [ReceivedMessage::Close], "its connection has gone before");
}

#[test]
fn the_bug_that_keeps_ephemerals_keeps_them() {
    let bugs = Bugs { keep_ephemerals: true, ..Bugs::default() };
    let mut bench = ModelBench::new(Options { bugs, ..options(3) });
    let (expiring, closing) = (bench.connect(0, 300), bench.connect(1, 2_000));
    bench.call(expiring, create("/expired", ZnodeLifetime::Ephemeral)).unwrap();
    bench.call(closing, create("/closed", ZnodeLifetime::Ephemeral)).unwrap();
    bench.call(closing, Request::CloseSession).unwrap();
    bench.run_to(bench.now + 3_000 * MS);
    assert_eq!(bench.metric(0, "global_sessions"), 0);
    assert!(bench.exists(0, "/expired") && bench.exists(0, "/closed"));
    let other = bench.connect(0, 300);
    bench.call(other, super::support::delete("/expired")).expect("somebody else can delete it");
    assert_eq!(bench.metric(2, "ephemerals_count"), 1);
}

#[test]
fn a_new_leader_restarts_every_clock_with_a_full_timeout() {
    let mut bench = ModelBench::new(options(3));
    let client = bench.connect(0, 2_000);
    bench.call(client, create("/e", ZnodeLifetime::Ephemeral)).unwrap();
    bench.ensemble.disconnected(bench.now, 0, client.conn);
    bench.run_to(bench.now + 1_900 * MS);
    let leader = bench.leader();
    bench.ensemble.kill(bench.now, leader);
    bench.run_to(bench.now + 400 * MS);
    let elected = bench.now;
    bench.run_to(elected + 1_999 * MS);
    assert!(bench.exists(0, "/e"));
    bench.run_to(elected + 2_100 * MS);
    assert!(!bench.exists(0, "/e"), "T and a tick after the election");
}

#[derive(Clone, Debug)]
enum SessionStep {
    Touch(usize),
    Wait(u64),
    Close(usize),
}

fn doings() -> impl Strategy<Value = Vec<SessionStep>> {
    let one = prop_oneof![
        4 => (0..6_usize).prop_map(SessionStep::Touch),
        4 => (1..180_000_u64).prop_map(SessionStep::Wait),
        1 => (0..6_usize).prop_map(SessionStep::Close),
    ];
    prop::collection::vec(one, 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compares the lazy buckets with the plain rule: each session expires at the first tick after its last touch + T.
    #[test]
    fn sessions_expire_exactly_at_the_tick_that_the_rule_says(
        timeouts in prop::collection::vec(200..1_500_i32, 6), doings in doings()
    ) {
        let mut bench = ModelBench::new(options(1));
        let tick = 100 * MS;
        let due = |touched: Micros, t: i32| ((touched / MS + t as u64) * MS / tick + 1) * tick;
        let clients: Vec<_> = timeouts.iter().map(|&t| bench.connect(0, t)).collect();
        let mut expiries: BTreeMap<usize, Micros> =
            timeouts.iter().enumerate().map(|(i, &t)| (i, due(bench.now, t))).collect();
        for doing in doings {
            match doing {
                SessionStep::Touch(i) => {
                    bench.ping(clients[i]);
                    if let Some(at) = expiries.get_mut(&i) {
                        *at = due(bench.now, timeouts[i]).max(*at);
                    }
                }
                SessionStep::Wait(time) => bench.run_to(bench.now + time),
                SessionStep::Close(i) => {
                    bench.send(clients[i], Request::CloseSession);
                    bench.settle();
                    expiries.remove(&i);
                }
            }
            expiries.retain(|_, at| *at > bench.now);
            for (i, client) in clients.iter().enumerate() {
                let closed = bench.heard[&client.conn].contains(&ReceivedMessage::Close);
                prop_assert_eq!(!closed, expiries.contains_key(&i), "session {} at {}", i, bench.now);
            }
            prop_assert_eq!(bench.metric(0, "global_sessions") as usize, expiries.len());
        }
    }
}
