//! The leader's decisions, and how they reach the other servers.

use super::acl::VerifiedIdentities;
use super::apply::TransactionReply;
use super::clients::origin_of;
use super::ensemble::Ensemble;
use super::forwarded::{ForwardedKind, ForwardedRequest};
use super::interface::{Output, Server, Ticket};
use super::lead::{DeferredWork, LeaderState};
use super::op::{Code, Micros, Request, Response, SessionId, Zxid};
use super::prep::{self, PrepRequestProcessor};
use super::server::LeaderAnswer;
use super::txn::{Change, Origin, Txn};

impl Ensemble {
    /// The leader takes a request that [`Output::Forward`] announced. The origin knows the result once it has applied
    /// everything up to the returned zxid. `None`: the request is void, or it waits until the leader has a quorum
    /// again. An [`Output::Committed`] announces that.
    pub fn order(&mut self, now: Micros, ticket: Ticket) -> Option<Zxid> {
        let server = origin_of(ticket);
        let conn = self.members.get(server)?.tickets.get(&ticket)?.conn;
        let leader = self.leader_of(server)?;
        if !self.can_communicate(server, leader) {
            self.members[server].held.push(ticket);
            return None;
        }
        // A connection's requests do not overtake each other.
        while let Some(earlier) = self.unordered_before(server, conn, ticket) {
            self.take(now, leader, server, earlier);
        }
        let zxid = self.take(now, leader, server, ticket);
        self.take_early(now);
        zxid
    }

    fn unordered_before(&mut self, server: Server, conn: u64, ticket: Ticket) -> Option<Ticket> {
        let connection = self.members[server].conns.get_mut(&conn)?;
        let earlier = connection.unordered.pop_front_if(|earlier| *earlier <= ticket)?;
        (earlier < ticket).then_some(earlier)
    }

    /// `server` applies all transactions committed up to `zxid`. Its clients' answers and watch events are output.
    pub fn apply(&mut self, now: Micros, server: Server, zxid: Zxid) {
        let Some(leader) = self.leader_of(server).filter(|leader| self.can_communicate(server, *leader)) else {
            return;
        };
        if leader != server {
            self.members[server].apply_up_to(zxid, &self.log, &mut self.out);
            self.take_early(now);
        }
    }

    /// A follower reports the sessions that it had contact with since its last report. Their timeouts restart now.
    pub fn hand_over_touches(&mut self, now: Micros, server: Server) {
        let Some(leader) = self.leader_of(server).filter(|leader| self.can_communicate(server, *leader)) else {
            return;
        };
        let touched = std::mem::take(&mut self.members[server].touched);
        for &(conn, session, timeout_ms) in &touched {
            if let Some(connection) = self.members[server].conns.get_mut(&conn) {
                connection.is_touched = false;
            }
            if let Some(lead) = &mut self.members[leader].lead {
                lead.tracker.touch(now, session, timeout_ms);
            }
        }
    }

    /// The leader of this server, which may be the server itself.
    pub(super) fn leader_of(&self, server: Server) -> Option<Server> {
        let member = self.members.get(server)?;
        if member.lead.is_some() {
            return Some(server);
        }
        member.follow.map(|follow| follow.leader).filter(|leader| self.members[*leader].lead.is_some())
    }

    fn take(&mut self, now: Micros, leader: Server, server: Server, ticket: Ticket) -> Option<Zxid> {
        let forwarded = self.members[server].tickets.remove(&ticket)?;
        let can_commit = self.has_quorum(leader);
        let stalled = &mut self.members[leader].lead.as_mut()?.stalled;
        let waits = match &forwarded.asked {
            ForwardedKind::Move { .. } => false,
            ForwardedKind::Request { request: Request::Sync { .. }, .. } => !stalled.is_empty(),
            ForwardedKind::Open { .. } | ForwardedKind::Request { .. } => !stalled.is_empty() || !can_commit,
        };
        if waits {
            stalled.push_back(DeferredWork::Ticket { server, ticket, forwarded });
            return None;
        }
        Some(self.decide(now, leader, server, ticket, forwarded))
    }

    fn decide(
        &mut self,
        now: Micros,
        leader: Server,
        server: Server,
        ticket: Ticket,
        forwarded: ForwardedRequest,
    ) -> Zxid {
        let ForwardedRequest { conn, session, asked } = forwarded;
        let zxid = self.members[leader].last_zxid;
        let origin = Some(Origin { server, conn });
        let lead = self.lead_mut(leader);
        let (request, proven) = match asked {
            ForwardedKind::Open { timeout_ms } => {
                lead.tracker.track(now, session, timeout_ms, Some(server));
                return self.commit(now, leader, origin, Change::CreateSession { session, timeout_ms });
            }
            ForwardedKind::Move { timeout_ms } => {
                let is_valid = lead.tracker.touch(now, session, timeout_ms);
                lead.tracker.set_owner(session, server);
                self.members[server].awaited.insert((zxid, ticket), LeaderAnswer::Moved { conn, is_valid });
                return zxid;
            }
            ForwardedKind::Request { request, proven } => (request, proven),
        };
        match request {
            Request::CloseSession => self.commit_close(now, leader, origin, session),
            Request::Sync { path } => {
                let answer = lead.tracker.check(session, server).map(|()| Response::Path(path));
                self.sync(leader, server, ticket, conn, answer);
                zxid
            }
            request => {
                let checked = lead.tracker.check(session, server);
                let change = checked.and_then(|()| self.prepare(leader, session, request, &proven));
                self.commit(now, leader, origin, change.unwrap_or_else(Change::Error))
            }
        }
    }

