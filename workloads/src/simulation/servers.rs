//! The servers of a world: each takes its work in turn, and the leader's log makes writes wait for a quorum. What they decide
//! is the model's; here is only when.

use std::collections::VecDeque;
use std::rc::Rc;

use super::world::{Down, Due, NOWHERE, Up, World};
use crate::model::{Conn, Micros, Output, Server, Ticket, Zxid};

/// What a server has to do.
pub(super) enum Job {
    Up(Conn, Up),
    /// As the leader: order what a server has passed on; writes wait for the logs first.
    Order(Ticket, bool),
    /// As a follower: apply so many transactions, up to this one.
    Apply(Zxid, u64),
}

/// A server as far as the machine goes.
#[derive(Default)]
pub(super) struct ServerSide {
    queue: VecDeque<Job>,
    free_at: Micros,
    /// `ServerFree` is planned.
    called: bool,
    pub(super) running: bool,
    pub(super) paused: bool,
    /// It applies what the leader commits so much later.
    pub(super) lag_us: Micros,
}

impl World {
    /// A message of a client reaches its server.
    pub(super) fn reaches_server(self: &Rc<Self>, conn: Conn, up: Up) {
        let (host, server, open) = {
            let lines = self.lines.borrow();
            let line = &lines[conn as usize];
            (line.host, line.server, line.server_open)
        };
        if !open {
            return;
        }
        if host != NOWHERE {
            let mut hosts = self.hosts.borrow_mut();
            let link = &mut hosts[usize::from(host)].link;
            if link.holds_up() {
                link.hold_up(Due::Up(conn, up));
                return;
            }
        }
        self.arrives(server, Job::Up(conn, up));
    }

    /// Work arrives at a server: it is done at once if the server is free, else in its turn.
    pub(super) fn arrives(self: &Rc<Self>, server: Server, job: Job) {
        {
            let mut servers = self.servers.borrow_mut();
            let side = &mut servers[server];
            if !side.running {
                return;
            }
            if side.paused || side.called || side.free_at > self.now() {
                side.queue.push_back(job);
                self.call(server, side);
                return;
            }
        }
        self.serve(server, job);
    }

    fn call(&self, server: Server, side: &mut ServerSide) {
        if !side.called && !side.paused && !side.queue.is_empty() {
            side.called = true;
            self.plan(side.free_at, Due::ServerFree(server));
        }
    }

    pub(super) fn server_free(self: &Rc<Self>, server: Server) {
        let job = {
            let mut servers = self.servers.borrow_mut();
            let side = &mut servers[server];
            side.called = false;
            if side.paused || !side.running { None } else { side.queue.pop_front() }
        };
        if let Some(job) = job {
            self.serve(server, job);
        }
        let mut servers = self.servers.borrow_mut();
        self.call(server, &mut servers[server]);
    }

    fn serve(self: &Rc<Self>, server: Server, job: Job) {
        let now = self.now();
        let cost = self.cost(&job);
        self.servers.borrow_mut()[server].free_at = self.worked(now, cost);
        match job {
            Job::Up(conn, up) => self.hear(server, conn, up),
            Job::Order(ticket, true) => self.log(ticket),
            Job::Order(ticket, false) => self.order(server, ticket),
            Job::Apply(zxid, _) => self.ensemble.borrow_mut().apply(now, server, zxid),
        }
        self.carry_out();
    }

