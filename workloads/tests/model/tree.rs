//! The tree: creates, stats, transactions, and znodes that end by themselves.

use hustings_workloads::model::{
    Acl, Code, CreateKind, Options, Read, Request, Response, Server, Stat, TransactionStep, Znode, ZnodeLifetime,
    validate,
};

use super::support::{ConnectedClient, MS, ModelBench, children, create, delete, get, made, options, sequential, set};

fn stat(bench: &ModelBench, server: Server, path: &str) -> Stat {
    bench.ensemble.znodes(server).find(|znode| znode.path == path).map(|znode| znode.stat).expect("it is there")
}

fn one() -> (ModelBench, ConnectedClient) {
    let mut bench = ModelBench::new(options(1));
    let client = bench.connect(0, 1_000);
    (bench, client)
}

#[test]
fn a_fresh_tree_is_as_zookeepers() {
    let (mut bench, client) = one();
    let names = bench.call(client, children("/", false));
    assert_eq!(names, Ok(Response::Children { names: vec!["zookeeper".into()], stat: None }));
    let root = stat(&bench, 0, "/");
    assert_eq!((root.cversion, root.num_children, root.czxid), (-1, 1, 0));
    assert_eq!(bench.metric(0, "znode_count"), 5);
    for path in ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"] {
        assert_eq!(bench.call(client, delete(path)), Err(Code::BadArguments), "{path}");
    }
}

#[test]
fn stats_count_what_happened() {
    let (mut bench, client) = one();
    bench.create(client, "/p").unwrap();
    let created = bench.ensemble.last_zxid(0);
    for name in ["a", "b", "c"] {
        bench.create(client, &format!("/p/{name}")).unwrap();
    }
    bench.call(client, delete("/p/b")).unwrap();
    let deleted = bench.ensemble.last_zxid(0);
    bench.now += 5 * MS;
    bench.call(client, set("/p", "four")).unwrap();
    let p = stat(&bench, 0, "/p");
    assert_eq!((p.cversion, p.num_children, p.pzxid), (4, 2, deleted));
    assert_eq!((p.version, p.data_length, p.czxid, p.mzxid), (1, 4, created, deleted + 1));
    assert_eq!(p.mtime - p.ctime, 5);
}

#[test]
fn creates_that_cannot_be_are_refused_each_with_its_code() {
    let (mut bench, client) = one();
    bench.call(client, create("/e", ZnodeLifetime::Ephemeral)).unwrap();
    for (path, code) in [
        ("/e", Code::NodeExists),
        ("/", Code::NodeExists),
        ("/e/below", Code::NoChildrenForEphemerals),
        ("/none/below", Code::NoNode),
        ("/none/", Code::NoNode),
        ("/e/", Code::BadArguments),
        ("relative", Code::BadArguments),
        ("", Code::BadArguments),
        ("/a/../b", Code::NoNode),
        ("/..", Code::BadArguments),
        ("/nul\0", Code::BadArguments),
    ] {
        assert_eq!(bench.create(client, path), Err(code), "{path:?}");
    }
    let Request::Create { path, data, kind, .. } = create("/x", ZnodeLifetime::Persistent) else { unreachable!() };
    let request = Request::Create { path, data, acl: Vec::new(), kind, with_stat: false };
    assert_eq!(bench.call(client, request), Err(Code::InvalidAcl));
    assert!(validate("/e/below").is_ok() && validate("/e/").is_err());
}

#[test]
fn a_refused_write_takes_a_zxid_too() {
    let (mut bench, client) = one();
    let before = bench.ensemble.last_zxid(0);
    assert_eq!(bench.call(client, delete("/none")), Err(Code::NoNode));
    assert_eq!(bench.ensemble.last_zxid(0), before + 1);
    bench.call(client, get("/none", false)).unwrap_err();
    assert_eq!(bench.ensemble.last_zxid(0), before + 1, "a read does not");
}

#[test]
fn the_sequence_counts_creates_and_restarts_with_its_parent() {
    let (mut bench, client) = one();
    for _ in 0..2 {
        bench.create(client, "/p").unwrap();
        assert_eq!(bench.call(client, sequential("/p/n_")), made("/p/n_0000000000"));
        bench.create(client, "/p/plain").unwrap();
        assert_eq!(bench.call(client, sequential("/p/")), made("/p/0000000002"));
        for name in ["n_0000000000", "plain", "0000000002"] {
            bench.call(client, delete(&format!("/p/{name}"))).unwrap();
        }
        assert_eq!(bench.call(client, sequential("/p/n_")), made("/p/n_0000000003"));
        bench.call(client, delete("/p/n_0000000003")).unwrap();
        bench.call(client, delete("/p")).unwrap();
    }
}

