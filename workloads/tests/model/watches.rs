//! Events of watches: content, receivers and times, and the fate of watches.

use hustings_workloads::model::EventKind::{ChildrenChanged, Created, DataChanged, Deleted};
use hustings_workloads::model::{
    Bugs, Code, EventKind, Options, Request, Response, WatcherType, Watches, ZnodeLifetime,
};

use super::support::{
    ConnectedClient, ModelBench, ReceivedMessage, children, create, delete, exists, get, options, set,
};

fn told(kind: EventKind, path: &str) -> (EventKind, String) {
    (kind, path.to_owned())
}

/// A watcher and a client that makes changes, on different servers.
fn two() -> (ModelBench, ConnectedClient, ConnectedClient) {
    let mut bench = ModelBench::new(options(3));
    let (watcher, doer) = (bench.connect(0, 1_000), bench.connect(1, 1_000));
    bench.create(doer, "/p").unwrap();
    (bench, watcher, doer)
}

#[test]
fn each_change_tells_those_whom_it_concerns_and_once() {
    let (mut bench, watcher, doer) = two();
    bench.call(watcher, exists("/p/n", true)).unwrap_err();
    bench.call(watcher, children("/p", true)).unwrap();
    bench.create(doer, "/p/n").unwrap();
    assert_eq!(bench.events(watcher), [told(Created, "/p/n"), told(ChildrenChanged, "/p")]);
    bench.call(watcher, get("/p/n", true)).unwrap();
    bench.call(watcher, children("/p/n", true)).unwrap();
    bench.call(doer, set("/p/n", "1")).unwrap();
    assert_eq!(bench.events(watcher), [told(DataChanged, "/p/n")]);
    bench.call(watcher, exists("/p/n", true)).unwrap();
    bench.call(watcher, children("/p", true)).unwrap();
    bench.call(doer, delete("/p/n")).unwrap();
    assert_eq!(bench.events(watcher), [told(Deleted, "/p/n"), told(ChildrenChanged, "/p")], "one for both watches");
    assert_eq!(bench.metric(0, "watch_count"), 0);
    bench.create(doer, "/p/n").unwrap();
    assert_eq!(bench.events(watcher), []);
}

#[test]
fn only_an_exists_leaves_a_watch_where_there_is_nothing() {
    let (mut bench, watcher, doer) = two();
    assert_eq!(bench.call(watcher, get("/none", true)), Err(Code::NoNode));
    assert_eq!(bench.call(watcher, children("/none", true)), Err(Code::NoNode));
    assert_eq!(bench.metric(0, "watch_count"), 0);
    assert_eq!(bench.call(watcher, exists("/none", true)), Err(Code::NoNode));
    assert_eq!(bench.metric(0, "watch_count"), 1);
    bench.create(doer, "/none").unwrap();
    assert_eq!(bench.events(watcher), [told(Created, "/none")]);
}

#[test]
fn standing_watches_stay_and_recursive_ones_reach_below() {
    let (mut bench, watcher, doer) = two();
    let other = bench.connect(0, 1_000);
    bench.call(watcher, Request::AddWatch { path: "/p".into(), recursive: false }).unwrap();
    bench.call(other, Request::AddWatch { path: "/p".into(), recursive: true }).unwrap();
    for _ in 0..2 {
        bench.create(doer, "/p/a").unwrap();
        bench.create(doer, "/p/a/b").unwrap();
        bench.call(doer, set("/p", "1")).unwrap();
        bench.call(doer, delete("/p/a/b")).unwrap();
        bench.call(doer, delete("/p/a")).unwrap();
        let [changed, set] = [told(ChildrenChanged, "/p"), told(DataChanged, "/p")];
        assert_eq!(bench.events(watcher), [changed.clone(), set.clone(), changed]);
        let [a, b] = [|kind| told(kind, "/p/a"), |kind| told(kind, "/p/a/b")];
        assert_eq!(bench.events(other), [a(Created), b(Created), set, b(Deleted), a(Deleted)]);
    }
    bench.create(doer, "/pp").unwrap();
    assert_eq!(bench.events(other), [], "a name that begins alike is not below");
    assert_eq!(bench.metric(0, "watch_count"), 3, "a standing watch counts for data and for children");
}

#[test]
fn watches_are_removed_by_their_type() {
    let (mut bench, watcher, _) = two();
    let remove = |of, only_check| Request::RemoveWatches { path: "/p".into(), of, only_check };
    assert_eq!(bench.call(watcher, remove(WatcherType::Any, false)), Err(Code::NoWatcher));
    bench.call(watcher, get("/p", true)).unwrap();
    bench.call(watcher, children("/p", true)).unwrap();
    assert_eq!(bench.metric(0, "watch_count"), 2);
    for only_check in [true, false] {
        assert_eq!(bench.call(watcher, remove(WatcherType::Data, only_check)), Ok(Response::Done));
    }
    assert_eq!(bench.call(watcher, remove(WatcherType::Data, true)), Err(Code::NoWatcher));
    assert_eq!(bench.call(watcher, remove(WatcherType::Any, false)), Ok(Response::Done));
    assert_eq!(bench.metric(0, "watch_count"), 0);
    assert_eq!((bench.metric(0, "paths_with_watches"), bench.metric(0, "connections_with_watches")), (0, 0));
}