    fn cost(&self, job: &Job) -> Micros {
        use crate::model::Request as R;
        let timing = &self.timing;
        match job {
            Job::Up(_, Up::Connect(_)) => timing.connect_us,
            Job::Up(_, Up::Ping | Up::Closed) => timing.ping_us,
            Job::Up(_, Up::Request(_, request)) => match **request {
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

    fn hear(&self, server: Server, conn: Conn, up: Up) {
        let now = self.now();
        let mut ensemble = self.ensemble.borrow_mut();
        match up {
            Up::Connect(ask) => ensemble.connect(now, server, conn, *ask),
            Up::Ping => {
                ensemble.ping(now, server, conn);
                drop(ensemble);
                let at = self.servers.borrow()[server].free_at;
                self.send_down(at, conn, Down::Pong);
            }
            Up::Request(xid, request) => ensemble.request(now, server, conn, xid, *request),
            Up::Closed => {
                ensemble.disconnected(now, server, conn);
                self.lines.borrow_mut()[conn as usize].server_open = false;
            }
        }
    }

    /// A ping that nothing stands in the way of: it touches its session, and nobody else hears of it.
    pub(super) fn ping_at_once(&self, conn: Conn) -> bool {
        let (host, server) = {
            let lines = self.lines.borrow();
            let line = &lines[conn as usize];
            if !line.server_open || line.up_at > self.now() {
                return false;
            }
            (line.host, line.server)
        };
        if host != NOWHERE {
            let hosts = self.hosts.borrow();
            let side = &hosts[usize::from(host)];
            if side.link.is_held() || side.link.slow_us > 0 {
                return false;
            }
        }
        let mut servers = self.servers.borrow_mut();
        let side = &mut servers[server];
        if !side.running || side.paused || side.called || side.free_at > self.now() {
            return false;
        }
        side.free_at = self.worked(self.now(), self.timing.ping_us);
        self.ensemble.borrow_mut().ping(self.now(), server, conn);
        true
    }

    /// The leader has ordered it; its log takes what has come together since the last time.
    fn log(&self, ticket: Ticket) {
        self.ordered.borrow_mut().push_back(ticket);
        if !self.committing.replace(true) {
            self.plan(self.now() + self.timing.commit_us, Due::Commit);
        }
    }

    /// What needs no log: the leader decides, and its word goes back at once.
    fn order(self: &Rc<Self>, leader: Server, ticket: Ticket) {
        let zxid = self.ensemble.borrow_mut().order(self.now(), ticket);
        self.put_all_out();
        if let Some(zxid) = zxid {
            self.tell_followers(leader, zxid, 1);
        }
    }

    pub(super) fn commit(self: &Rc<Self>) {
        self.committing.set(false);
        let leader = self.ensemble.borrow().leader();
        let Some(leader) = leader else {
            self.ordered.borrow_mut().clear();
            return;
        };
        // It takes them up again when it is continued.
        if self.servers.borrow()[leader].paused {
            return;
        }
        let tickets = std::mem::take(&mut *self.ordered.borrow_mut());
        let (mut last, mut count) = (None, 0);
        for ticket in tickets {
            if let Some(zxid) = self.ensemble.borrow_mut().order(self.now(), ticket) {
                last = last.max(Some(zxid));
                count += 1;
            }
            last = last.max(self.put_all_out().0);
        }
        if let Some(zxid) = last {
            self.tell_followers(leader, zxid, count);
        }
    }

    /// What the leader has committed is on its way to the others.
    fn tell_followers(self: &Rc<Self>, leader: Server, zxid: Zxid, count: u64) {
        for server in 0..self.servers.borrow().len() {
            if server != leader {
                let lag = self.servers.borrow()[server].lag_us;
                let at = self.now() + self.timing.between_servers_us + lag;
                self.send_between(leader, server, at, Due::Job(server, Job::Apply(zxid, count)));
            }
        }
    }

    /// Sends something from one server to another; it waits while they cannot speak.
    fn send_between(&self, from: Server, to: Server, at: Micros, due: Due) {
        if self.are_parted(from, to) {
            self.between.borrow_mut().push((from, to, due));
        } else {
            self.plan(at, due);
        }
    }

    pub(super) fn are_parted(&self, a: Server, b: Server) -> bool {
        self.parted.borrow().iter().any(|pair| *pair == (a, b) || *pair == (b, a))
    }

    /// Something has changed about who can speak to whom.
    pub(super) fn quorum_may_be_back(self: &Rc<Self>) {
        let waiting = std::mem::take(&mut *self.between.borrow_mut());
        for (from, to, due) in waiting {
            self.send_between(from, to, self.now() + self.timing.between_servers_us, due);
        }
        if !self.ordered.borrow().is_empty() && !self.committing.replace(true) {
            self.plan(self.now() + self.timing.commit_us, Due::Commit);
        }
    }

    /// Followers hand the leader the sessions that they have heard of.
    pub(super) fn hand_over(self: &Rc<Self>) {
        let leader = self.ensemble.borrow().leader();
        if let Some(leader) = leader {
            for server in 0..self.servers.borrow().len() {
                let speaks = {
                    let servers = self.servers.borrow();
                    servers[server].running && !servers[server].paused && !servers[leader].paused
                };
                if server != leader && speaks && !self.are_parted(leader, server) {
                    self.ensemble.borrow_mut().hand_over_touches(self.now(), server);
                }
            }
        }
        self.plan(self.now() + self.tick_us / 2, Due::HandOver);
    }

    pub(super) fn advance(self: &Rc<Self>) {
        if self.advance_at.get() > self.now() {
            return;
        }
        self.advance_at.set(Micros::MAX);
        self.ensemble.borrow_mut().advance(self.now());
        self.carry_out();
    }

    /// Does what the model wants done, and has it called when it is due again.
    pub(super) fn carry_out(self: &Rc<Self>) {
        // What the ensemble commits by itself (the ends of sessions) goes to the followers as well.
        let (zxid, count) = self.put_all_out();
        let leader = self.ensemble.borrow().leader();
        if let (Some(zxid), Some(leader)) = (zxid, leader) {
            self.tell_followers(leader, zxid, count);
        }
    }

    /// Gives the last transaction that was committed meanwhile, and how many there were.
    fn put_all_out(self: &Rc<Self>) -> (Option<Zxid>, u64) {
        let mut committed = (None, 0);
        loop {
            let output = self.ensemble.borrow_mut().pop();
            let Some(output) = output else { break };
            self.put_out(output, &mut committed);
        }
        let due = self.ensemble.borrow().due();
        if let Some(at) = due.filter(|at| *at < self.advance_at.get()) {
            self.advance_at.set(at);
            self.plan(at, Due::Advance);
        }
        committed
    }

    fn put_out(self: &Rc<Self>, output: Output, committed: &mut (Option<Zxid>, u64)) {
        let free_at = |server: Server| self.servers.borrow()[server].free_at.max(self.now());
        match output {
            Output::Connected { server, conn, answer } => {
                self.send_down(free_at(server), conn, Down::Connected(Box::new(answer)));
            }
            Output::Reply { server, conn, xid, zxid, result } => {
                let at = self.worked(free_at(server), self.timing.listing_us(&result));
                self.servers.borrow_mut()[server].free_at = at;
                if let Some(at) = self.sprung(conn, xid, at) {
                    self.send_down(at, conn, Down::Reply(xid, zxid, Box::new(result)));
                }
            }
            Output::Event { server, conn, event } => {
                let at = self.worked(free_at(server), self.timing.notify_us);
                self.servers.borrow_mut()[server].free_at = at;
                self.send_down(at, conn, Down::Event(Box::new(event)));
            }
            Output::Close { server, conn } => {
                self.lines.borrow_mut()[conn as usize].server_open = false;
                self.send_down(free_at(server), conn, Down::Closed);
            }
            Output::Forward { server, ticket, writes } => self.forward(server, ticket, writes, free_at(server)),
            Output::Committed { zxid } => *committed = (Some(zxid), committed.1 + 1),
            Output::Changed { zxid, change } => {
                if let Some(stage) = self.stage() {
                    stage.owners.borrow_mut().take(self, zxid, &change);
                }
            }
            Output::Role { server, role } => self.role_changed(server, role),
        }
    }

    fn forward(&self, server: Server, ticket: Ticket, writes: bool, at: Micros) {
        let Some(leader) = self.ensemble.borrow().leader() else { return };
        let due = Due::Job(leader, Job::Order(ticket, writes));
        if leader == server {
            self.plan(at, due);
        } else {
            self.send_between(server, leader, at + self.timing.between_servers_us, due);
        }
    }

    fn send_down(&self, at: Micros, conn: Conn, down: Down) {
        let host = self.lines.borrow()[conn as usize].host;
        let arrives = at + self.latency(host);
        let mut lines = self.lines.borrow_mut();
        let line = &mut lines[conn as usize];
        line.down_at = line.down_at.max(arrives);
        let at = line.down_at;
        drop(lines);
        self.plan(at, Due::Down(conn, down));
    }

    /// The server's end of a connection is reset.
    pub(super) fn server_loses(self: &Rc<Self>, conn: Conn) {
        let server = {
            let mut lines = self.lines.borrow_mut();
            let line = &mut lines[conn as usize];
            if !std::mem::replace(&mut line.server_open, false) {
                return;
            }
            line.server
        };
        self.ensemble.borrow_mut().disconnected(self.now(), server, conn);
        self.carry_out();
    }

    // ---- faults on servers

    pub(super) fn start_server(self: &Rc<Self>, server: Server) {
        self.servers.borrow_mut()[server] = ServerSide { running: true, ..ServerSide::default() };
        self.ensemble.borrow_mut().start(self.now(), server);
        self.carry_out();
        self.quorum_may_be_back();
    }

    /// Its connections are reset; its data stays.
    pub(super) fn kill_server(self: &Rc<Self>, server: Server) {
        self.servers.borrow_mut()[server] = ServerSide::default();
        self.ensemble.borrow_mut().kill(self.now(), server);
        let gone: Vec<(Conn, u16)> = {
            let mut lines = self.lines.borrow_mut();
            let of_it = lines.iter_mut().enumerate().filter(|(_, line)| line.server == server && line.server_open);
            of_it
                .map(|(conn, line)| {
                    line.server_open = false;
                    (conn as Conn, line.host)
                })
                .collect()
        };
        for (conn, host) in gone {
            let at = self.now() + self.latency(host);
            self.plan(at, Due::Down(conn, Down::Closed));
        }
        self.carry_out();
    }

    pub(super) fn pause_server(self: &Rc<Self>, server: Server) {
        self.servers.borrow_mut()[server].paused = true;
        self.ensemble.borrow_mut().pause(self.now(), server);
        self.carry_out();
        self.server_may_have_changed(server);
    }

    pub(super) fn resume_server(self: &Rc<Self>, server: Server) {
        {
            let mut servers = self.servers.borrow_mut();
            let side = &mut servers[server];
            side.paused = false;
            side.free_at = side.free_at.max(self.now());
            self.call(server, side);
        }
        self.ensemble.borrow_mut().resume(self.now(), server);
        self.carry_out();
        // Only now: what it was when it was stopped is over if the others have gone on without it.
        self.server_may_have_changed(server);
        self.quorum_may_be_back();
    }

    /// Parts servers from all others, or joins them again.
    pub(super) fn part_servers(self: &Rc<Self>, away: &[Server], parted: bool) {
        let count = self.servers.borrow().len();
        for &a in away {
            for b in (0..count).filter(|b| !away.contains(b)) {
                let mut ensemble = self.ensemble.borrow_mut();
                if parted {
                    self.parted.borrow_mut().push((a, b));
                    ensemble.part(self.now(), a, b);
                } else {
                    self.parted.borrow_mut().retain(|pair| *pair != (a, b));
                    ensemble.join(self.now(), a, b);
                }
                drop(ensemble);
                self.hearing_changed(a, b, parted);
            }
        }
        self.carry_out();
        self.quorum_may_be_back();
    }
}
