//! The processes of a simulated host: started, stopped, continued, killed.

use std::collections::VecDeque;
use std::rc::Rc;

use futures::future::{AbortHandle, Abortable, FutureExt as _};

use super::life::live;
use super::seat::Seat;
use super::stage::Stage;
use super::witness::{By, Saw};
use super::world::Due;
use crate::booth::Predecessor;
use crate::model::Micros;

/// A supervisor starts a fenced host again after this.
const SUPERVISED_US: Micros = 100_000;

impl Stage {
    /// Starts a host's process, without letting anybody stand yet.
    pub(super) fn start_host(self: &Rc<Self>, host: u16) {
        let world = &self.world;
        let life = self.hosts[usize::from(host)].life.get();
        world.hosts.borrow_mut()[usize::from(host)].alive = true;
        world.saw(By::Host(host), Saw::HostStarted { host, life });
        let placed: Vec<(u32, u32)> = {
            let leaders = self.leaders.borrow();
            leaders.on_host(host).filter_map(|cand| Some((cand, leaders.group_of(cand)?))).collect()
        };
        self.living.set(self.living.get() + placed.len() as u64);
        for (cand, group) in placed {
            let seat = Seat::new(self.clone(), cand, group, host);
            self.seats.borrow_mut()[cand as usize] = seat;
            world.saw(By::Host(host), Saw::Candidate { cand, group });
        }
    }

    /// Lets a candidate stand, unless it does already or its process is dead: with that it stands again.
    pub(super) fn enrol(self: &Rc<Self>, cand: u32) {
        let Some(seat) = self.seat(cand).filter(|seat| !seat.dead.get() && !seat.lives.replace(true)) else { return };
        let (abort, registration) = AbortHandle::new_pair();
        self.aborts.borrow_mut()[cand as usize] = abort;
        // Aborted: its process was killed.
        self.world.spawn(Abortable::new(live(seat), registration).map(drop));
    }

    /// Kills a host's process: its connections are closed, its sessions left to expire. False: it was dead already.
    pub(super) fn kill_host(self: &Rc<Self>, host: u16) -> bool {
        let world = &self.world;
        let clients = {
            let mut hosts = world.hosts.borrow_mut();
            let side = &mut hosts[usize::from(host)];
            if !std::mem::replace(&mut side.alive, false) {
                return false;
            }
            side.paused = false;
            side.inbox.clear();
            std::mem::take(&mut side.clients)
        };
        clients.into_iter().for_each(|client| world.die(client));
        let placed: Vec<u32> = self.leaders.borrow().on_host(host).collect();
        self.living.set(self.living.get() - placed.len() as u64);
        for cand in placed {
            let gone = self.seats.borrow()[cand as usize].clone();
            if !gone.dead.get() {
                gone.bury();
            }
            self.aborts.borrow()[cand as usize].abort();
        }
        self.leaders.borrow_mut().forget_host(host);
        let life = self.hosts[usize::from(host)].life.get();
        world.saw(By::Coordinator, Saw::HostEnded { host, life, killed: true });
        self.touch();
        true
    }

    /// Starts a dead host's process again; its candidates stand again.
    pub(super) fn restart_host(self: &Rc<Self>, host: u16) {
        if self.world.hosts.borrow()[usize::from(host)].alive {
            return;
        }
        let stage = &self.hosts[usize::from(host)];
        stage.life.set(stage.life.get() + 1);
        stage.turns.reset(self.cell.connect_concurrency);
        // The dead process let go of everything.
        if let Some(mut common) = stage.common.try_lock() {
            common.take();
        }
        self.start_host(host);
        let placed: Vec<u32> = self.leaders.borrow().on_host(host).collect();
        placed.into_iter().for_each(|cand| self.enrol(cand));
    }

    /// Fences a former leader off by killing its host, if it still leads there; a supervisor starts it again.
    pub(super) fn fell(self: &Rc<Self>, old: &Predecessor) {
        let leads = self.seat(old.candidate).is_some_and(|seat| seat.host == old.host && !seat.dead.get());
        if leads && self.kill_host(old.host) {
            let (stage, host) = (self.clone(), old.host);
            self.world.later(self.world.now() + SUPERVISED_US, move |_| stage.restart_host(host));
        }
    }

    pub(super) fn pause_host(&self, host: u16) -> bool {
        let mut hosts = self.world.hosts.borrow_mut();
        let side = &mut hosts[usize::from(host)];
        side.alive && !std::mem::replace(&mut side.paused, true)
    }

    /// The process goes on. When it looks at its clocks and when at what has come in meanwhile, nobody can say.
    pub(super) fn continue_host(&self, host: u16) -> bool {
        let world = &self.world;
        let inbox = {
            let mut hosts = world.hosts.borrow_mut();
            let side = &mut hosts[usize::from(host)];
            if !std::mem::replace(&mut side.paused, false) {
                return false;
            }
            std::mem::take(&mut side.inbox)
        };
        let is_message = |due: &Due| matches!(due, Due::Taken(..) | Due::Down(..));
        let (mut messages, mut clocks): (VecDeque<Due>, VecDeque<Due>) = inbox.into_iter().partition(is_message);
        loop {
            let (first, second) =
                if world.draw(2) == 0 { (&mut messages, &mut clocks) } else { (&mut clocks, &mut messages) };
            let Some(due) = first.pop_front().or_else(|| second.pop_front()) else { return true };
            world.plan(world.now(), due);
        }
    }
}
