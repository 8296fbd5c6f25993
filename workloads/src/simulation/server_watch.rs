//! The servers as the witness is told of them in cells with faults on servers: what each is from when on, and what it logs of
//! elections. No question and no answer are in between, so that nothing is a bracket here.

use std::rc::Rc;

use super::witness::{By, Saw};
use super::world::World;
use crate::model::{Absences, Ballots, Metrics, Role, Said, Server};

/// What is remembered of the servers, whether anybody watches or not.
pub(super) struct ServerWatch {
    ballots: Ballots,
    absences: Vec<Absences>,
    /// What was told last of each server, and how many states were; None while nobody watches.
    told: Option<Vec<(Option<Role>, u64)>>,
}

impl ServerWatch {
    pub(super) fn new(servers: usize) -> Self {
        Self { ballots: Ballots::default(), absences: vec![Absences::default(); servers], told: None }
    }

    /// Adds what the server counts of its absences.
    pub(super) fn count(&self, server: Server, metrics: &mut Metrics) {
        self.absences[server].count(metrics);
    }
}

impl World {
    /// From now on the witness is told of every state of every server.
    pub(super) fn watch_servers(&self) {
        let states: Vec<Option<Role>> = (0..self.servers.borrow().len()).map(|server| self.says(server)).collect();
        self.saw(By::Coordinator, Saw::ServerWatch);
        for (server, role) in states.iter().enumerate() {
            self.tell_state(server, *role);
        }
        self.server_watch.borrow_mut().told = Some(states.into_iter().map(|role| (role, 1)).collect());
    }

    pub(super) fn unwatch_servers(&self) {
        let told = self.server_watch.borrow_mut().told.take();
        for (id, (_, states)) in (1..).zip(told.into_iter().flatten()) {
            self.saw(By::Coordinator, Saw::ServerWatched { server: id, states });
        }
    }

    /// What a server answers to who asks for its role; None: a stopped one takes connections and answers nothing.
    pub(super) fn says(&self, server: Server) -> Option<Role> {
        (!self.servers.borrow()[server].paused).then(|| self.ensemble.borrow().role(server))
    }

    /// Whether clients are served there.
    pub(super) fn serves(&self, server: Server) -> bool {
        matches!(self.says(server), Some(Role::Leading | Role::Following | Role::Standalone))
    }

    /// Tells what a server is now if that is news.
    pub(super) fn server_may_have_changed(&self, server: Server) {
        let now = self.says(server);
        let news = match &mut self.server_watch.borrow_mut().told {
            Some(told) if told[server].0 != now => {
                told[server] = (now, told[server].1 + 1);
                true
            }
            _ => false,
        };
        if news {
            self.tell_state(server, now);
        }
    }

    fn tell_state(&self, server: Server, role: Option<Role>) {
        let zxid = self.ensemble.borrow().last_zxid(server);
        self.saw(By::Coordinator, Saw::Server { server: server as u32 + 1, role, zxid });
    }

    pub(super) fn role_changed(self: &Rc<Self>, server: Server, role: Role) {
        let zxid = self.ensemble.borrow().last_zxid(server);
        let said = {
            let mut watch = self.server_watch.borrow_mut();
            let took_ms = watch.absences[server].has_become(self.now(), role);
            watch.ballots.has_become(server, role, zxid, took_ms)
        };
        self.tell_lines(said);
        self.server_may_have_changed(server);
        if matches!(role, Role::Leading | Role::Standalone) {
            self.quorum_may_be_back();
        }
    }

    /// Two servers hear each other from now on, or do not.
    pub(super) fn hearing_changed(&self, a: Server, b: Server, parted: bool) {
        let said = self.server_watch.borrow_mut().ballots.part(a, b, parted);
        self.tell_lines(said);
    }

    fn tell_lines(&self, said: Vec<(Server, Said)>) {
        if self.server_watch.borrow().told.is_none() {
            return;
        }
        for (server, said) in said {
            self.saw(By::Coordinator, Saw::ServerSaid { server: server as u32 + 1, said });
        }
    }
}
