//! Leaders, minorities, and the data that survives.

use hustings_record::ServerState::{Down, Following, Leading, NotServing as Looking, Standalone};
use hustings_workloads::model::{Connect, Options, Server, ZnodeLifetime};

use super::support::{ConnectedClient, MS, ModelBench, ReceivedMessage, create, exists, made, options};

/// Five ticks of 100 ms.
const SYNC_LIMIT: u64 = 500 * MS;
const ELECTION: u64 = 400 * MS;

fn part_from_all(bench: &mut ModelBench, server: Server) {
    for other in (0..bench.ensemble.servers()).filter(|other| *other != server) {
        bench.ensemble.part(bench.now, server, other);
    }
    bench.settle();
}

fn join_all(bench: &mut ModelBench) {
    for a in 0..bench.ensemble.servers() {
        (0..a).for_each(|b| bench.ensemble.join(bench.now, a, b));
    }
    bench.settle();
}

fn run_for(bench: &mut ModelBench, time: u64) {
    bench.run_to(bench.now + time);
}

/// Clients with long timeouts, one per server.
fn with_clients(servers: usize) -> (ModelBench, Vec<ConnectedClient>) {
    let mut bench = ModelBench::new(Options { timeout_max_ms: 60_000, ..options(servers) });
    let clients = (0..servers).map(|server| bench.connect(server, 60_000)).collect();
    (bench, clients)
}

#[test]
fn the_best_of_three_leads_after_the_election() {
    let mut bench = ModelBench::down(options(3));
    bench.ensemble.start(0, 0);
    bench.run_to(1_000 * MS);
    assert_eq!(bench.ensemble.leader(), None, "one of three is no quorum");
    bench.ensemble.start(1_000 * MS, 1);
    bench.run_to(1_399 * MS);
    assert_eq!(bench.ensemble.leader(), None);
    bench.run_to(1_400 * MS);
    assert_eq!(bench.ensemble.leader(), Some(1), "same data: the larger id");
    bench.ensemble.start(1_500 * MS, 2);
    bench.run_to(2_000 * MS);
    assert_eq!(bench.ensemble.leader(), Some(1), "one that comes late follows");
    assert_eq!(bench.roles, [(0, Looking), (1, Looking), (1, Leading), (0, Following), (2, Looking), (2, Following)]);
    assert_eq!(bench.ensemble.last_zxid(2), 1 << 32, "the first epoch");
}

#[test]
fn a_single_server_serves_at_once_and_keeps_its_data() {
    let mut bench = ModelBench::down(options(1));
    bench.ensemble.start(0, 0);
    let client = bench.connect(0, 2_000);
    bench.call(client, create("/e", ZnodeLifetime::Ephemeral)).unwrap();
    bench.create(client, "/p").unwrap();
    assert_eq!(bench.ensemble.last_zxid(0), 3, "it has no epochs");
    bench.ensemble.kill(bench.now, 0);
    assert_eq!(bench.ensemble.state(0), Down);
    bench.settle();
    assert_eq!(bench.take(client.conn), [], "without a word");
    run_for(&mut bench, 10_000 * MS);
    bench.ensemble.start(bench.now, 0);
    bench.settle();
    assert_eq!(bench.roles.last(), Some(&(0, Standalone)));
    let client = bench.reconnect(client, 0);
    assert_ne!(client.session, 0, "nobody was there to expire it");
    assert!(bench.exists(0, "/e"));
    bench.ensemble.kill(bench.now, 0);
    bench.ensemble.wipe(0);
    bench.ensemble.start(bench.now, 0);
    let conn = bench.ask(0, Connect { session: client.session, password: client.password, ..Connect::default() });
    bench.settle();
    assert!(
        matches!(&bench.take(conn)[..], [ReceivedMessage::Connected(answer), ReceivedMessage::Close] if answer.session == 0)
    );
    assert!(!bench.exists(0, "/p"));
}

#[test]
fn a_write_through_a_follower_is_answered_and_seen_everywhere() {
    let mut bench = ModelBench::new(options(3));
    let (here, there) = (bench.connect(0, 1_000), bench.connect(1, 1_000));
    assert_eq!(bench.call(here, create("/a", ZnodeLifetime::Ephemeral)), made("/a"));
    assert!(bench.call(there, exists("/a", false)).is_ok());
    assert!((0..3).all(|server| bench.exists(server, "/a")));
}

