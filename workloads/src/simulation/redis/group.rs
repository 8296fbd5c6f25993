//! The servers of one group, and who reaches whom.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use hustings_record::numbers::to_u16;

use crate::model::Micros;
use crate::redis_failover::{RedisError, RedisRole};
use crate::simulation::world::SimWorld;

/// How far a replica is behind its master, and how long a whole copy takes.
const REPLICATION_US: Micros = 2_000;
const COPY_US: Micros = 100_000;

/// The state of a server's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedisState {
    Running,
    /// It holds its connections, and does nothing until it goes on.
    Stopped,
    /// Its connections are closed, and new ones are refused.
    Dead,
}

pub(super) struct SimRedisServer {
    pub(super) state: RedisState,
    pub(super) role: RedisRole,
    /// What clients wrote to it, or to a master that it followed.
    pub(super) ids: BTreeSet<u64>,
    /// Managers' connections that a client has opened to it.
    pub(super) connections: Vec<Rc<ManagerConnection>>,
}

/// A manager's connection to a server.
#[derive(Default)]
pub(super) struct ManagerConnection {
    /// The number in the token of the manager, once it has named the connection.
    pub(super) token: Cell<i64>,
    pub(super) closed: Cell<bool>,
}

/// The servers of a group.
pub(crate) struct SimRedis {
    pub(super) world: Rc<SimWorld>,
    pub(super) servers: RefCell<Vec<SimRedisServer>>,
    /// Hosts of managers that do not reach a server.
    cut: RefCell<BTreeSet<(u16, u16)>>,
    waiting: RefCell<Vec<Waker>>,
}

impl SimRedis {
    /// Servers that all follow the first one.
    pub(crate) fn new(world: &Rc<SimWorld>, servers: u16) -> Rc<Self> {
        let role = |number| if number == 0 { RedisRole::Master } else { RedisRole::Replica { of: Some(0) } };
        let server = |number| SimRedisServer {
            state: RedisState::Running,
            role: role(number),
            ids: BTreeSet::new(),
            connections: Vec::new(),
        };
        let servers = RefCell::new((0..servers).map(server).collect());
        Rc::new(Self { world: world.clone(), servers, cut: RefCell::default(), waiting: RefCell::default() })
    }

    pub(crate) fn count(&self) -> u16 {
        to_u16(self.servers.borrow().len())
    }

    pub(crate) fn role(&self, server: u16) -> RedisRole {
        self.servers.borrow()[usize::from(server)].role
    }

    /// Servers that accept writes, now.
    pub(crate) fn masters(&self) -> Vec<u16> {
        let servers = self.servers.borrow();
        let is_master =
            |server: &SimRedisServer| server.role == RedisRole::Master && server.state == RedisState::Running;
        (0..).zip(servers.iter()).filter(|(_, server)| is_master(server)).map(|(number, _)| number).collect()
    }

    /// Whether a server has what a client wrote.
    pub(crate) fn has(&self, server: u16, id: u64) -> bool {
        self.servers.borrow()[usize::from(server)].ids.contains(&id)
    }

    /// Stops, kills or continues a server. One that was dead starts with what it had, as a master of nobody knows whom.
    pub(crate) fn set_state(self: &Rc<Self>, server: u16, state: RedisState) {
        {
            let mut servers = self.servers.borrow_mut();
            let server = &mut servers[usize::from(server)];
            let before = std::mem::replace(&mut server.state, state);
            if state == RedisState::Dead {
                server.connections.drain(..).for_each(|connection| connection.closed.set(true));
            }
            if before == RedisState::Dead && state == RedisState::Running {
                server.role = RedisRole::Master;
            }
        }
        self.changed();
        self.replicate_later(REPLICATION_US);
    }

    /// Cuts the manager on a host off from a server, or connects it again.
    pub(crate) fn set_cut(&self, host: u16, server: u16, is_cut: bool) {
        let mut cut = self.cut.borrow_mut();
        if is_cut {
            cut.insert((host, server));
        } else {
            cut.remove(&(host, server));
        }
        drop(cut);
        self.changed();
    }

    /// A client's write. An error: the server did not take it.
    pub(crate) fn write(self: &Rc<Self>, server: u16, id: u64) -> Result<(), RedisError> {
        {
            let mut servers = self.servers.borrow_mut();
            let server = &mut servers[usize::from(server)];
            match (server.state, server.role) {
                (RedisState::Dead, _) => return Err(refused_connection()),
                (RedisState::Stopped, _) => return Err(RedisError::Unknown("no answer".into())),
                (RedisState::Running, RedisRole::Replica { .. }) => {
                    return Err(RedisError::Refused("a replica takes no writes".into()));
                }
                (RedisState::Running, RedisRole::Master) => _ = server.ids.insert(id),
            }
        }
        self.replicate_later(REPLICATION_US);
        Ok(())
    }

    /// Gives a server another role without any manager, as an operator does.
    pub(crate) fn set_role_of(self: &Rc<Self>, server: u16, role: RedisRole) {
        self.set_role(server, role);
    }

    /// Gives a server its role; a replica takes a whole copy first.
    pub(super) fn set_role(self: &Rc<Self>, server: u16, role: RedisRole) {
        self.servers.borrow_mut()[usize::from(server)].role = role;
        self.replicate_later(COPY_US);
    }

    /// Replicas that run become as their master is, if that runs: what they had beside it is gone.
    fn replicate_later(self: &Rc<Self>, after_us: Micros) {
        let own = self.clone();
        self.world.clock.later(self.world.clock.now() + after_us, move || {
            let mut servers = own.servers.borrow_mut();
            for number in 0..servers.len() {
                let RedisRole::Replica { of: Some(master) } = servers[number].role else { continue };
                let master = usize::from(master);
                let runs = |server: &SimRedisServer| server.state == RedisState::Running;
                if master != number && runs(&servers[number]) && runs(&servers[master]) {
                    servers[number].ids = servers[master].ids.clone();
                }
            }
        });
    }

    /// Whether what a manager's host sends to this server is taken now; a dead one refuses.
    fn takes(&self, host: u16, server: u16) -> bool {
        let is_cut = self.cut.borrow().contains(&(host, server));
        !is_cut && self.servers.borrow()[usize::from(server)].state != RedisState::Stopped
    }

    /// Waits until the server takes what this host sends.
    pub(super) async fn taken(&self, host: u16, server: u16) {
        poll_fn(|cx| {
            if self.takes(host, server) {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Waits until a server is dead.
    pub(super) async fn lost(&self, server: u16) {
        poll_fn(|cx| {
            if self.servers.borrow()[usize::from(server)].state == RedisState::Dead {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn changed(&self) {
        self.waiting.take().into_iter().for_each(Waker::wake);
    }
}

pub(super) fn refused_connection() -> RedisError {
    RedisError::Unreachable("connection refused".into())
}
