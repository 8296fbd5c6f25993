//! The processes of a simulated host: started, stopped, continued, killed.

use std::collections::VecDeque;
use std::rc::Rc;

use futures::future::{AbortHandle, Abortable, FutureExt as _};
use hustings_record::Event;

use super::event_sink::Writer;
use super::process::SimProcess;
use super::recipe_slot::RecipeSlot;
use super::sim_cell::SimCell;
use super::slot::SimSlot;
use super::world::{ScheduledEvent, SimWorld};
use crate::driver::{SessionClosure, Sessions, live};
use crate::host::Predecessor;
use crate::model::Micros;
use crate::scenario::Cell;

/// Delay before a supervisor restarts a fenced host.
const SUPERVISED_US: Micros = 100_000;

impl SimCell {
    /// Starts a host's process; its candidates do not enrol yet.
    pub(super) fn start_host(self: &Rc<Self>, host: u16) {
        let world = &self.world;
        let place = &self.hosts[usize::from(host)];
        let generation = place.generation.get();
        world.network.hosts.borrow_mut()[usize::from(host)].alive = true;
        world.record(Writer::Host(host), Event::HostStarted { t: world.clock.nanos(), host, generation, pid: 0 });
        let placed: Vec<(u32, u32)> = {
            let leaders = self.state.leaders.borrow();
            leaders.on_host(host).filter_map(|cand| Some((cand, leaders.group_of(cand)?))).collect()
        };
        self.living.set(self.living.get() + placed.len() as u64);
        for (cand, group) in placed {
            let slot = SimSlot::new(cand, group, host);
            self.slots.borrow_mut()[cand as usize] = slot;
            world.record(Writer::Host(host), Event::Candidate { t: world.clock.nanos(), cand, group });
        }
    }

    /// Lets a candidate enrol, unless it already has or its process is dead; a restarted process enrols it again.
    pub(super) fn enrol(self: &Rc<Self>, cand: u32) {
        let (abort, registration) = AbortHandle::new_pair();
        let begins = |slot: &Rc<SimSlot>| !slot.dead.get() && slot.abort.set(abort).is_ok();
        let Some(slot) = self.slot(cand).filter(begins) else { return };
        // Aborted when its process is killed.
        self.world.spawn(Abortable::new(live_on(self.clone(), slot), registration).map(drop));
    }

    /// Kills a host's process: its connections close, its sessions are left to expire. False: it was dead already.
    pub(super) fn kill_host(self: &Rc<Self>, host: u16) -> bool {
        let world = &self.world;
        let clients = {
            let mut hosts = world.network.hosts.borrow_mut();
            let side = &mut hosts[usize::from(host)];
            if !std::mem::replace(&mut side.alive, false) {
                return false;
            }
            side.paused = false;
            side.inbox.clear();
            std::mem::take(&mut side.clients)
        };
        clients.into_iter().for_each(|client| world.die(client));
        let placed: Vec<u32> = self.state.leaders.borrow().on_host(host).collect();
        self.living.set(self.living.get() - placed.len() as u64);
        for cand in placed {
            let gone = self.slots.borrow()[cand as usize].clone();
            gone.reap();
            self.stands(&gone, false);
            gone.abort.get().inspect(|abort| abort.abort());
        }
        self.state.leaders.borrow_mut().forget_host(host);
        self.host_ended(host, true);
        self.changes.tell();
        true
    }

    /// Records that a host's process has ended.
    pub(super) fn host_ended(&self, host: u16, killed: bool) {
        let (t, generation) = (self.world.clock.nanos(), self.generation(host));
        let status = if killed { "killed" } else { "ended" }.to_owned();
        self.world.record(Writer::Coordinator, Event::HostEnded { t, host, generation, killed, status, rss_max_kb: 0 });
    }

    /// Restarts a dead host's process; its candidates enrol again.
    pub(super) fn restart_host(self: &Rc<Self>, host: u16) {
        if self.world.network.is_alive(host) {
            return;
        }
        let of_host = &self.hosts[usize::from(host)];
        of_host.generation.set(of_host.generation.get() + 1);
        of_host.sessions.replace(sessions(&self.world, &self.state.cell, host));
        self.start_host(host);
        let placed: Vec<u32> = self.state.leaders.borrow().on_host(host).collect();
        placed.into_iter().for_each(|cand| self.enrol(cand));
    }