#[test]
fn what_was_committed_outlives_its_leader() {
    let (mut bench, clients) = with_clients(3);
    bench.send(clients[2], create("/a", ZnodeLifetime::Persistent));
    bench.collect();
    let (_, ticket) = bench.tickets.remove(0);
    bench.ensemble.order(bench.now, ticket).expect("ordered");
    bench.collect();
    assert!(matches!(bench.take(clients[2].conn)[..], [ReceivedMessage::Reply(_, _, Ok(_))]));
    bench.ensemble.kill(bench.now, 2);
    bench.committed.clear();
    bench.collect();
    for follower in [0, 1] {
        assert_eq!(bench.ensemble.state(follower), Looking, "a killed leader is missed at once");
        assert_eq!(bench.take(clients[follower].conn), [ReceivedMessage::Close]);
    }
    run_for(&mut bench, ELECTION);
    assert_eq!(bench.leader(), 1);
    assert_eq!(bench.ensemble.last_zxid(1), 2 << 32, "a new epoch");
    assert!(bench.exists(0, "/a") && bench.exists(1, "/a"), "although neither was told to apply it");
    bench.ensemble.start(bench.now, 2);
    run_for(&mut bench, ELECTION);
    assert_eq!((bench.leader(), bench.ensemble.state(2)), (1, Following));
}

#[test]
fn the_server_with_more_data_leads_whatever_its_id() {
    let (mut bench, clients) = with_clients(3);
    bench.ensemble.kill(bench.now, 1);
    bench.create(clients[0], "/a").unwrap();
    bench.ensemble.kill(bench.now, 2);
    bench.ensemble.start(bench.now, 1);
    run_for(&mut bench, ELECTION);
    assert_eq!(bench.leader(), 0, "1 lacks what 0 and 2 have committed");
    assert!(bench.exists(1, "/a"));
}

#[test]
fn a_parted_leader_commits_nothing_and_gives_up_when_the_others_do() {
    let (mut bench, clients) = with_clients(3);
    part_from_all(&mut bench, 2);
    bench.send(clients[2], create("/lost", ZnodeLifetime::Persistent));
    bench.send(clients[0], create("/lost-too", ZnodeLifetime::Persistent));
    run_for(&mut bench, SYNC_LIMIT - 1);
    assert_eq!((bench.leader(), bench.ensemble.state(0)), (2, Following), "nobody has noticed");
    assert!(bench.take(clients[2].conn).is_empty() && bench.take(clients[0].conn).is_empty());
    run_for(&mut bench, 1);
    assert_eq!([0, 1, 2].map(|server| bench.ensemble.state(server)), [Looking; 3]);
    for client in &clients {
        assert_eq!(bench.take(client.conn), [ReceivedMessage::Close]);
    }
    run_for(&mut bench, ELECTION);
    assert_eq!(bench.leader(), 1);
    run_for(&mut bench, 10 * ELECTION);
    assert_eq!(bench.ensemble.state(2), Looking, "alone it serves nobody");
    let conn = bench.ask(2, Connect { timeout_ms: 1_000, ..Connect::default() });
    bench.settle();
    assert_eq!(bench.take(conn), [ReceivedMessage::Close]);
    let client = bench.reconnect(clients[2], 1);
    bench.create(client, "/new").unwrap();
    join_all(&mut bench);
    run_for(&mut bench, ELECTION);
    assert_eq!(bench.ensemble.state(2), Following);
    assert!(bench.exists(2, "/new"));
    assert!((0..3).all(|server| !bench.exists(server, "/lost") && !bench.exists(server, "/lost-too")));
}

