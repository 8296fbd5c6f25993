//! Followers that lag, requests in flight, and the order of all answers.

use hustings_workloads::model::{Connect, Request, Response, ZnodeLifetime};

use super::support::{ModelBench, ReceivedMessage, children, create, exists, get, options, set};

fn sync(path: &str) -> Request {
    Request::Sync { path: path.into() }
}

fn answers(heard: &[ReceivedMessage]) -> Vec<i32> {
    let xid = |heard: &ReceivedMessage| match heard {
        ReceivedMessage::Reply(xid, ..) => Some(*xid),
        _ => None,
    };
    heard.iter().filter_map(xid).collect()
}

#[test]
fn a_lagging_follower_reads_the_past_until_it_syncs() {
    let mut bench = ModelBench::new(options(3));
    let (writer, reader) = (bench.connect(2, 1_000), bench.connect(0, 1_000));
    bench.send(writer, create("/a", ZnodeLifetime::Persistent));
    bench.collect();
    let (_, ticket) = bench.tickets.remove(0);
    let zxid = bench.ensemble.order(bench.now, ticket).unwrap();
    bench.collect();
    assert!(matches!(bench.take(writer.conn)[..], [ReceivedMessage::Reply(_, at, Ok(_))] if at == zxid), "it has it");
    let early = bench.send(reader, exists("/a", false));
    bench.collect();
    assert!(
        matches!(bench.take(reader.conn)[..], [ReceivedMessage::Reply(xid, at, Err(_))] if xid == early && at < zxid)
    );
    let synced = bench.send(reader, sync("/a"));
    let late = bench.send(reader, exists("/a", false));
    bench.collect();
    assert_eq!(bench.take(reader.conn), [], "the read waits for the sync");
    let (server, ticket) = bench.tickets.remove(0);
    let at = bench.ensemble.order(bench.now, ticket).unwrap();
    assert_eq!(at, zxid, "a sync takes no zxid");
    bench.collect();
    assert_eq!(bench.take(reader.conn), [], "the answer has yet to come");
    bench.ensemble.apply(bench.now, server, at);
    bench.collect();
    let heard = bench.take(reader.conn);
    assert_eq!(answers(&heard), [synced, late]);
    assert!(matches!(&heard[0], ReceivedMessage::Reply(_, _, Ok(Response::Path(path))) if path == "/a"));
    assert!(matches!(heard[1], ReceivedMessage::Reply(_, _, Ok(Response::Stat(_)))));
}

#[test]
fn a_sync_that_finds_nothing_new_waits_for_its_answer_all_the_same() {
    let mut bench = ModelBench::new(options(3));
    let reader = bench.connect(0, 1_000);
    bench.send(reader, sync("/"));
    bench.collect();
    let (server, ticket) = bench.tickets.remove(0);
    let zxid = bench.ensemble.order(bench.now, ticket).unwrap();
    bench.collect();
    assert_eq!(bench.take(reader.conn), []);
    bench.ensemble.apply(bench.now, server, zxid);
    bench.collect();
    assert_eq!(bench.take(reader.conn).len(), 1);
}

#[test]
fn what_was_synced_does_not_see_what_came_later() {
    let mut bench = ModelBench::new(options(3));
    let reader = bench.connect(0, 1_000);
    bench.send(reader, sync("/"));
    bench.send(reader, exists("/later", false));
    bench.send(reader, create("/later", ZnodeLifetime::Persistent));
    bench.collect();
    let zxids: Vec<_> =
        std::mem::take(&mut bench.tickets).iter().map(|(_, t)| bench.ensemble.order(bench.now, *t).unwrap()).collect();
    bench.ensemble.apply(bench.now, 0, zxids[1]);
    bench.collect();
    let heard = bench.take(reader.conn);
    assert!(matches!(heard[1], ReceivedMessage::Reply(_, at, Err(_)) if at == zxids[0]), "in one go: {heard:?}");
}

#[test]
fn a_connections_requests_are_answered_in_their_order() {
    for server in 0..3 {
        let mut bench = ModelBench::new(options(3));
        let client = bench.connect(server, 1_000);
        let requests = [
            get("/a", false),
            create("/a", ZnodeLifetime::Persistent),
            get("/a", false),
            sync("/a"),
            set("/a", "1"),
            Request::AddAuth { scheme: "digest".into(), id: "ann:hash".into() },
            children("/a", false),
            set("/none", "1"),
            get("/a", false),
        ];
        let xids: Vec<_> = requests.into_iter().map(|request| bench.send(client, request)).collect();
        bench.settle();
        let heard = bench.take(client.conn);
        assert_eq!(answers(&heard), xids, "on server {server}");
        assert!(matches!(&heard[8], ReceivedMessage::Reply(_, _, Ok(Response::Data { data, .. })) if data == b"1"));
    }
}

#[test]
fn tickets_that_arrive_in_another_order_are_ordered_as_they_were_sent() {
    let mut bench = ModelBench::new(options(3));
    let client = bench.connect(0, 1_000);
    let xids = [create("/a", ZnodeLifetime::Persistent), set("/a", "1"), set("/a", "2")]
        .map(|request| bench.send(client, request));
    bench.collect();
    let mut tickets = std::mem::take(&mut bench.tickets);
    tickets.reverse();
    let zxids: Vec<_> = tickets.iter().map(|(_, ticket)| bench.ensemble.order(bench.now, *ticket)).collect();
    assert!(zxids[0].is_some() && zxids[1..] == [None, None], "the last one took the others along: {zxids:?}");
    bench.ensemble.apply(bench.now, 0, zxids[0].unwrap());
    bench.collect();
    assert_eq!(answers(&bench.take(client.conn)), xids);
}

#[test]
fn a_write_whose_connection_has_gone_happens_and_nobody_is_answered() {
    let mut bench = ModelBench::new(options(3));
    let client = bench.connect(0, 1_000);
    bench.send(client, create("/a", ZnodeLifetime::Persistent));
    bench.collect();
    bench.ensemble.disconnected(bench.now, 0, client.conn);
    bench.settle();
    assert!((0..3).all(|server| bench.exists(server, "/a")));
    assert_eq!(bench.take(client.conn), []);
}

#[test]
fn applying_again_or_less_than_before_changes_nothing() {
    let mut bench = ModelBench::new(options(3));
    let client = bench.connect(0, 1_000);
    bench.create(client, "/a").unwrap();
    bench.create(client, "/b").unwrap();
    let last = bench.ensemble.last_zxid(0);
    for zxid in [last, last - 1, 0, last + 100] {
        bench.ensemble.apply(bench.now, 0, zxid);
        bench.collect();
        assert_eq!(bench.ensemble.last_zxid(0), last);
    }
    assert!(bench.take(client.conn).is_empty() && bench.committed.is_empty());
}

#[test]
fn what_is_sent_before_the_session_stands_is_taken_when_it_does() {
    for server in 0..3 {
        let mut bench = ModelBench::new(options(3));
        let conn = bench.ask(server, Connect { timeout_ms: 1_000, ..Connect::default() });
        for (xid, request) in [(1, create("/a", ZnodeLifetime::Ephemeral)), (2, get("/a", false))] {
            bench.ensemble.request(bench.now, server, conn, xid, request);
        }
        bench.settle();
        let heard = bench.take(conn);
        assert!(matches!(heard[0], ReceivedMessage::Connected(_)), "on server {server}: {heard:?}");
        assert_eq!(answers(&heard), [1, 2]);
        assert!(bench.exists(server, "/a"));
    }
}
