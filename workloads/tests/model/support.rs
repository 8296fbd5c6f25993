//! An ensemble with clients that send what a test orders and keep what they receive.

use std::collections::BTreeMap;

use hustings_record::ServerState;
use hustings_workloads::model::{
    Acl, Code, Conn, Connect, ConnectResponse, CreateKind, Ensemble, Event, EventKind, Micros, Options, Output,
    Request, Response, Server, SessionId, Ticket, ZnodeLifetime, Zxid, settle,
};

pub(crate) const MS: Micros = 1_000;

/// The messages that a connection has received, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ReceivedMessage {
    Connected(ConnectResponse),
    Reply(i32, Zxid, Result<Response, Code>),
    Event(EventKind, String),
    Close,
}

/// A driver that delivers nothing by itself, unless [`settle`](Self::settle) is called.
pub(crate) struct ModelBench {
    pub(crate) ensemble: Ensemble,
    pub(crate) now: Micros,
    next_conn: Conn,
    next_xid: i32,
    pub(crate) heard: BTreeMap<Conn, Vec<ReceivedMessage>>,
    pub(crate) roles: Vec<(Server, ServerState)>,
    /// Tickets that wait for `order`.
    pub(crate) tickets: Vec<(Server, Ticket)>,
    pub(crate) committed: Vec<Zxid>,
}

/// A client's side of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConnectedClient {
    pub(crate) server: Server,
    pub(crate) conn: Conn,
    pub(crate) session: SessionId,
    pub(crate) password: [u8; 16],
}

pub(crate) fn options(servers: usize) -> Options {
    Options { servers, tick_ms: 100, timeout_min_ms: 200, timeout_max_ms: 2_000, seed: 7, ..Options::default() }
}

impl ModelBench {
    /// All servers serve, the last one leads.
    pub(crate) fn new(options: Options) -> Self {
        let servers = options.servers;
        let mut bench = Self::down(options);
        (0..servers).for_each(|server| bench.ensemble.start(0, server));
        bench.run_to(400 * MS);
        bench.roles.clear();
        bench
    }

    pub(crate) fn down(options: Options) -> Self {
        Self {
            ensemble: Ensemble::new(options),
            now: 0,
            next_conn: 0,
            next_xid: 0,
            heard: BTreeMap::new(),
            roles: Vec::new(),
            tickets: Vec::new(),
            committed: Vec::new(),
        }
    }

    /// Takes all outputs, and delivers none.
    pub(crate) fn collect(&mut self) {
        while let Some(output) = self.ensemble.pop() {
            match output {
                Output::Forward { server, ticket, .. } => self.tickets.push((server, ticket)),
                Output::Committed { zxid } => self.committed.push(zxid),
                other => note(&mut self.heard, &mut self.roles, other),
            }
        }
    }

    /// Delivers everything everywhere.
    pub(crate) fn settle(&mut self) {
        for (server, ticket) in std::mem::take(&mut self.tickets) {
            if let Some(zxid) = self.ensemble.order(self.now, ticket) {
                self.ensemble.apply(self.now, server, zxid);
            }
        }
        let Self { ensemble, heard, roles, now, .. } = self;
        settle(ensemble, *now, |output| note(heard, roles, output));
        if let Some(zxid) = std::mem::take(&mut self.committed).last() {
            (0..self.ensemble.servers()).for_each(|server| self.ensemble.apply(self.now, server, *zxid));
            self.settle();
        }
    }

    /// Lets time pass, stopping at everything that is due, and delivers everything.
    pub(crate) fn run_to(&mut self, until: Micros) {
        while let Some(due) = self.ensemble.due().filter(|due| *due <= until) {
            assert!(due >= self.now, "due at {due}, and it is {}", self.now);
            self.now = due;
            self.ensemble.advance(due);
            self.settle();
            assert!(self.ensemble.due().is_none_or(|next| next > due), "nothing is due twice");
        }
        self.now = self.now.max(until);
    }

    pub(crate) fn leader(&self) -> Server {
        self.ensemble.leader().expect("somebody leads")
    }

    pub(crate) fn follower(&self) -> Server {
        (0..self.ensemble.servers())
            .find(|s| self.ensemble.state(*s) == ServerState::Following)
            .expect("somebody follows")
    }

    pub(crate) fn ask(&mut self, server: Server, ask: Connect) -> Conn {
        self.next_conn += 1;
        self.heard.insert(self.next_conn, Vec::new());
        self.ensemble.connect(self.now, server, self.next_conn, ask);
        self.next_conn
    }

    /// A new session.
    pub(crate) fn connect(&mut self, server: Server, timeout_ms: i32) -> ConnectedClient {
        let conn = self.ask(server, Connect { timeout_ms, ..Connect::default() });
        self.settle();
        self.connected(server, conn)
    }