    /// Fences a former leader by killing its host, if it still leads there; a supervisor restarts the host.
    pub(super) fn fell(self: &Rc<Self>, old: &Predecessor) {
        // A process started since then never led under that session.
        let led = |slot: Rc<SimSlot>| slot.host == old.host && slot.session.get() == old.token.session;
        let leads = self.slot(old.candidate).is_some_and(|slot| !slot.dead.get() && led(slot));
        if leads && self.kill_host(old.host) {
            let (sim, host) = (self.clone(), old.host);
            self.world.clock.later(self.world.clock.now() + SUPERVISED_US, move || sim.restart_host(host));
        }
    }

    /// The generation of a host's process, from 0.
    pub(super) fn generation(&self, host: u16) -> u32 {
        self.hosts[usize::from(host)].generation.get()
    }
}

impl SimWorld {
    pub(super) fn pause_host(&self, host: u16) -> bool {
        let mut hosts = self.network.hosts.borrow_mut();
        let side = &mut hosts[usize::from(host)];
        side.alive && !std::mem::replace(&mut side.paused, true)
    }

    /// The process continues. Its own timers have run out in the meantime and fire at once, one after the other. Its
    /// client's thread follows a moment later. Whether that thread first checks its clocks or its input is random. All
    /// of this takes the host's time, during which the process keeps its old state.
    pub(super) fn continue_host(&self, host: u16) -> bool {
        let inbox = {
            let mut hosts = self.network.hosts.borrow_mut();
            let side = &mut hosts[usize::from(host)];
            if !std::mem::replace(&mut side.paused, false) {
                return false;
            }
            std::mem::take(&mut side.inbox)
        };
        let (now, each_us) = (self.clock.now(), self.timing.client_us.max(1));
        let is_own = |due: &ScheduledEvent| matches!(due, ScheduledEvent::Wake(..) | ScheduledEvent::Host(..));
        let (own, clients): (VecDeque<ScheduledEvent>, VecDeque<ScheduledEvent>) = inbox.into_iter().partition(is_own);
        let mut own_at = now;
        for due in own {
            own_at = self.worked(own_at, each_us);
            self.clock.plan(own_at, due);
        }
        let mut client_at = now + self.draw(2 * self.timing.waking_us + 1);
        let is_message = |due: &ScheduledEvent| matches!(due, ScheduledEvent::Taken(..) | ScheduledEvent::Down(..));
        let (mut messages, mut clocks): (VecDeque<ScheduledEvent>, VecDeque<ScheduledEvent>) =
            clients.into_iter().partition(is_message);
        loop {
            let (first, second) =
                if self.draw(2) == 0 { (&mut messages, &mut clocks) } else { (&mut clocks, &mut messages) };
            let Some(due) = first.pop_front().or_else(|| second.pop_front()) else { break };
            client_at = self.worked(client_at, each_us);
            self.clock.plan(client_at, due);
        }
        let side = &mut self.network.hosts.borrow_mut()[usize::from(host)];
        side.free_at = side.free_at.max(own_at).max(client_at);
        true
    }
}

/// The sessions for the candidates of a new process: none has one yet.
pub(super) fn sessions(world: &Rc<SimWorld>, cell: &Cell, host: u16) -> Rc<Sessions<SimProcess>> {
    let process = SimProcess { world: world.clone(), host, timeout_ms: cell.session_timeout_ms };
    Rc::new(Sessions::new(Rc::new(process), cell.sessions, cell.connect_concurrency))
}

async fn live_on(sim: Rc<SimCell>, slot: Rc<SimSlot>) {
    let held = RecipeSlot { sim, slot };
    let RecipeSlot { sim, slot } = &held;
    let sessions = sim.hosts[usize::from(slot.host)].sessions.borrow().clone();
    if live(&held, &sessions, &sim.elections[slot.group as usize]).await == SessionClosure::Unanswered {
        sim.world.note(Writer::Host(slot.host), Some(slot.cand), "the close of a session was not answered");
    }
    slot.over.set(true);
}