#[test]
fn an_event_comes_before_the_answer_to_its_cause_and_before_later_reads() {
    for server in 0..3 {
        let mut bench = ModelBench::new(options(3));
        let client = bench.connect(server, 1_000);
        bench.create(client, "/p").unwrap();
        bench.call(client, get("/p", true)).unwrap();
        let set = bench.send(client, set("/p", "1"));
        let get = bench.send(client, get("/p", false));
        bench.settle();
        let heard = bench.take(client.conn);
        let [
            ReceivedMessage::Event(DataChanged, _),
            ReceivedMessage::Reply(first, ..),
            ReceivedMessage::Reply(second, _, Ok(Response::Data { data, .. })),
        ] = heard.as_slice()
        else {
            panic!("{heard:?}")
        };
        assert_eq!((*first, *second, data.as_slice()), (set, get, &b"1"[..]), "on server {server}");
    }
}

#[test]
fn a_lost_connection_takes_its_watches_along() {
    let (mut bench, watcher, doer) = two();
    bench.call(watcher, get("/p", true)).unwrap();
    bench.ensemble.disconnected(bench.now, 0, watcher.conn);
    assert_eq!(bench.metric(0, "watch_count"), 0);
    bench.call(doer, delete("/p")).unwrap();
    assert_eq!(bench.take(watcher.conn), []);
}

/// The watches of a session, and the events during its absence.
fn away(options: Options) -> (ModelBench, ConnectedClient, Vec<(EventKind, String)>) {
    let mut bench = ModelBench::new(options);
    let (watcher, doer) = (bench.connect(0, 1_000), bench.connect(1, 1_000));
    for name in ["gone", "changed", "same", "again", "grown"] {
        bench.create(doer, &format!("/{name}")).unwrap();
    }
    let since = bench.ensemble.last_zxid(0);
    bench.ensemble.disconnected(bench.now, 0, watcher.conn);
    for change in [delete("/gone"), set("/changed", "1"), delete("/again"), create("/again", ZnodeLifetime::Persistent)]
    {
        bench.call(doer, change).unwrap();
    }
    bench.create(doer, "/grown/child").unwrap();
    bench.create(doer, "/made").unwrap();
    let watcher = bench.reconnect(watcher, 2);
    let paths = |names: &[&str]| names.iter().map(|name| format!("/{name}")).collect::<Vec<_>>();
    let watches = Watches {
        since,
        data: paths(&["gone", "changed", "same", "again"]),
        exist: paths(&["made", "none"]),
        child: paths(&["grown", "same", "gone"]),
        persistent: paths(&["same"]),
        persistent_recursive: paths(&["changed"]),
    };
    let xid = bench.send(watcher, Request::SetWatches(Box::new(watches)));
    bench.settle();
    let mut heard = bench.take(watcher.conn);
    assert!(matches!(heard.pop(), Some(ReceivedMessage::Reply(of, _, Ok(Response::Done))) if of == xid), "it is last");
    let event = |heard| match heard {
        ReceivedMessage::Event(kind, path) => (kind, path),
        other => panic!("{other:?}"),
    };
    (bench, watcher, heard.into_iter().map(event).collect())
}

#[test]
fn after_a_reconnect_what_was_missed_is_told_and_the_rest_is_set_again() {
    let (mut bench, watcher, missed) = away(options(3));
    let wanted = [
        told(Deleted, "/gone"),
        told(DataChanged, "/changed"),
        told(DataChanged, "/again"),
        told(Created, "/made"),
        told(ChildrenChanged, "/grown"),
        told(Deleted, "/gone"),
    ];
    assert_eq!(missed, wanted);
    // Data and children of one path, an absent one, a persistent one on the same path, and a recursive one.
    assert_eq!(bench.metric(2, "watch_count"), 2 + 1 + 1);
    let doer = bench.connect(1, 1_000);
    bench.create(doer, "/none").unwrap();
    bench.call(doer, set("/same", "1")).unwrap();
    bench.create(doer, "/changed/below").unwrap();
    let wanted = [told(Created, "/none"), told(DataChanged, "/same"), told(Created, "/changed/below")];
    assert_eq!(bench.events(watcher), wanted);
}

#[test]
fn the_bug_that_forgets_missed_events_neither_tells_nor_sets_them() {
    let bugs = Bugs { forget_missed_events: true, ..Bugs::default() };
    let (mut bench, watcher, missed) = away(Options { bugs, ..options(3) });
    assert_eq!(missed, []);
    let doer = bench.connect(1, 1_000);
    bench.call(doer, set("/again", "1")).unwrap();
    bench.call(doer, delete("/made")).unwrap();
    assert_eq!(bench.events(watcher), []);
    bench.call(doer, set("/same", "1")).unwrap();
    assert_eq!(bench.events(watcher), [told(DataChanged, "/same")], "what missed nothing works");
}

#[test]
fn the_servers_count_what_a_deletion_sets_off() {
    let mut bench = ModelBench::new(options(1));
    let doer = bench.connect(0, 1_000);
    let watchers: Vec<_> = (0..10).map(|_| bench.connect(0, 1_000)).collect();
    bench.create(doer, "/a").unwrap();
    bench.create(doer, "/b").unwrap();
    for &watcher in &watchers {
        bench.call(watcher, exists("/a", true)).unwrap();
    }
    bench.call(watchers[0], get("/b", true)).unwrap();
    for path in ["/a", "/b"] {
        bench.call(doer, delete(path)).unwrap();
    }
    let count = |name: &str| bench.metric(0, &format!("{name}_node_deleted_watch_count"));
    assert_eq!((count("sum"), count("cnt"), count("min"), count("max")), (11, 2, 1, 10));
}
