//! Leaders and followers: how servers notice each other's loss and return, and the role changes that follow.

use super::ensemble::Ensemble;
use hustings_record::ServerState;

use super::interface::{Output, Server};
use super::lead::{LeaderState, WrappedCounters};
use super::op::Micros;
use super::server::FollowerState;
use super::sessions::Tracker;

impl Ensemble {
    /// Checks which servers can communicate, and applies all role changes that are due.
    pub(super) fn reconsider(&mut self, now: Micros) {
        while self.notice_losses(now) {}
        self.notice_reunions(now);
        loop {
            self.watch_the_quorum(now);
            if !self.elect_if_due(now) && !self.join_if_due(now) {
                return;
            }
        }
    }

    /// Whether the leader can commit: enough followers can communicate with it.
    pub(super) fn has_quorum(&self, leader: Server) -> bool {
        let heard = (0..self.members.len()).filter(|server| self.is_connected_follower(leader, *server)).count();
        heard + 1 >= self.quorum()
    }

    pub(super) fn is_connected_follower(&self, leader: Server, server: Server) -> bool {
        self.members[server].follow.is_some_and(|follow| follow.leader == leader && !follow.is_dropped)
            && self.can_communicate(leader, server)
    }

    fn sync_limit(&self) -> Micros {
        self.options.sync_limit * self.options.tick_ms * 1_000
    }

    /// One round; true when anything has changed.
    fn notice_losses(&mut self, now: Micros) -> bool {
        let mut changed = false;
        for server in 0..self.members.len() {
            let is_paused = self.members[server].is_paused;
            if let Some(follow) = self.members[server].follow {
                if let Some(follow) = self.after_silence(now, server, follow) {
                    self.members[server].follow = Some(follow);
                } else if !is_paused {
                    self.look(server);
                    changed = true;
                }
            }
            if self.members[server].state == ServerState::Leading
                && !is_paused
                && self.followers(server) + 1 < self.quorum()
            {
                self.look(server);
                changed = true;
            }
        }
        changed
    }

    /// Number of followers that the leader has not dropped.
    fn followers(&self, leader: Server) -> usize {
        let follows = |follow: FollowerState| follow.leader == leader && !follow.is_dropped;
        self.members.iter().filter(|member| member.follow.is_some_and(follows)).count()
    }

    /// The follower's updated tie to its leader; `None` when the leader is lost.
    fn after_silence(&self, now: Micros, server: Server, mut follow: FollowerState) -> Option<FollowerState> {
        let is_paused = self.members[server].is_paused;
        if self.members[follow.leader].lead.is_none() {
            // A stopped follower learns of it when it resumes.
            follow.is_dropped = true;
            return is_paused.then_some(follow);
        }
        if self.can_communicate(server, follow.leader) {
            // `notice_reunions` clears `silent_since`.
            return (!follow.is_dropped).then_some(follow);
        }
        let since = *follow.silent_since.get_or_insert(now);
        if now < since + self.sync_limit() {
            return Some(follow);
        }
        if is_paused {
            follow.is_dropped |= !self.members[follow.leader].is_paused;
            return Some(follow);
        }
        None
    }

    /// Servers that communicate again in time go on unchanged.
    fn notice_reunions(&mut self, now: Micros) {
        for server in 0..self.members.len() {
            let Some(mut follow) = self.members[server].follow else { continue };
            if follow.silent_since.is_none() || !self.can_communicate(server, follow.leader) {
                continue;
            }
            follow.silent_since = None;
            self.members[server].follow = Some(follow);
            self.members[server].logged = self.log.end();
            self.order_stalled(now, follow.leader);
            self.order_held(now, server);
        }
        self.take_early(now);
    }

    /// A server has lost its leader, or its quorum: it closes all connections.
    fn look(&mut self, server: Server) {
        let Self { members, out, .. } = self;
        let member = &mut members[server];
        let mut conns: Vec<_> = member.conns.keys().copied().collect();
        conns.sort_unstable();
        for conn in conns {
            member.close(conn, out);
        }
        member.drop_all();
        self.catch_up_with_own_log(server);
        self.set_state(server, ServerState::NotServing);
    }

    fn is_looking(&self, server: Server) -> bool {
        self.members[server].state == ServerState::NotServing && !self.members[server].is_paused
    }

    /// Starts and stops the clocks of elections and of joining.
    fn watch_the_quorum(&mut self, now: Micros) {
        let electorate = self.electorate().unwrap_or_default();
        let heard = |server| electorate.iter().all(|other| self.can_communicate(server, *other));
        let lost = |server| !self.is_looking(server) || electorate.is_empty() || !heard(server);
        if self.vote.is_some_and(|(favourite, _)| lost(favourite)) {
            self.vote_anew();
        }
        let favourite = self.best_of(electorate);
        self.vote = favourite.map(|favourite| (favourite, self.vote.map_or(now, |(_, since)| since)));
        for server in 0..self.members.len() {
            let leader = (0..self.members.len()).filter(|_| self.is_looking(server)).find(|leader| {
                self.members[*leader].lead.is_some()
                    && self.can_communicate(server, *leader)
                    && self.has_quorum(*leader)
            });
            let joining = self.members[server].joining;
            self.members[server].joining =
                leader.map(|leader| joining.filter(|(wanted, _)| *wanted == leader).unwrap_or((leader, now)));
        }
    }

    /// The largest set of looking servers that can all communicate, if it is a quorum.
    fn electorate(&self) -> Option<Vec<Server>> {
        let looking: Vec<_> = (0..self.members.len()).filter(|server| self.is_looking(*server)).collect();
        let mut best = Vec::new();
        if looking.len() >= self.quorum() {
            self.grow(&mut Vec::new(), &looking, &mut best);
        }
        (best.len() >= self.quorum()).then_some(best)
    }

