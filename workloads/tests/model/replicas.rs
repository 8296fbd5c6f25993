//! In any order of events, the servers agree in the end, and each client has seen only what it may see.

use std::collections::BTreeMap;

use hustings_record::ServerState;
use hustings_workloads::model::{
    Acl, Connect, CreateKind, Ensemble, Micros, Options, Output, Request, Response, Server, SessionId, Ticket,
    TransactionStep, ZnodeLifetime, Zxid,
};
use proptest::prelude::*;

use super::support::{MS, children, create, delete, exists, get, options, sequential, set};

const CLIENTS: usize = 6;
const SERVERS: usize = 3;

#[derive(Clone, Debug)]
enum ReplicaStep {
    Ask(usize, Request),
    /// Delivers the oldest ticket of a server.
    Order(Server),
    /// A server applies the committed transactions, except the last ones.
    Apply(Server, usize),
    Touches(Server),
    Reconnect(usize, Server),
    Cut(usize),
    Wait(u64),
    Kill(Server),
    Start(Server),
    Pause(Server),
    Resume(Server),
    Part(Server, Server),
    Join(Server, Server),
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![(0..3_u8).prop_map(|a| format!("/{a}")), (0..3_u8, 0..3_u8).prop_map(|(a, b)| format!("/{a}/{b}"))]
}

fn step() -> impl Strategy<Value = TransactionStep> {
    let kind = (any::<bool>(), any::<bool>()).prop_map(|(ephemeral, sequential)| CreateKind {
        life: if ephemeral { ZnodeLifetime::Ephemeral } else { ZnodeLifetime::Container },
        sequential,
    });
    prop_oneof![
        (path(), kind).prop_map(|(path, kind)| {
            TransactionStep::Create { path, data: vec![], acl: Acl::open(), kind, with_stat: true }
        }),
        path().prop_map(|path| TransactionStep::Delete { path, version: -1 }),
        (path(), -1..2).prop_map(|(path, version)| TransactionStep::SetData { path, data: b"m".to_vec(), version }),
        (path(), -1..2).prop_map(|(path, version)| TransactionStep::Check { path, version }),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        4 => path().prop_map(|path| create(&path, ZnodeLifetime::Persistent)),
        4 => path().prop_map(|path| create(&path, ZnodeLifetime::Ephemeral)),
        2 => path().prop_map(|path| sequential(&path)),
        3 => path().prop_map(|path| delete(&path)),
        3 => path().prop_map(|path| set(&path, "x")),
        2 => prop::collection::vec(step(), 0..5).prop_map(Request::Multi),
        2 => (path(), any::<bool>()).prop_map(|(path, watch)| get(&path, watch)),
        2 => (path(), any::<bool>()).prop_map(|(path, watch)| exists(&path, watch)),
        2 => (path(), any::<bool>()).prop_map(|(path, watch)| children(&path, watch)),
        1 => path().prop_map(|path| Request::Sync { path }),
        1 => (path(), any::<bool>()).prop_map(|(path, recursive)| Request::AddWatch { path, recursive }),
        1 => Just(Request::CloseSession),
    ]
}

fn doing() -> impl Strategy<Value = ReplicaStep> {
    let server = || 0..SERVERS;
    prop_oneof![
        20 => (0..CLIENTS, request()).prop_map(|(client, request)| ReplicaStep::Ask(client, request)),
        20 => server().prop_map(ReplicaStep::Order),
        15 => (server(), 0..3_usize).prop_map(|(server, lag)| ReplicaStep::Apply(server, lag)),
        3 => server().prop_map(ReplicaStep::Touches),
        4 => (0..CLIENTS, server()).prop_map(|(client, server)| ReplicaStep::Reconnect(client, server)),
        1 => (0..CLIENTS).prop_map(ReplicaStep::Cut),
        4 => (1..300_u64).prop_map(ReplicaStep::Wait),
    ]
}

fn fault() -> impl Strategy<Value = ReplicaStep> {
    let server = || 0..SERVERS;
    prop_oneof![
        1 => server().prop_map(ReplicaStep::Kill),
        3 => server().prop_map(ReplicaStep::Start),
        1 => server().prop_map(ReplicaStep::Pause),
        3 => server().prop_map(ReplicaStep::Resume),
        1 => (server(), server()).prop_map(|(a, b)| ReplicaStep::Part(a, b)),
        3 => (server(), server()).prop_map(|(a, b)| ReplicaStep::Join(a, b)),
    ]
}

fn doings() -> impl Strategy<Value = Vec<ReplicaStep>> {
    prop::collection::vec(doing(), 1..250)
}

fn doings_and_faults() -> impl Strategy<Value = Vec<ReplicaStep>> {
    prop::collection::vec(prop_oneof![4 => doing(), 1 => fault()], 1..250)
}