    /// The same session over another connection.
    pub(crate) fn reconnect(&mut self, client: ConnectedClient, server: Server) -> ConnectedClient {
        let ConnectedClient { session, password, .. } = client;
        let conn = self.ask(server, Connect { session, password, timeout_ms: 1_000, ..Connect::default() });
        self.settle();
        self.connected(server, conn)
    }

    fn connected(&mut self, server: Server, conn: Conn) -> ConnectedClient {
        let heard = self.take(conn);
        let [ReceivedMessage::Connected(answer)] = heard.as_slice() else { panic!("{heard:?}") };
        ConnectedClient { server, conn, session: answer.session, password: answer.password }
    }

    pub(crate) fn send(&mut self, client: ConnectedClient, request: Request) -> i32 {
        self.next_xid += 1;
        self.ensemble.request(self.now, client.server, client.conn, self.next_xid, request);
        self.next_xid
    }

    pub(crate) fn ping(&mut self, client: ConnectedClient) {
        self.ensemble.ping(self.now, client.server, client.conn);
    }

    /// All messages that the connection has received since the last call.
    pub(crate) fn take(&mut self, conn: Conn) -> Vec<ReceivedMessage> {
        self.heard.get_mut(&conn).map(std::mem::take).unwrap_or_default()
    }

    /// Events that the connection has received; there must be no other messages.
    pub(crate) fn events(&mut self, client: ConnectedClient) -> Vec<(EventKind, String)> {
        let event = |heard| match heard {
            ReceivedMessage::Event(kind, path) => (kind, path),
            other => panic!("an event, and not {other:?}"),
        };
        self.take(client.conn).into_iter().map(event).collect()
    }

    /// Sends a request, delivers everything, and returns the answer.
    pub(crate) fn call(&mut self, client: ConnectedClient, request: Request) -> Result<Response, Code> {
        let xid = self.send(client, request);
        self.settle();
        let heard = self.heard.get_mut(&client.conn).expect("it is connected");
        let at = heard.iter().position(|heard| matches!(heard, ReceivedMessage::Reply(of, ..) if *of == xid));
        let Some(at) = at else { panic!("no answer in {heard:?}") };
        let ReceivedMessage::Reply(_, _, result) = heard.remove(at) else { unreachable!() };
        result
    }

    pub(crate) fn create(&mut self, client: ConnectedClient, path: &str) -> Result<Response, Code> {
        self.call(client, create(path, ZnodeLifetime::Persistent))
    }

    pub(crate) fn metric(&self, server: Server, name: &str) -> u64 {
        self.ensemble.metrics(server)[name] as u64
    }

    pub(crate) fn exists(&self, server: Server, path: &str) -> bool {
        self.ensemble.znodes(server).any(|znode| znode.path == path)
    }
}

fn note(heard: &mut BTreeMap<Conn, Vec<ReceivedMessage>>, roles: &mut Vec<(Server, ServerState)>, output: Output) {
    let mut add = |conn, what| heard.entry(conn).or_default().push(what);
    match output {
        Output::Connected { conn, answer, .. } => add(conn, ReceivedMessage::Connected(answer)),
        Output::Reply { conn, xid, zxid, result, .. } => add(conn, ReceivedMessage::Reply(xid, zxid, result)),
        Output::Event { conn, event: Event { kind, path, .. }, .. } => add(conn, ReceivedMessage::Event(kind, path)),
        Output::Close { conn, .. } => add(conn, ReceivedMessage::Close),
        Output::State { server, state: role } => roles.push((server, role)),
        Output::Forward { .. } | Output::Committed { .. } => panic!("these are carried"),
        Output::Changed { .. } => panic!("nobody asked for it"),
    }
}

pub(crate) fn create(path: &str, life: ZnodeLifetime) -> Request {
    let kind = CreateKind { life, sequential: false };
    Request::Create { path: path.into(), data: Vec::new(), acl: Acl::open(), kind, with_stat: false }
}

pub(crate) fn sequential(path: &str) -> Request {
    let kind = CreateKind { life: ZnodeLifetime::Ephemeral, sequential: true };
    Request::Create { path: path.into(), data: Vec::new(), acl: Acl::open(), kind, with_stat: false }
}

pub(crate) fn delete(path: &str) -> Request {
    Request::Delete { path: path.into(), version: -1 }
}

pub(crate) fn set(path: &str, data: &str) -> Request {
    Request::SetData { path: path.into(), data: data.into(), version: -1 }
}

pub(crate) fn get(path: &str, watch: bool) -> Request {
    Request::GetData { path: path.into(), watch }
}

pub(crate) fn exists(path: &str, watch: bool) -> Request {
    Request::Exists { path: path.into(), watch }
}

pub(crate) fn children(path: &str, watch: bool) -> Request {
    Request::GetChildren { path: path.into(), watch, with_stat: false }
}

pub(crate) fn made(path: &str) -> Result<Response, Code> {
    Ok(Response::Created { path: path.into(), stat: None })
}
