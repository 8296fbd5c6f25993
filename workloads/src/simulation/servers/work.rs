//! Each server does its work in order, and the leader's log makes writes wait for a quorum.

use crate::model::{Conn, Micros, Server, Ticket};
use crate::simulation::world::{FromClient, Job, ScheduledEvent, ServerSide, SimWorld, ToClient};

impl SimWorld {
    /// A message of a client reaches its server.
    pub(crate) fn reaches_server(&self, conn: Conn, up: FromClient) {
        let (host, server, open) = {
            let connection = self.network.connection(conn);
            (connection.host, connection.server, connection.server_open)
        };
        if !open {
            return;
        }
        if self.network.of_link(host, |link| link.holds_up(server)) {
            return self.network.of_link(host, |link| link.hold_up(conn, up));
        }
        self.arrives(server, Job::Up(conn, up));
    }

    /// Work arrives at a server: it is done at once if the server is free, else queued.
    pub(crate) fn arrives(&self, server: Server, job: Job) {
        {
            let mut servers = self.servers.sides.borrow_mut();
            let side = &mut servers[server];
            if !side.running {
                return;
            }
            if side.paused || side.called || side.free_at > self.clock.now() {
                side.queue.push_back(job);
                self.call(server, side);
                return;
            }
        }
        self.serve(server, job);
    }

    pub(super) fn call(&self, server: Server, side: &mut ServerSide) {
        if !side.called && !side.paused && !side.queue.is_empty() {
            side.called = true;
            self.clock.plan(side.free_at, ScheduledEvent::ServerFree(server));
        }
    }

    pub(crate) fn server_free(&self, server: Server) {
        let job = {
            let mut servers = self.servers.sides.borrow_mut();
            let side = &mut servers[server];
            side.called = false;
            if side.paused || !side.running { None } else { side.queue.pop_front() }
        };
        if let Some(job) = job {
            self.serve(server, job);
        }
        let mut servers = self.servers.sides.borrow_mut();
        self.call(server, &mut servers[server]);
    }

    fn serve(&self, server: Server, job: Job) {
        let now = self.clock.now();
        let cost = self.cost(&job);
        self.servers.sides.borrow_mut()[server].free_at = self.worked(now, cost);
        match job {
            Job::Up(conn, up) => self.hear(server, conn, up),
            Job::Order(ticket, true) => self.log(ticket),
            Job::Order(ticket, false) => self.order(server, ticket),
            Job::Apply(zxid, _) => self.servers.ensemble.borrow_mut().apply(now, server, zxid),
        }
        self.carry_out();
    }

    fn cost(&self, job: &Job) -> Micros {
        use crate::model::Request as R;
        let timing = &self.timing;
        match job {
            Job::Up(_, FromClient::Connect(_)) => timing.connect_us,
            Job::Up(_, FromClient::Ping | FromClient::Closed) => timing.ping_us,
            Job::Up(_, FromClient::Request(_, request)) => match **request {
                R::Create { .. }
                | R::Delete { .. }
                | R::SetData { .. }
                | R::SetAcl { .. }
                | R::Multi(_)
                | R::Sync { .. }
                | R::CloseSession => timing.write_us,
                _ => timing.read_us,
            },
            Job::Order(..) => timing.order_us,
            Job::Apply(_, count) => timing.apply_us * count,
        }
    }

    fn hear(&self, server: Server, conn: Conn, up: FromClient) {
        let now = self.clock.now();
        let mut ensemble = self.servers.ensemble.borrow_mut();
        match up {
            FromClient::Connect(ask) => ensemble.connect(now, server, conn, *ask),
            FromClient::Ping => {
                ensemble.ping(now, server, conn);
                drop(ensemble);
                let at = self.servers.sides.borrow()[server].free_at;
                self.send_down(at, conn, ToClient::Pong);
            }
            FromClient::Request(xid, request) => ensemble.request(now, server, conn, xid, *request),
            FromClient::Closed => {
                ensemble.disconnected(now, server, conn);
                self.network.connection_mut(conn).server_open = false;
            }
        }
    }

    /// Handles a ping directly if nothing delays it: it touches its session and has no other effect.
    pub(crate) fn ping_at_once(&self, conn: Conn) -> bool {
        let (host, server) = {
            let connection = self.network.connection(conn);
            if !connection.server_open || connection.up_at > self.clock.now() {
                return false;
            }
            (connection.host, connection.server)
        };
        if self.network.of_link(host, |link| link.is_held(server) || !link.slow.is_nothing()) {
            return false;
        }
        let mut servers = self.servers.sides.borrow_mut();
        let side = &mut servers[server];
        if !side.running || side.paused || side.called || side.free_at > self.clock.now() {
            return false;
        }
        side.free_at = self.worked(self.clock.now(), self.timing.ping_us);
        self.servers.ensemble.borrow_mut().ping(self.clock.now(), server, conn);
        true
    }

    /// The leader has ordered the request; its log takes everything that has arrived since its last batch.
    fn log(&self, ticket: Ticket) {
        self.servers.ordered.borrow_mut().push_back(ticket);
        if !self.servers.committing.replace(true) {
            self.clock.plan(self.clock.now() + self.timing.commit_us, ScheduledEvent::Commit);
        }
    }

    /// For requests without a log entry: the leader decides, and its answer goes back at once.
    fn order(&self, leader: Server, ticket: Ticket) {
        let zxid = self.servers.ensemble.borrow_mut().order(self.clock.now(), ticket);
        self.put_all_out();
        if let Some(zxid) = zxid {
            self.tell_followers(leader, zxid, 1);
        }
    }

    pub(crate) fn commit(&self) {
        self.servers.committing.set(false);
        let leader = self.servers.ensemble.borrow().leader();
        let Some(leader) = leader else {
            self.servers.ordered.borrow_mut().clear();
            return;
        };
        // The leader resumes them when it is continued.
        if self.servers.sides.borrow()[leader].paused {
            return;
        }
        let tickets = std::mem::take(&mut *self.servers.ordered.borrow_mut());
        let (mut last, mut count) = (None, 0);
        for ticket in tickets {
            if let Some(zxid) = self.servers.ensemble.borrow_mut().order(self.clock.now(), ticket) {
                last = last.max(Some(zxid));
                count += 1;
            }
            last = last.max(self.put_all_out().0);
        }
        if let Some(zxid) = last {
            self.tell_followers(leader, zxid, count);
        }
    }

    /// Followers report to the leader the sessions that they had contact with.
    pub(crate) fn hand_over(&self) {
        let leader = self.servers.ensemble.borrow().leader();
        if let Some(leader) = leader {
            for server in 0..self.servers.count() {
                let speaks = {
                    let servers = self.servers.sides.borrow();
                    servers[server].running && !servers[server].paused && !servers[leader].paused
                };
                if server != leader && speaks && !self.servers.are_parted(leader, server) {
                    self.servers.ensemble.borrow_mut().hand_over_touches(self.clock.now(), server);
                }
            }
        }
        self.clock.plan(self.clock.now() + self.tick_us / 2, ScheduledEvent::HandOver);
    }

    pub(crate) fn advance(&self) {
        if self.servers.advance_at.get() > self.clock.now() {
            return;
        }
        self.servers.advance_at.set(Micros::MAX);
        self.servers.ensemble.borrow_mut().advance(self.clock.now());
        self.carry_out();
    }
}