/// A client's view, checked as it grows.
#[derive(Default)]
struct View {
    server: Server,
    conn: u64,
    is_open: bool,
    session: SessionId,
    password: [u8; 16],
    asked: Vec<i32>,
    zxid: Zxid,
}

struct ReplicaBench {
    ensemble: Ensemble,
    now: Micros,
    conns: u64,
    xids: i32,
    views: Vec<View>,
    tickets: BTreeMap<Server, Vec<Ticket>>,
    committed: Vec<Zxid>,
    outputs: Vec<Output>,
    /// The answers that confirmed a write: (path, zxid).
    made: Vec<(String, Zxid)>,
}

impl ReplicaBench {
    fn new() -> Self {
        let mut world = Self {
            ensemble: Ensemble::new(Options { timeout_max_ms: 3_000, sync_limit: 3, ..options(SERVERS) }),
            now: 0,
            conns: 0,
            xids: 0,
            views: (0..CLIENTS).map(|_| View::default()).collect(),
            tickets: BTreeMap::new(),
            committed: Vec::new(),
            outputs: Vec::new(),
            made: Vec::new(),
        };
        (0..SERVERS).for_each(|server| world.ensemble.start(0, server));
        world.wait(400 * MS);
        (0..CLIENTS).for_each(|client| world.reconnect(client, client % SERVERS));
        world
    }

    fn reconnect(&mut self, client: usize, server: Server) {
        self.conns += 1;
        let view = &mut self.views[client];
        if view.is_open {
            self.ensemble.disconnected(self.now, view.server, view.conn);
        }
        let (session, password, last_zxid_seen) = (view.session, view.password, view.zxid);
        (view.server, view.conn, view.is_open) = (server, self.conns, false);
        view.asked.clear();
        let timeout_ms = 200 * (client as i32 + 1);
        let ask = Connect { session, password, timeout_ms, last_zxid_seen, read_only: false };
        self.ensemble.connect(self.now, server, self.conns, ask);
    }

    fn act(&mut self, doing: ReplicaStep) {
        let now = self.now;
        match doing {
            ReplicaStep::Ask(client, request) => {
                let view = &mut self.views[client];
                if view.is_open {
                    self.xids += 1;
                    view.asked.push(self.xids);
                    self.ensemble.request(now, view.server, view.conn, self.xids, request);
                }
            }
            ReplicaStep::Order(server) => self.order(server),
            ReplicaStep::Apply(server, lag) => {
                if let Some(&zxid) = self.committed.iter().rev().nth(lag) {
                    self.ensemble.apply(now, server, zxid);
                }
            }
            ReplicaStep::Touches(server) => self.ensemble.hand_over_touches(now, server),
            ReplicaStep::Reconnect(client, server) => self.reconnect(client, server),
            ReplicaStep::Cut(client) => {
                let view = &mut self.views[client];
                if std::mem::take(&mut view.is_open) {
                    self.ensemble.disconnected(now, view.server, view.conn);
                }
            }
            ReplicaStep::Wait(ms) => self.wait(ms * MS),
            ReplicaStep::Kill(server) => {
                self.ensemble.kill(now, server);
                self.views.iter_mut().filter(|view| view.server == server).for_each(|view| view.is_open = false);
            }
            ReplicaStep::Start(server) => self.ensemble.start(now, server),
            ReplicaStep::Pause(server) => self.ensemble.pause(now, server),
            ReplicaStep::Resume(server) => self.ensemble.resume(now, server),
            ReplicaStep::Part(a, b) if a != b => self.ensemble.part(now, a, b),
            ReplicaStep::Join(a, b) if a != b => self.ensemble.join(now, a, b),
            ReplicaStep::Part(..) | ReplicaStep::Join(..) => {}
        }
        self.take();
    }

    fn order(&mut self, server: Server) {
        let Some(queue) = self.tickets.get_mut(&server).filter(|queue| !queue.is_empty()) else { return };
        let ticket = queue.remove(0);
        let leader = self.ensemble.leader();
        if let Some(zxid) = self.ensemble.order(self.now, ticket) {
            assert!(leader.is_some(), "only a leader orders");
            assert!(self.committed.last().is_none_or(|last| *last <= zxid), "zxids grow");
        }
    }

    fn wait(&mut self, time: Micros) {
        let until = self.now + time;
        while let Some(due) = self.ensemble.due().filter(|due| *due <= until) {
            // Events that were due while the leader was stopped are overdue when it resumes.
            self.now = self.now.max(due);
            self.ensemble.advance(self.now);
            self.take();
        }
        self.now = until;
    }

    fn take(&mut self) {
        while let Some(output) = self.ensemble.pop() {
            self.hear(&output);
            self.outputs.push(output);
        }
    }

