//! The world of one simulated cell: its clock, its agenda, and everything that lives in it. Nothing here knows what an election
//! is; what happens to servers, clients and hosts is in the files of their own.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::task::Waker;

use futures::task::LocalSpawnExt as _;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use super::agenda::Agenda;
use super::client::{Client, ClientTimer};
use super::link::Link;
use super::server_watch::ServerWatch;
use super::servers::{Job, ServerSide};
use super::stage::Stage;
use super::timing::Timing;
use super::traps::Traps;
use super::witness::{By, Saw, Witness};
use crate::model::Code;
use crate::model::{
    Conn, Connect, Connected, Ensemble, Event, Micros, Options, Request, Response, Server, Ticket, Zxid,
};

/// Place of a client among the clients of a world.
pub(super) type ClientId = u32;

/// The host of those who live on none: the coordinator.
pub(super) const NOWHERE: u16 = u16::MAX;

/// What a client sends.
pub(super) enum Up {
    Connect(Box<Connect>),
    Ping,
    Request(i32, Box<Request>),
    /// Its side of the connection is closed.
    Closed,
}

/// What a client gets.
pub(super) enum Down {
    Connected(Box<Connected>),
    Pong,
    Reply(i32, Zxid, Box<Result<Response, Code>>),
    Event(Box<Event>),
    /// The connection is closed or was reset.
    Closed,
}

/// Something that is done once.
pub(super) type Call = Box<dyn FnOnce(&Rc<World>)>;

/// What is due at some time.
pub(super) enum Due {
    /// A message reaches the far end of its link.
    Up(Conn, Up),
    /// A message reaches its host.
    Down(Conn, Down),
    /// The host's processor is free for it.
    Taken(Conn, Down),
    ServerFree(Server),
    Job(Server, Job),
    /// The leader's log has taken the writes up to here.
    Commit,
    HandOver,
    Advance,
    Client(ClientId, u32, ClientTimer),
    Wake(u16, Waker),
    Host(u16, Call),
    Call(Call),
}

/// A connection.
pub(super) struct Line {
    pub(super) client: ClientId,
    pub(super) host: u16,
    pub(super) server: Server,
    pub(super) client_open: bool,
    pub(super) server_open: bool,
    /// Nothing arrives before these: messages stay in order.
    pub(super) up_at: Micros,
    pub(super) down_at: Micros,
}

/// A host as far as the machine goes.
#[derive(Default)]
pub(super) struct HostSide {
    pub(super) link: Link,
    pub(super) alive: bool,
    pub(super) paused: bool,
    /// What came while it was paused.
    pub(super) inbox: VecDeque<Due>,
    pub(super) free_at: Micros,
    pub(super) clients: Vec<ClientId>,
}

pub(super) struct World {
    pub(super) now: Cell<Micros>,
    agenda: RefCell<Agenda<Due>>,
    pub(super) happened: Cell<u64>,
    pub(super) rng: RefCell<ChaCha8Rng>,
    /// When each of the shared cores has done what it owes.
    cores_free_at: RefCell<Vec<Micros>>,
    pub(super) timing: Timing,
    pub(super) tick_us: Micros,
    pub(super) ensemble: RefCell<Ensemble>,
    pub(super) servers: RefCell<Vec<ServerSide>>,
    /// Pairs of servers that cannot speak to each other.
    pub(super) parted: RefCell<Vec<(Server, Server)>>,
    /// What waits for two servers to speak again.
    pub(super) between: RefCell<Vec<(Server, Server, Due)>>,
    /// Ordered by the leader, waiting for its log.
    pub(super) ordered: RefCell<VecDeque<Ticket>>,
    pub(super) committing: Cell<bool>,
    pub(super) advance_at: Cell<Micros>,
    pub(super) lines: RefCell<Vec<Line>>,
    pub(super) clients: RefCell<Vec<Client>>,
    pub(super) hosts: RefCell<Vec<HostSide>>,
    pub(super) traps: RefCell<Traps>,
    pub(super) witness: Rc<dyn Witness>,
    pub(super) server_watch: RefCell<ServerWatch>,
    stage: RefCell<Weak<Stage>>,
    spawner: futures::executor::LocalSpawner,
}