#[test]
fn a_short_partition_delays_and_loses_nothing() {
    let (mut bench, clients) = with_clients(3);
    part_from_all(&mut bench, 2);
    bench.send(clients[2], create("/a", ZnodeLifetime::Persistent));
    bench.send(clients[0], create("/b", ZnodeLifetime::Persistent));
    run_for(&mut bench, SYNC_LIMIT - 1);
    join_all(&mut bench);
    for (server, client) in clients.iter().enumerate().filter(|(server, _)| *server != 1) {
        let heard = bench.take(client.conn);
        assert!(matches!(heard[..], [ReceivedMessage::Reply(_, _, Ok(_))]), "at {server}: {heard:?}");
    }
    assert!((0..3).all(|server| bench.exists(server, "/a") && bench.exists(server, "/b")));
    run_for(&mut bench, 10 * SYNC_LIMIT);
    assert_eq!(bench.roles, []);
}

#[test]
fn a_follower_that_was_parted_shortly_gets_what_it_missed() {
    let (mut bench, clients) = with_clients(3);
    bench.call(clients[0], exists("/a", true)).unwrap_err();
    part_from_all(&mut bench, 0);
    bench.create(clients[1], "/a").unwrap();
    assert!(!bench.exists(0, "/a"));
    assert_eq!(bench.take(clients[0].conn), []);
    run_for(&mut bench, SYNC_LIMIT / 2);
    join_all(&mut bench);
    assert!(bench.exists(0, "/a"));
    assert_eq!(bench.events(clients[0]).len(), 1);
}

#[test]
fn a_parted_follower_closes_and_comes_back_with_everything() {
    let (mut bench, clients) = with_clients(3);
    part_from_all(&mut bench, 0);
    run_for(&mut bench, SYNC_LIMIT);
    assert_eq!([0, 1, 2].map(|server| bench.ensemble.state(server)), [Looking, Following, Leading]);
    assert_eq!(bench.take(clients[0].conn), [ReceivedMessage::Close]);
    bench.create(clients[1], "/a").expect("the majority goes on");
    bench.ensemble.join(bench.now, 0, 1);
    run_for(&mut bench, 2 * ELECTION);
    assert_eq!(bench.ensemble.state(0), Looking, "it does not reach the leader");
    bench.ensemble.join(bench.now, 0, 2);
    run_for(&mut bench, ELECTION);
    assert_eq!(bench.ensemble.state(0), Following);
    assert!(bench.exists(0, "/a"));
}

#[test]
fn a_leader_without_followers_steps_down_and_returns_with_one() {
    let (mut bench, clients) = with_clients(3);
    bench.ensemble.kill(bench.now, 0);
    bench.create(clients[1], "/a").expect("two of three");
    bench.ensemble.kill(bench.now, 1);
    assert_eq!(bench.ensemble.state(2), Looking);
    bench.ensemble.start(bench.now, 0);
    run_for(&mut bench, ELECTION);
    assert_eq!((bench.leader(), bench.ensemble.state(0)), (2, Following));
    assert!(bench.exists(0, "/a"));
}

#[test]
fn a_paused_leader_is_replaced_and_learns_of_it_when_it_wakes() {
    let (mut bench, clients) = with_clients(3);
    bench.ensemble.pause(bench.now, 2);
    run_for(&mut bench, SYNC_LIMIT - 1);
    assert_eq!(bench.leader(), 2);
    run_for(&mut bench, 1 + ELECTION);
    assert_eq!((bench.leader(), bench.ensemble.state(2)), (1, Leading), "it still believes that it leads");
    let client = bench.reconnect(clients[2], 1);
    bench.create(client, "/a").unwrap();
    assert_eq!(bench.take(clients[2].conn), []);
    bench.ensemble.resume(bench.now, 2);
    bench.settle();
    assert_eq!(bench.ensemble.state(2), Looking);
    assert_eq!(bench.take(clients[2].conn), [ReceivedMessage::Close]);
    run_for(&mut bench, ELECTION);
    assert_eq!(bench.ensemble.state(2), Following);
    assert!(bench.exists(2, "/a"));
}

