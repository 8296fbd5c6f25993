//! The ensemble as its driver sees it: servers that start and fail, and their shared state.

use hustings_record::ServerState;
use std::collections::BTreeSet;

use super::interface::{Options, Output, Server};
use super::log::Log;
use super::op::{Micros, Stat, Zxid};
use super::server::{Member, Outputs};
use super::tree::Tree;

/// The servers of an ensemble, without I/O and without a clock. The times passed to successive calls must not decrease.
#[derive(Debug)]
pub struct Ensemble {
    pub(super) options: Options,
    pub(super) members: Vec<Member>,
    /// Pairs that cannot communicate, the smaller number first.
    parted: BTreeSet<(Server, Server)>,
    pub(super) log: Log,
    pub(super) out: Outputs,
    /// Number of tickets issued so far.
    pub(super) tickets: u64,
    /// The last epoch that any leader began.
    pub(super) epoch: i64,
    /// The server that the looking servers would elect, and since when there are enough of them.
    pub(super) vote: Option<(Server, Micros)>,
}

/// A znode as one server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Znode<'a> {
    pub path: &'a str,
    pub data: &'a [u8],
    pub stat: Stat,
}

/// A session id has one byte for the server, whose last value is reserved.
const SERVERS_MAX: usize = 254;

impl Ensemble {
    /// All servers are down; the time is 0.
    ///
    /// # Panics
    /// With no servers, more than 254 of them, or a tick of 0.
    #[must_use]
    pub fn new(options: Options) -> Self {
        assert!((1..=SERVERS_MAX).contains(&options.servers), "an ensemble has 1 to {SERVERS_MAX} servers");
        assert!(options.tick_ms > 0 && options.container_check_ms > 0, "time passes in steps of at least 1 ms");
        Self {
            members: (0..options.servers).map(|id| Member::new(id, &options)).collect(),
            options,
            parted: BTreeSet::new(),
            log: Log::default(),
            out: Outputs::new(),
            tickets: 0,
            epoch: 0,
            vote: None,
        }
    }

    /// Starts a server that is down, on its previous data.
    pub fn start(&mut self, now: Micros, server: Server) {
        if self.members[server].is_running() {
            return;
        }
        if self.options.servers == 1 {
            self.lead_alone(now);
        } else {
            self.set_state(server, ServerState::NotServing);
        }
        self.reconsider(now);
    }

    /// Kills a server. The others notice at once; its connections end without notice, its data stays.
    pub fn kill(&mut self, now: Micros, server: Server) {
        if !self.members[server].is_running() {
            return;
        }
        let member = &mut self.members[server];
        member.drop_all();
        member.is_paused = false;
        self.catch_up_with_own_log(server);
        self.set_state(server, ServerState::Down);
        self.reconsider(now);
    }

    /// Removes the data of a server that is down.
    ///
    /// # Panics
    /// When it is not down.
    pub fn wipe(&mut self, server: Server) {
        let member = &mut self.members[server];
        assert!(!member.is_running(), "server {server} still runs");
        member.tree = Tree::new();
        (member.applied, member.logged, member.last_zxid, member.epoch) = (0, 0, 0, 0);
        member.is_diverged = false;
    }

    /// The next sequential znode below `path` gets this number on servers that have `path`, as if that many had been
    /// created before.
    pub fn count_from(&mut self, path: &str, number: i32) {
        for member in &mut self.members {
            if let Some(place) = member.tree.find(path) {
                member.tree.node_mut(place).creates = number;
            }
        }
    }

    /// Stops a server's process: it neither receives nor sends, and the driver delivers nothing to it.
    pub fn pause(&mut self, now: Micros, server: Server) {
        let member = &mut self.members[server];
        member.is_paused = member.is_running();
        self.reconsider(now);
    }

    pub fn resume(&mut self, now: Micros, server: Server) {
        self.members[server].is_paused = false;
        self.reconsider(now);
        self.order_held(now, server);
    }

    /// Two servers cannot communicate from now on.
    pub fn part(&mut self, now: Micros, a: Server, b: Server) {
        self.parted.insert((a.min(b), a.max(b)));
        self.reconsider(now);
    }

    /// Two servers can communicate again.
    pub fn join(&mut self, now: Micros, a: Server, b: Server) {
        self.parted.remove(&(a.min(b), a.max(b)));
        self.reconsider(now);
    }

    /// How many servers the ensemble has.
    #[must_use]
    pub fn servers(&self) -> usize {
        self.members.len()
    }

    #[must_use]
    pub fn state(&self, server: Server) -> ServerState {
        self.members[server].state
    }

    /// The leading server. If two believe to lead, the one with the newer epoch.
    #[must_use]
    pub fn leader(&self) -> Option<Server> {
        let leading = self.members.iter().filter(|member| member.lead.is_some());
        leading.max_by_key(|member| member.epoch).map(|member| member.id)
    }

    /// The last transaction that the server has applied.
    #[must_use]
    pub fn last_zxid(&self, server: Server) -> Zxid {
        self.members[server].last_zxid
    }

    /// All znodes that the server has, each before its descendants.
    pub fn znodes(&self, server: Server) -> impl Iterator<Item = Znode<'_>> {
        self.members[server].tree.walk().map(|node| Znode { path: &node.path, data: &node.data, stat: node.stat() })
    }

    /// The next action for the driver.
    pub fn pop(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// Whether two servers can communicate now.
    pub(super) fn can_communicate(&self, a: Server, b: Server) -> bool {
        let awake = |server: Server| self.members[server].is_running() && !self.members[server].is_paused;
        awake(a) && awake(b) && (a == b || !self.parted.contains(&(a.min(b), a.max(b))))
    }

    pub(super) fn quorum(&self) -> usize {
        self.options.servers / 2 + 1
    }

    pub(super) fn set_state(&mut self, server: Server, state: ServerState) {
        if std::mem::replace(&mut self.members[server].state, state) != state {
            self.out.push_back(Output::State { server, state });
        }
    }

    /// Applies the logged transactions at a server without connections.
    pub(super) fn catch_up_with_own_log(&mut self, server: Server) {
        let member = &mut self.members[server];
        member.apply_before(member.logged, &self.log, &mut self.out);
    }
}