    fn hear(&mut self, output: &Output) {
        let view = |views: &mut Vec<View>, conn: u64| views.iter().position(|view| view.conn == conn);
        match output {
            Output::Connected { conn, answer, .. } => {
                let Some(at) = view(&mut self.views, *conn) else { return };
                let view = &mut self.views[at];
                if answer.session == 0 {
                    *view = View { zxid: 0, ..View::default() };
                } else {
                    assert!(view.session == 0 || view.session == answer.session);
                    (view.session, view.password, view.is_open) = (answer.session, answer.password, true);
                }
            }
            Output::Reply { conn, xid, zxid, result, .. } => {
                if let Ok(Response::Created { path, .. }) = result {
                    self.made.push((path.clone(), *zxid));
                }
                let Some(at) = view(&mut self.views, *conn) else { return };
                let view = &mut self.views[at];
                assert_eq!(view.asked.remove(0), *xid, "answers come in the order of the requests");
                assert!(*zxid >= view.zxid, "a client never goes back in time");
                view.zxid = *zxid;
            }
            Output::Event { conn, event, .. } => {
                let Some(at) = view(&mut self.views, *conn) else { return };
                assert!(event.zxid >= self.views[at].zxid, "what was seen is not told any more");
            }
            Output::Close { conn, .. } => {
                if let Some(at) = view(&mut self.views, *conn) {
                    self.views[at].is_open = false;
                }
            }
            Output::Forward { server, ticket, .. } => self.tickets.entry(*server).or_default().push(*ticket),
            Output::Committed { zxid } => {
                self.committed.push(*zxid);
                self.committed.sort_unstable();
            }
            Output::State { .. } | Output::Changed { .. } => {}
        }
    }

    /// Everything is healed, delivered and applied.
    fn end(&mut self) {
        for server in 0..SERVERS {
            self.act(ReplicaStep::Start(server));
            self.act(ReplicaStep::Resume(server));
            (0..server).for_each(|other| self.act(ReplicaStep::Join(server, other)));
        }
        for _ in 0..4 {
            self.wait(1_000 * MS);
            for server in 0..SERVERS {
                while self.tickets.get(&server).is_some_and(|queue| !queue.is_empty()) {
                    self.act(ReplicaStep::Order(server));
                }
                (0..SERVERS).for_each(|server| self.act(ReplicaStep::Apply(server, 0)));
            }
        }
    }
}

fn check(doings: &[ReplicaStep]) -> Vec<Output> {
    let mut world = ReplicaBench::new();
    for doing in doings {
        world.act(doing.clone());
        let leading = (0..SERVERS).filter(|server| world.ensemble.state(*server) == ServerState::Leading);
        assert!(leading.count() <= 2, "one that leads, and one that does not know");
    }
    world.end();
    let leader = world.ensemble.leader().expect("somebody leads in the end");
    let last = world.ensemble.last_zxid(leader);
    for server in 0..SERVERS {
        assert_eq!(world.ensemble.last_zxid(server), last, "server {server}");
        assert!(world.ensemble.znodes(server).eq(world.ensemble.znodes(leader)), "{server} has the leader's tree");
        let count = |name: &str| world.ensemble.metrics(server)[name];
        assert_eq!(count("global_sessions"), world.ensemble.metrics(leader)["global_sessions"]);
        assert_eq!(count("outstanding_requests"), 0.0);
    }
    for view in world.views.iter().filter(|view| view.is_open) {
        assert_eq!(view.asked, [0; 0], "whoever is still connected was answered");
    }
    assert!(world.views.iter().all(|view| view.zxid <= last), "what anybody has seen is there");
    let mut zxids: Vec<_> = world.made.iter().map(|(_, zxid)| *zxid).collect();
    zxids.sort_unstable();
    assert!(zxids.windows(2).all(|pair| pair[0] < pair[1]), "each create has a zxid of its own");
    for znode in world.ensemble.znodes(leader).filter(|znode| znode.stat.ephemeral_owner > 0) {
        let owner = znode.stat.ephemeral_owner;
        assert!(
            world
                .outputs
                .iter()
                .any(|output| matches!(output, Output::Connected { answer, .. } if answer.session == owner))
        );
    }
    world.outputs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lagging_servers_agree_in_the_end_and_clients_see_their_own_order(doings in doings()) {
        check(&doings);
    }

    #[test]
    fn faults_of_servers_lose_nothing_that_anybody_has_seen(doings in doings_and_faults()) {
        check(&doings);
    }

    #[test]
    fn the_same_inputs_have_the_same_outputs(doings in doings_and_faults()) {
        prop_assert_eq!(check(&doings), check(&doings));
    }
}