impl World {
    pub(super) fn new(
        options: Options,
        timing: Timing,
        hosts: u16,
        rng: ChaCha8Rng,
        witness: Rc<dyn Witness>,
        spawner: futures::executor::LocalSpawner,
    ) -> Rc<Self> {
        let (servers, tick_us) = (options.servers, options.tick_ms * 1_000);
        Rc::new(Self {
            now: Cell::new(0),
            agenda: RefCell::new(Agenda::new()),
            happened: Cell::new(0),
            rng: RefCell::new(rng),
            cores_free_at: RefCell::new(vec![0; timing.cores as usize]),
            timing,
            tick_us,
            ensemble: RefCell::new(Ensemble::new(options)),
            servers: RefCell::new((0..servers).map(|_| ServerSide::default()).collect()),
            parted: RefCell::default(),
            between: RefCell::default(),
            ordered: RefCell::default(),
            committing: Cell::new(false),
            advance_at: Cell::new(Micros::MAX),
            lines: RefCell::default(),
            clients: RefCell::default(),
            hosts: RefCell::new((0..hosts).map(|_| HostSide::default()).collect()),
            traps: RefCell::default(),
            witness,
            server_watch: RefCell::new(ServerWatch::new(servers)),
            stage: RefCell::default(),
            spawner,
        })
    }

    /// The candidates of this world, once they are there.
    pub(super) fn stage(&self) -> Option<Rc<Stage>> {
        self.stage.borrow().upgrade()
    }

    pub(super) fn set_stage(&self, stage: &Rc<Stage>) {
        self.stage.replace(Rc::downgrade(stage));
    }

    /// Forgets everything that was planned: the world ends, and nothing in it keeps it alive.
    pub(super) fn end(&self) {
        *self.agenda.borrow_mut() = Agenda::new();
        self.hosts.borrow_mut().clear();
        self.between.borrow_mut().clear();
        let clients = std::mem::take(&mut *self.clients.borrow_mut());
        drop(clients);
    }

    pub(super) fn now(&self) -> Micros {
        self.now.get()
    }

    pub(super) fn plan(&self, at: Micros, due: Due) {
        self.agenda.borrow_mut().plan(at.max(self.now.get()), due);
    }

    /// Does something later.
    pub(super) fn later(&self, at: Micros, call: impl FnOnce(&Rc<Self>) + 'static) {
        self.plan(at, Due::Call(Box::new(call)));
    }

    /// A process of a host does something later: not while it is stopped, and never once it is dead.
    pub(super) fn host_later(&self, host: u16, at: Micros, call: impl FnOnce(&Rc<Self>) + 'static) {
        self.plan(at, Due::Host(host, Box::new(call)));
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        // The pool outlives the world: it fails only once that is shut down.
        let _ = self.spawner.spawn_local(task);
    }

    pub(super) fn saw(&self, by: By, what: Saw<'_>) {
        self.witness.saw(self.now.get(), by, what);
    }

    /// When a server or a host that is free at `free_at` has done so much work. Where they share cores nobody is done before
    /// these have caught up: what they owe is spread evenly, and a core never waits while there is work.
    pub(super) fn worked(&self, free_at: Micros, cost: Micros) -> Micros {
        let alone = free_at.max(self.now()) + cost;
        let mut cores = self.cores_free_at.borrow_mut();
        let Some(core) = cores.iter_mut().min().filter(|_| cost > 0) else { return alone };
        *core = (*core).max(self.now()) + cost;
        alone.max(*core)
    }