#[test]
fn a_transaction_is_all_or_nothing_watches_included() {
    let mut bench = ModelBench::new(options(3));
    let (client, watcher) = (bench.connect(0, 1_000), bench.connect(1, 1_000));
    bench.create(client, "/p").unwrap();
    bench.call(watcher, children("/p", true)).unwrap();
    bench.call(watcher, get("/p", true)).unwrap();
    let create = |path: &str, sequential| {
        let kind = CreateKind { life: ZnodeLifetime::Ephemeral, sequential };
        TransactionStep::Create { path: path.into(), data: vec![], acl: Acl::open(), kind, with_stat: false }
    };
    let set = |version| TransactionStep::SetData { path: "/p".into(), data: b"1".to_vec(), version };
    let failing = vec![create("/p/n_", true), set(0), TransactionStep::Check { path: "/p".into(), version: 0 }, set(1)];
    let answer = bench.call(client, Request::Multi(failing));
    let codes = vec![Code::Ok, Code::Ok, Code::BadVersion, Code::RuntimeInconsistency];
    assert_eq!(answer, Ok(Response::MultiFailed(codes)));
    assert_eq!(bench.events(watcher), [], "nothing happened");
    assert_eq!(stat(&bench, 1, "/p").num_children, 0);
    let good = vec![
        create("/p/n_", true),
        create("/p/n_", true),
        TransactionStep::Delete { path: "/p/n_0000000000".into(), version: 0 },
        set(0),
        TransactionStep::Check { path: "/p".into(), version: 1 },
        TransactionStep::Check { path: "/p/n_0000000001".into(), version: 0 },
    ];
    let before = bench.ensemble.last_zxid(0);
    let Ok(Response::Multi(done)) = bench.call(client, Request::Multi(good)) else { panic!("it is good") };
    assert_eq!(done[1], made("/p/n_0000000001").unwrap());
    assert!(matches!(&done[3], Response::Stat(stat) if stat.version == 1));
    assert_eq!(done[4..], [Response::Done, Response::Done]);
    assert_eq!(bench.ensemble.last_zxid(0), before + 1, "one zxid for all");
    assert_eq!(bench.events(watcher).len(), 2, "once each");
    assert_eq!(bench.call(client, Request::Multi(Vec::new())), Ok(Response::Multi(Vec::new())));
}

#[test]
fn a_failed_transaction_gives_no_number_away() {
    let (mut bench, client) = one();
    bench.create(client, "/p").unwrap();
    let kind = CreateKind { life: ZnodeLifetime::Ephemeral, sequential: true };
    let create =
        TransactionStep::Create { path: "/p/n_".into(), data: vec![], acl: Acl::open(), kind, with_stat: false };
    let steps = vec![create, TransactionStep::Check { path: "/none".into(), version: 0 }];
    bench.call(client, Request::Multi(steps)).unwrap();
    assert_eq!(bench.call(client, sequential("/p/n_")), made("/p/n_0000000000"));
}

#[test]
fn reads_in_one_go_succeed_or_fail_each_by_itself() {
    let (mut bench, client) = one();
    bench.create(client, "/p").unwrap();
    bench.create(client, "/p/a").unwrap();
    let [data, children] =
        [|path: &str| Read::Data { path: path.into() }, |path: &str| Read::Children { path: path.into() }];
    let reads = vec![data("/p"), children("/p"), data("/none")];
    let Ok(Response::MultiRead(answers)) = bench.call(client, Request::MultiRead(reads)) else {
        panic!("it is answered")
    };
    assert!(matches!(&answers[0], Ok(Response::Data { stat, .. }) if stat.num_children == 1));
    assert_eq!(answers[1], Ok(Response::Children { names: vec!["a".into()], stat: None }));
    assert_eq!(answers[2], Err(Code::NoNode));
}