    fn sync(&mut self, leader: Server, server: Server, ticket: Ticket, conn: u64, answer: TransactionReply) {
        let zxid = self.members[leader].last_zxid;
        let Self { members, log, out, .. } = self;
        members[server].awaited.insert((zxid, ticket), LeaderAnswer::Synced { conn, answer });
        if leader == server {
            members[server].apply_up_to(zxid, log, out);
        }
    }

    fn prepare(
        &mut self,
        leader: Server,
        session: SessionId,
        request: Request,
        proven: &VerifiedIdentities,
    ) -> Result<Change, Code> {
        if !self.lead_mut(leader).wrapped.is_empty() {
            let arrived = self.applied_by_a_quorum();
            self.lead_mut(leader).wrapped.settle(arrived);
        }
        let member = &self.members[leader];
        let wrapped = &member.lead.as_ref().expect("only a leader decides").wrapped;
        let mut prep = PrepRequestProcessor::new(&member.tree, session, proven, wrapped);
        match request {
            Request::Create { path, data, acl, kind, with_stat } => prep.create(&path, &data, &acl, kind, with_stat),
            Request::Delete { path, version } => prep.delete(&path, version),
            Request::SetData { path, data, version } => prep.set_data(&path, &data, version),
            Request::SetAcl { path, acl, version } => prep.set_acl(&path, &acl, version),
            Request::Multi(steps) => Ok(prep.multi(&steps)),
            _ => Err(Code::Unimplemented),
        }
    }

    pub(super) fn commit_close(
        &mut self,
        now: Micros,
        leader: Server,
        origin: Option<Origin>,
        session: SessionId,
    ) -> Zxid {
        self.lead_mut(leader).tracker.remove(session);
        let keep_ephemerals = self.options.bugs.keep_ephemerals;
        self.commit(now, leader, origin, Change::CloseSession { session, keep_ephemerals })
    }

    fn lead_mut(&mut self, leader: Server) -> &mut LeaderState {
        self.members[leader].lead.as_mut().expect("only a leader decides")
    }

    /// Assigns the change its place in the log, logs it at all servers in contact, and applies it at the leader.
    pub(super) fn commit(&mut self, now: Micros, leader: Server, origin: Option<Origin>, change: Change) -> Zxid {
        let zxid = self.members[leader].last_zxid + 1;
        let member = &mut self.members[leader];
        if let Some(lead) = &mut member.lead {
            lead.wrapped.note(&member.tree, &change, zxid);
        }
        let time_ms = self.options.epoch_ms + (now / 1_000) as i64;
        self.log.push(Txn { zxid, time_ms, origin, change });
        let end = self.log.end();
        for server in 0..self.members.len() {
            if server == leader || self.is_connected_follower(leader, server) {
                self.members[server].logged = end;
            }
        }
        let Self { members, log, out, .. } = self;
        members[leader].apply_before(end, log, out);
        if members.len() > 1 {
            out.push_back(Output::Committed { zxid });
        }
        if log.is_long() {
            let serving = members.iter().filter(|member| member.is_serving());
            let needed = serving.map(|member| member.applied).min().unwrap_or(end);
            log.trim(needed);
        }
        zxid
    }

    /// The zxid up to which a quorum of the servers has applied the log.
    fn applied_by_a_quorum(&self) -> Zxid {
        let mut applied: Vec<Zxid> = self.members.iter().map(|member| member.last_zxid).collect();
        applied.sort_unstable();
        applied[applied.len() - self.quorum()]
    }

    /// Decides the requests that waited for a quorum, if there is one.
    pub(super) fn order_stalled(&mut self, now: Micros, leader: Server) {
        while self.has_quorum(leader) {
            let Some(lead) = &mut self.members[leader].lead else { return };
            match lead.stalled.pop_front() {
                None => return,
                Some(DeferredWork::Ticket { server, ticket, forwarded }) => {
                    self.decide(now, leader, server, ticket, forwarded);
                    self.announce(leader);
                }
                Some(DeferredWork::Expire(session)) => self.expire(now, leader, session),
                Some(DeferredWork::Reap(path)) => self.reap(now, leader, path),
            }
        }
    }

    /// Orders the requests that could not reach the leader earlier.
    pub(super) fn order_held(&mut self, now: Micros, server: Server) {
        for ticket in std::mem::take(&mut self.members[server].held) {
            self.order(now, ticket);
        }
        if let Some(leader) = self.leader_of(server) {
            self.announce(leader);
        }
    }

    /// Makes the driver bring all servers up to date, where they may have missed a commit.
    pub(super) fn announce(&mut self, leader: Server) {
        if self.members.len() > 1 {
            self.out.push_back(Output::Committed { zxid: self.members[leader].last_zxid });
        }
    }

    /// Expires a session.
    pub(super) fn expire(&mut self, now: Micros, leader: Server, session: SessionId) {
        if self.must_wait(leader, || DeferredWork::Expire(session)) {
            return;
        }
        self.members[leader].stale_sessions_expired += 1;
        self.commit_close(now, leader, None, session);
    }

    /// Removes a container, if that is still possible.
    pub(super) fn reap(&mut self, now: Micros, leader: Server, path: String) {
        if self.must_wait(leader, || DeferredWork::Reap(path.clone())) {
            return;
        }
        let change = prep::reap(&self.members[leader].tree, &path);
        self.commit(now, leader, None, change.unwrap_or_else(Change::Error));
    }

    /// Queues the action if nothing can be committed now.
    fn must_wait(&mut self, leader: Server, what: impl FnOnce() -> DeferredWork) -> bool {
        let can_commit = self.has_quorum(leader);
        if !can_commit {
            self.lead_mut(leader).stalled.push_back(what());
        }
        !can_commit
    }
}