    /// Adds each of `rest` to the set in turn, and keeps the largest set found.
    fn grow(&self, set: &mut Vec<Server>, rest: &[Server], best: &mut Vec<Server>) {
        if set.len() > best.len() {
            best.clone_from(set);
        }
        for (at, &server) in rest.iter().enumerate() {
            if set.len() + rest.len() - at <= best.len() {
                return;
            }
            let heard: Vec<_> =
                rest[at + 1..].iter().copied().filter(|other| self.can_communicate(server, *other)).collect();
            set.push(server);
            self.grow(set, &heard, best);
            set.pop();
        }
    }

    fn elect_if_due(&mut self, now: Micros) -> bool {
        let due = self.election_due();
        let Some((leader, _)) = self.vote.take_if(|_| due <= Some(now)) else { return false };
        self.epoch += 1;
        self.own_log(leader);
        let epoch = self.epoch;
        let member = &mut self.members[leader];
        member.epoch = epoch;
        member.last_zxid = epoch << 32;
        self.take_the_lead(now, leader);
        self.set_state(leader, ServerState::Leading);
        for server in 0..self.members.len() {
            if self.is_looking(server) && self.can_communicate(server, leader) {
                self.follow(server, leader);
            }
        }
        true
    }

    /// The best vote among these.
    fn best_of(&self, electorate: Vec<Server>) -> Option<Server> {
        let vote = |server: &Server| (self.members[*server].epoch, self.members[*server].last_zxid, *server);
        electorate.into_iter().max_by_key(vote)
    }

    /// The favourite of the vote is gone: the looking servers vote again, and the election time restarts.
    fn vote_anew(&mut self) {
        self.vote = None;
        let looking = (0..self.members.len()).filter(|server| self.is_looking(*server));
        let again: Vec<_> = looking.map(|server| Output::State { server, state: ServerState::NotServing }).collect();
        self.out.extend(again);
    }

    pub(super) fn election_due(&self) -> Option<Micros> {
        self.vote.map(|(_, since)| since + self.options.election_ms * 1_000)
    }

    /// The log continues from this server's data. It lacks transactions only if servers with them were wiped.
    fn own_log(&mut self, leader: Server) {
        if self.members[leader].applied == self.log.end() && !self.members[leader].is_diverged {
            return;
        }
        self.log.clear();
        let end = self.log.end();
        for member in &mut self.members {
            member.is_diverged = true;
        }
        let member = &mut self.members[leader];
        (member.applied, member.logged, member.is_diverged) = (end, end, false);
    }

    /// Starts the clocks of all sessions with a full T.
    fn take_the_lead(&mut self, now: Micros, server: Server) {
        let mut tracker = Tracker::new(self.options.tick_ms);
        let mut sessions: Vec<_> = self.members[server].tree.sessions().collect();
        sessions.sort_unstable();
        for (session, timeout_ms) in sessions {
            tracker.track(now, session, timeout_ms, None);
        }
        let containers_due = now + self.options.container_check_ms * 1_000;
        let lead = LeaderState {
            tracker,
            stalled: std::collections::VecDeque::new(),
            containers_due,
            wrapped: WrappedCounters::default(),
        };
        self.members[server].lead = Some(Box::new(lead));
        self.members[server].joining = None;
    }

    /// The only server of its ensemble needs no election, and begins no epoch.
    pub(super) fn lead_alone(&mut self, now: Micros) {
        self.own_log(0);
        self.take_the_lead(now, 0);
        self.set_state(0, ServerState::Standalone);
    }

    /// Brings a looking server up to date with the leader's data.
    fn follow(&mut self, server: Server, leader: Server) {
        if !self.members[server].is_diverged && self.log.reaches(self.members[server].applied) {
            self.members[server].logged = self.log.end();
            self.catch_up_with_own_log(server);
        } else {
            let tree = self.members[leader].tree.clone();
            self.members[server].tree = tree;
        }
        let (applied, last_zxid, epoch) =
            (self.members[leader].applied, self.members[leader].last_zxid, self.members[leader].epoch);
        let member = &mut self.members[server];
        (member.applied, member.logged, member.last_zxid, member.epoch) = (applied, applied, last_zxid, epoch);
        member.is_diverged = false;
        member.joining = None;
        member.follow = Some(FollowerState { leader, silent_since: None, is_dropped: false });
        self.set_state(server, ServerState::Following);
    }

    fn join_if_due(&mut self, now: Micros) -> bool {
        let mut changed = false;
        for server in 0..self.members.len() {
            let Some((leader, since)) = self.members[server].joining else { continue };
            if since + self.options.election_ms * 1_000 <= now {
                self.follow(server, leader);
                changed = true;
            }
        }
        changed
    }

    /// The latest time of the next change: a noticed loss, or the end of an election or of a joining.
    pub(super) fn change_of_roles_due(&self) -> Option<Micros> {
        let losses = self.members.iter().filter_map(|member| {
            let follow = member.follow.filter(|follow| !follow.is_dropped)?;
            let both_sleep = member.is_paused && self.members[follow.leader].is_paused;
            Some(follow.silent_since.filter(|_| !both_sleep)? + self.sync_limit())
        });
        let joins = self.members.iter().filter_map(|member| member.joining);
        let joins = joins.map(|(_, since)| since + self.options.election_ms * 1_000);
        losses.chain(joins).chain(self.election_due()).min()
    }
}