#[test]
fn a_paused_follower_is_given_up_and_learns_of_it_when_it_wakes() {
    let (mut bench, clients) = with_clients(3);
    bench.ensemble.pause(bench.now, 0);
    bench.create(clients[1], "/a").unwrap();
    run_for(&mut bench, 4 * SYNC_LIMIT);
    assert_eq!(bench.ensemble.state(0), Following, "it cannot know");
    bench.ensemble.resume(bench.now, 0);
    bench.settle();
    assert_eq!(bench.ensemble.state(0), Looking);
    run_for(&mut bench, ELECTION);
    assert!(bench.exists(0, "/a"));
    // A short pause is not even noticed.
    bench.ensemble.pause(bench.now, 0);
    bench.create(clients[1], "/b").unwrap();
    run_for(&mut bench, SYNC_LIMIT / 2);
    assert!(!bench.exists(0, "/b"));
    bench.ensemble.resume(bench.now, 0);
    bench.settle();
    assert_eq!(bench.ensemble.state(0), Following);
    assert!(bench.exists(0, "/b"));
}

#[test]
fn tickets_of_a_lost_leader_are_void() {
    let (mut bench, clients) = with_clients(3);
    bench.send(clients[0], create("/a", ZnodeLifetime::Persistent));
    bench.send(clients[2], create("/b", ZnodeLifetime::Persistent));
    bench.collect();
    bench.ensemble.kill(bench.now, 2);
    let tickets = std::mem::take(&mut bench.tickets);
    for (_, ticket) in &tickets {
        assert_eq!(bench.ensemble.order(bench.now, *ticket), None);
    }
    run_for(&mut bench, ELECTION);
    for (_, ticket) in &tickets {
        assert_eq!(bench.ensemble.order(bench.now, *ticket), None, "with a new leader too");
    }
    bench.settle();
    assert!(!bench.exists(0, "/a") && !bench.exists(0, "/b"));
}

#[test]
fn nobody_expires_while_the_leader_has_no_quorum() {
    let mut bench = ModelBench::new(Options { sync_limit: 50, ..options(3) });
    let client = bench.connect(2, 300);
    bench.call(client, create("/e", ZnodeLifetime::Ephemeral)).unwrap();
    part_from_all(&mut bench, 2);
    run_for(&mut bench, 3_000 * MS);
    assert!((0..3).all(|server| bench.exists(server, "/e")));
    join_all(&mut bench);
    assert!((0..3).all(|server| !bench.exists(server, "/e")), "it was overdue");
}

#[test]
fn a_wiped_server_gets_all_data_from_the_leader() {
    let (mut bench, clients) = with_clients(3);
    bench.ensemble.kill(bench.now, 0);
    for i in 0..20_000 {
        bench.create(clients[1], &format!("/n{i}")).unwrap();
    }
    bench.ensemble.wipe(0);
    bench.ensemble.start(bench.now, 0);
    run_for(&mut bench, ELECTION);
    assert_eq!(bench.ensemble.state(0), Following);
    assert!(bench.ensemble.znodes(0).eq(bench.ensemble.znodes(2)), "more than the log has kept");
}

#[test]
fn when_a_majority_is_wiped_the_rest_takes_what_the_new_leader_has() {
    let (mut bench, clients) = with_clients(3);
    bench.create(clients[0], "/old").unwrap();
    for server in 0..3 {
        bench.ensemble.kill(bench.now, server);
    }
    for server in [0, 1] {
        bench.ensemble.wipe(server);
        bench.ensemble.start(bench.now, server);
    }
    run_for(&mut bench, ELECTION);
    let client = bench.connect(1, 1_000);
    bench.create(client, "/new").unwrap();
    bench.ensemble.start(bench.now, 2);
    run_for(&mut bench, ELECTION);
    assert_eq!(bench.ensemble.state(2), Following);
    assert!((0..3).all(|server| bench.exists(server, "/new") && !bench.exists(server, "/old")));
    assert!(bench.ensemble.last_zxid(2) > 2 << 32, "no zxid is given twice");
}

#[test]
fn of_five_any_three_that_hear_each_other_serve() {
    let (mut bench, _) = with_clients(5);
    assert_eq!(bench.leader(), 4);
    // From now on 4 communicates only with 3; 0, 1, 2 and 3 communicate with each other.
    for other in 0..3 {
        bench.ensemble.part(bench.now, 4, other);
    }
    run_for(&mut bench, SYNC_LIMIT + ELECTION);
    assert_eq!(bench.leader(), 3);
    assert_eq!((0..5).map(|server| bench.ensemble.state(server)).filter(|role| *role == Following).count(), 4);
}