#[test]
fn access_is_for_those_whom_the_list_names() {
    let (mut bench, owner) = one();
    let stranger = bench.connect(0, 1_000);
    bench.call(owner, Request::AddAuth { scheme: "digest".into(), id: "ann:hash".into() }).unwrap();
    let entry = |perms, scheme: &str, id: &str| Acl { perms, scheme: scheme.into(), id: id.into() };
    let acl = vec![entry(Acl::ALL, "auth", ""), entry(Acl::READ, "world", "anyone")];
    let kind = CreateKind::default();
    let request = Request::Create { path: "/p".into(), data: vec![], acl, kind, with_stat: false };
    bench.call(owner, request).unwrap();
    bench.call(stranger, get("/p", false)).unwrap();
    assert_eq!(bench.call(stranger, set("/p", "1")), Err(Code::NoAuth));
    assert_eq!(bench.create(stranger, "/p/a"), Err(Code::NoAuth));
    bench.call(owner, set("/p", "1")).unwrap();
    bench.create(owner, "/p/a").unwrap();
    assert_eq!(bench.call(stranger, delete("/p/a")), Err(Code::NoAuth), "the parent's list counts");
    let acl_of = |bench: &mut ModelBench, client| match bench.call(client, Request::GetAcl { path: "/p".into() }) {
        Ok(Response::Acl { acl, .. }) => acl[0].id.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((acl_of(&mut bench, owner), acl_of(&mut bench, stranger)), ("ann:hash".into(), "ann:x".into()));
    let closed = |version| Request::SetAcl { path: "/p".into(), acl: vec![entry(Acl::ALL, "auth", "")], version };
    assert_eq!(bench.call(stranger, closed(-1)), Err(Code::InvalidAcl), "it has proven nothing");
    assert_eq!(bench.call(owner, closed(1)), Err(Code::BadVersion));
    let Ok(Response::Stat(stat)) = bench.call(owner, closed(0)) else { panic!("it is set") };
    assert_eq!(stat.aversion, 1);
    assert_eq!(bench.call(stranger, get("/p", false)), Err(Code::NoAuth));
}

#[test]
fn an_emptied_container_goes_with_the_next_round() {
    let mut bench = ModelBench::new(Options { container_check_ms: 1_000, timeout_max_ms: 60_000, ..options(3) });
    let client = bench.connect(0, 60_000);
    let start = bench.now;
    for name in ["emptied", "never-used", "used"] {
        bench.call(client, create(&format!("/{name}"), ZnodeLifetime::Container)).unwrap();
    }
    for path in ["/emptied/a", "/used/a", "/used/b"] {
        bench.create(client, path).unwrap();
    }
    bench.call(client, delete("/emptied/a")).unwrap();
    bench.call(client, delete("/used/a")).unwrap();
    bench.run_to(start + 1_100 * MS);
    let there = |bench: &ModelBench, path: &str| (0..3).all(|server| bench.exists(server, path));
    for (path, stays) in [("/emptied", false), ("/never-used", true), ("/used", true)] {
        assert_eq!(there(&bench, path), stays, "{path}");
    }
    bench.create(client, "/emptied").expect("it can be made again");
}

#[test]
fn listings_and_counts_see_the_whole_subtree_and_the_sessions_own() {
    let (mut bench, client) = one();
    let other = bench.connect(0, 1_000);
    for path in ["/p", "/p/a", "/p/a/b", "/pp"] {
        bench.create(client, path).unwrap();
    }
    bench.call(client, create("/p/a/e", ZnodeLifetime::Ephemeral)).unwrap();
    bench.call(client, create("/q", ZnodeLifetime::Ephemeral)).unwrap();
    bench.call(other, create("/p/o", ZnodeLifetime::Ephemeral)).unwrap();
    assert_eq!(bench.call(client, Request::CountAllChildren { path: "/p".into() }), Ok(Response::Count(4)));
    assert_eq!(bench.call(client, Request::CountAllChildren { path: "/x".into() }), Err(Code::NoNode));
    let mine = |prefix: &str| Request::GetEphemerals { prefix: prefix.into() };
    assert_eq!(bench.call(client, mine("/")), Ok(Response::Paths(vec!["/p/a/e".into(), "/q".into()])));
    assert_eq!(bench.call(client, mine("/p")), Ok(Response::Paths(vec!["/p/a/e".into()])));
    assert_eq!(bench.metric(0, "ephemerals_count"), 3);
    let paths: Vec<_> = bench.ensemble.znodes(0).map(|Znode { path, .. }| path.to_owned()).collect();
    assert_eq!(paths.len(), 4 + 7);
}
