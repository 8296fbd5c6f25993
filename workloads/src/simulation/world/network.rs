//! The machine side of a world's hosts, with their links and connections.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::VecDeque;

use hustings_record::Direction;
use hustings_record::numbers::to_usize;

use super::due::{COORDINATOR, ClientId, ScheduledEvent};
use super::link::{Link, ServerSet};
use crate::faults::LinkSlowdown;
use crate::model::{Conn, Micros, Server};

pub(crate) struct SimConnection {
    pub(crate) client: ClientId,
    pub(crate) host: u16,
    pub(crate) server: Server,
    pub(crate) client_open: bool,
    pub(crate) server_open: bool,
    /// The earliest arrivals of new messages: messages stay in order.
    pub(crate) up_at: Micros,
    pub(crate) down_at: Micros,
}

/// The machine side of a host.
#[derive(Default)]
pub(crate) struct HostSide {
    pub(crate) link: Link,
    pub(crate) alive: bool,
    pub(crate) paused: bool,
    /// Events that arrived while it was paused.
    pub(crate) inbox: VecDeque<ScheduledEvent>,
    pub(crate) free_at: Micros,
    pub(crate) clients: Vec<ClientId>,
}

pub(crate) struct Network {
    pub(crate) hosts: RefCell<Vec<HostSide>>,
    pub(crate) connections: RefCell<Vec<SimConnection>>,
}

impl Network {
    pub(super) fn new(hosts: u16) -> Self {
        let hosts = (0..hosts).map(|_| HostSide::default()).collect();
        Self { hosts: RefCell::new(hosts), connections: RefCell::default() }
    }

    pub(crate) fn is_alive(&self, host: u16) -> bool {
        self.hosts.borrow()[usize::from(host)].alive
    }

    pub(crate) fn connection(&self, conn: Conn) -> Ref<'_, SimConnection> {
        Ref::map(self.connections.borrow(), |connections| &connections[to_usize(conn)])
    }

    pub(crate) fn connection_mut(&self, conn: Conn) -> RefMut<'_, SimConnection> {
        RefMut::map(self.connections.borrow_mut(), |connections| &mut connections[to_usize(conn)])
    }

    pub(crate) fn host_of(&self, conn: Conn) -> u16 {
        self.connection(conn).host
    }

    /// Reads or changes a host's link; the coordinator has none and gets the default.
    pub(crate) fn of_link<T: Default>(&self, host: u16, of: impl FnOnce(&mut Link) -> T) -> T {
        if host == COORDINATOR {
            return T::default();
        }
        of(&mut self.hosts.borrow_mut()[usize::from(host)].link)
    }

    /// Reads the slowness of a host's link in one direction; the default where the link is not slow in it.
    pub(crate) fn if_slow<T: Default>(&self, host: u16, way: Direction, of: impl Fn(&LinkSlowdown) -> T) -> T {
        self.of_link(host, |link| {
            let slow = &link.slow;
            let acts = if way.is_up() { slow.direction.is_up() } else { slow.direction.is_down() };
            if acts { of(slow) } else { T::default() }
        })
    }

    /// How long this many bytes occupy a connection over this link; 0 without a rate.
    pub(crate) fn line_us(&self, host: u16, way: Direction, bytes: impl FnOnce() -> u64) -> Micros {
        let rate = self.if_slow(host, way, LinkSlowdown::bytes_a_second);
        rate.map_or(0, |rate| (bytes() * 1_000_000).div_ceil(rate))
    }

    /// The arrival this way of a message that alone would arrive `at`, after those sent before it on the connection.
    pub(crate) fn in_turn(&self, conn: Conn, way: Direction, at: Micros, line_us: Micros) -> Micros {
        let mut connection = self.connection_mut(conn);
        let last = if way.is_up() { &mut connection.up_at } else { &mut connection.down_at };
        *last = (*last).max(at) + line_us;
        *last
    }

    pub(crate) fn server_of(&self, conn: Conn) -> Server {
        self.connection(conn).server
    }

    /// Nothing passes from now on; messages are held.
    pub(crate) fn hold(&self, host: u16, way: Direction) {
        self.hold_from(host, way, ServerSet::ALL);
    }

    /// Nothing passes to and from these servers from now on; messages are held.
    pub(crate) fn hold_from(&self, host: u16, way: Direction, servers: ServerSet) {
        self.of_link(host, |link| link.hold(way, servers));
    }
}