    /// A number below `below` (0 for 0).
    pub(super) fn draw(&self, below: u64) -> u64 {
        if below == 0 { 0 } else { self.rng.borrow_mut().random_range(0..below) }
    }

    /// Lets the next thing happen. False: nothing is planned.
    pub(super) fn step(self: &Rc<Self>) -> bool {
        let Some((at, due)) = self.agenda.borrow_mut().pop() else { return false };
        self.now.set(at);
        self.happened.set(self.happened.get() + 1);
        self.happen(due);
        true
    }

    pub(super) fn happen(self: &Rc<Self>, due: Due) {
        match due {
            Due::Up(conn, up) => self.reaches_server(conn, up),
            Due::Down(conn, down) => self.reaches_host(conn, down),
            Due::Taken(conn, down) => {
                let host = self.lines.borrow()[conn as usize].host;
                if let Some(Due::Taken(conn, down)) = self.at_host(host, Due::Taken(conn, down)) {
                    self.taken(conn, down);
                }
            }
            Due::ServerFree(server) => self.server_free(server),
            Due::Job(server, job) => self.arrives(server, job),
            Due::Commit => self.commit(),
            Due::HandOver => self.hand_over(),
            Due::Advance => self.advance(),
            Due::Client(client, era, timer) => {
                let host = self.clients.borrow()[client as usize].host;
                if let Some(Due::Client(client, era, timer)) = self.at_host(host, Due::Client(client, era, timer)) {
                    self.client_timer(client, era, timer);
                }
            }
            Due::Wake(host, waker) => {
                if let Some(Due::Wake(_, waker)) = self.at_host(host, Due::Wake(host, waker)) {
                    waker.wake();
                }
            }
            Due::Host(host, call) => {
                if let Some(Due::Host(_, call)) = self.at_host(host, Due::Host(host, call)) {
                    call(self);
                }
            }
            Due::Call(call) => call(self),
        }
    }

    /// Gives it back if the host runs; keeps it while the host is stopped, and drops it when the host is dead.
    fn at_host(&self, host: u16, due: Due) -> Option<Due> {
        if host == NOWHERE {
            return Some(due);
        }
        let mut hosts = self.hosts.borrow_mut();
        let side = &mut hosts[usize::from(host)];
        if side.paused {
            side.inbox.push_back(due);
            return None;
        }
        side.alive.then_some(due)
    }

    /// A message is at its host: it is taken once the host's processor has done with those before it.
    fn reaches_host(self: &Rc<Self>, conn: Conn, down: Down) {
        let host = self.lines.borrow()[conn as usize].host;
        if host == NOWHERE {
            return self.taken(conn, down);
        }
        let at = {
            let mut hosts = self.hosts.borrow_mut();
            let side = &mut hosts[usize::from(host)];
            if side.link.holds_down() {
                side.link.hold_down(Due::Down(conn, down));
                return;
            }
            let listing_us = match &down {
                Down::Reply(_, _, answer) => self.timing.listing_us(answer),
                _ => 0,
            };
            side.free_at = self.worked(side.free_at, self.timing.client_us + listing_us);
            // Nobody looks at when exactly a ping's answer was taken, and most messages of a large world are those.
            if matches!(down, Down::Pong) && side.alive && !side.paused {
                drop(hosts);
                return self.taken(conn, down);
            }
            side.free_at
        };
        self.plan(at, Due::Taken(conn, down));
    }
}

/// Waits until the world's clock shows `at`.
pub(super) async fn sleep_until(world: &World, host: u16, at: Micros) {
    let mut called: Option<Waker> = None;
    std::future::poll_fn(|cx| {
        if world.now() >= at {
            return std::task::Poll::Ready(());
        }
        // Once is enough, however often whoever waits for other things as well looks at it.
        if !called.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            world.plan(at, Due::Wake(host, cx.waker().clone()));
            called = Some(cx.waker().clone());
        }
        std::task::Poll::Pending
    })
    .await;
}
