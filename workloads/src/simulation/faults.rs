//! The actions of fixed schedules on the simulated world, and the evidence that is read from it for proofs.

use std::rc::Rc;

use hustings_record::numbers::to_u32;
use hustings_record::{Direction, Evidence, ModelledLink, Nanos, ProcessFate, Touch};

use super::session::SimSession;
use super::sim_cell::SimCell;
use super::slot::SimSlot;
use super::world::{AnswerSlot, Link, nanos};
use crate::coordination::SessionState;
use crate::driver::{Backend as _, Verification, injection};
use crate::faults::{Fault, LinkSlowdown, Moment, Ms, Restart};
use crate::model::Request;
use crate::plan::{PlannedFault, ResolvedTarget};
use crate::scenario::Target;
use crate::schedule::{Action, LEADER, SERVER_LEADER, ServerOutageKind};

impl SimCell {
    /// When each live session of these hosts last sent bytes up.
    pub(super) fn touches(&self, hosts: &[u16]) -> Vec<Touch> {
        let (sides, clients) = (self.world.network.hosts.borrow(), self.world.clients.borrow());
        let of_hosts = hosts.iter().flat_map(|host| &sides[usize::from(*host)].clients);
        let clients = of_hosts.map(|client| &clients[*client as usize]);
        let live = clients.filter(|client| !matches!(client.state, SessionState::Ended(_)) && client.session != 0);
        live.map(|client| Touch { session: client.session, last_up: nanos(client.last_up) }).collect()
    }

    /// A proof observed at this moment.
    pub(super) fn seen(
        &self,
        verified: bool,
        evidence: String,
        touches: Vec<Touch>,
        seen: Option<Evidence>,
    ) -> Verification {
        let now = self.world.clock.nanos();
        Verification { from: now, to: now, verified, evidence, touches, seen }
    }

    /// The state of the links from these hosts to these servers, or to all if none are given.
    pub(super) fn links(&self, hosts: &[u16], servers: &[u32]) -> Vec<ModelledLink> {
        let sides = self.world.network.hosts.borrow();
        let ids = || (1..=to_u32(self.world.servers.count())).filter(|id| servers.is_empty() || servers.contains(id));
        let of = |host: u16, server: u32| {
            let link = &sides[usize::from(host)].link;
            let place = server as usize - 1;
            let held = match (link.holds_up(place), link.holds_down(place)) {
                (true, true) => Some(Direction::Both),
                (true, false) => Some(Direction::Up),
                (false, true) => Some(Direction::Down),
                (false, false) => None,
            };
            ModelledLink { host, server, held, slow: link.slow != LinkSlowdown::default() }
        };
        hosts.iter().flat_map(|&host| ids().map(move |server| (host, server))).map(|(h, s)| of(h, s)).collect()
    }

    /// The state of the processes of these hosts.
    pub(super) fn processes(&self, hosts: &[u16]) -> Evidence {
        let sides = self.world.network.hosts.borrow();
        let fate = |host: u16| match &sides[usize::from(host)] {
            side if !side.alive => ProcessFate::Ended,
            side if side.paused => ProcessFate::Stopped,
            _ => ProcessFate::Kept,
        };
        Evidence::of_processes(hosts.iter().map(|&host| (host, fate(host))).collect())
    }

    pub(super) fn slow(&self, hosts: &[u16], how: &LinkSlowdown) {
        let mut sides = self.world.network.hosts.borrow_mut();
        hosts.iter().for_each(|host| sides[usize::from(*host)].link.slow = how.clone());
    }

    /// A term begins.
    pub(super) fn leads(self: &Rc<Self>, cand: u32, nth: u32) {
        let due = self.on_leading.borrow_mut().remove(&(cand, nth));
        due.into_iter().flatten().for_each(|action| self.act(action));
    }

    /// Performs an action of a fixed schedule, with a fault and a verification in the record if there is a kind for it.
    pub(super) fn act(self: &Rc<Self>, action: Action) {
        let world = &self.world;
        let of = |cand: u32| self.whom(cand);
        match action {
            Action::Disconnect(cand) => self.fault(Fault::Disconnect, cand),
            Action::Expire(cand) => self.fault(Fault::Expire, cand),
            Action::Resign(cand) => self.fault(Fault::Resign, cand),
            Action::Pause { cand, for_ms } => self.fault(Fault::Pause { lasts: Ms { for_ms } }, cand),
            Action::Crash { cand, for_ms } => {
                self.fault(Fault::Crash { lasts: for_ms.map(|for_ms| Ms { for_ms }) }, cand);
            }
            Action::Partition { cand, way, for_ms } => {
                let lasts = Ms { for_ms };
                let fault = match way {
                    Direction::Both => Fault::Partition { lasts },
                    Direction::Up => Fault::PartitionUp { lasts },
                    Direction::Down => Fault::PartitionDown { lasts },
                };
                self.fault(fault, cand);
            }
            Action::DeleteParent => self.fault(Fault::ParentDelete, LEADER),
            Action::DeleteNode(cand) => {
                let node = of(cand).and_then(|slot| slot.node.borrow().clone().map(|node| (slot.group, node)));
                let admin = self.admin.borrow().as_ref().map(SimSession::client);
                if let (Some((group, node)), Some(admin)) = (node, admin) {
                    let path = format!("{}/{node}", self.elections[group as usize].path);
                    let request = Request::Delete { path, version: crate::model::ANY_VERSION };
                    world.send(admin, request, AnswerSlot::default());
                }
            }
            Action::Lag { cand, by_ms } => {
                let conn = of(cand).and_then(|slot| slot.client.get());
                let conn = conn.and_then(|client| world.clients.borrow()[client as usize].conn);
                if let Some(conn) = conn {
                    let server = world.network.server_of(conn);
                    world.servers.sides.borrow_mut()[server].lag_us = by_ms * 1_000;
                }
            }
            Action::Close(cand) => {
                if let Some(client) = of(cand).and_then(|slot| slot.client.get()) {
                    world.send_if_ready(client, Request::CloseSession);
                }
            }
            Action::SetClockBack { cand, by_ms } => {
                if let Some(slot) = of(cand) {
                    slot.wall_ahead.set(slot.wall_ahead.get() - i64::try_from(by_ms * 1_000_000).unwrap_or(i64::MAX));
                }
            }
            Action::Slow { cand, by_ms } => {
                if let Some(slot) = of(cand) {
                    self.slow(&[slot.host], &LinkSlowdown { latency_ms: by_ms, ..LinkSlowdown::default() });
                }
            }
            Action::SlowWrites { cand, by_ms } => {
                if let Some(slot) = of(cand) {
                    slot.writes_late_us.set(by_ms * 1_000);
                }
            }
            Action::CountFrom(number) => {
                let mut ensemble = world.servers.ensemble.borrow_mut();
                self.elections.iter().for_each(|election| ensemble.count_from(&election.path, number));
            }
            Action::Server { id, outage, for_ms } => {
                let lasts = Ms { for_ms };
                let fault = match outage {
                    ServerOutageKind::Kill => Fault::ServerKill { lasts: Some(lasts) },
                    ServerOutageKind::Pause => Fault::ServerPause { lasts },
                    ServerOutageKind::Part => Fault::ServerPartition { lasts },
                };
                let leader = || world.servers.ensemble.borrow().leader().map(|server| to_u32(server) + 1);
                let id = if id == SERVER_LEADER { leader() } else { Some(id) };
                self.fault_on_servers(fault, id.into_iter().collect());
            }
            Action::RestartServers { gap_ms } => {
                let order: Vec<u32> = (1..=self.state.cell.servers).collect();
                let restart = Restart { order: order.clone(), gap_ms, ..Restart::default() };
                self.fault_on_servers(Fault::ServerRestartAll(restart), order);
            }
            Action::LoseReply | Action::LoseRequest | Action::DelayRequest(_) | Action::DelayReply(_) => {}
        }
    }

    /// The slot of a candidate, or of the leader of the only group.
    fn whom(&self, cand: u32) -> Option<Rc<SimSlot>> {
        let leader = || self.state.leaders.borrow().of_groups().first().copied().flatten().map(|(cand, _)| cand);
        self.slot(if cand == LEADER { leader()? } else { cand })
    }

    /// A scripted fault on servers, none of which may be under a fault already.
    fn fault_on_servers(self: &Rc<Self>, fault: Fault, servers: Vec<u32>) {
        let harmed = self.state.injured_servers();
        if servers.is_empty() || servers.iter().any(|server| harmed.contains(server)) {
            return;
        }
        let hit = ResolvedTarget { hosts: Vec::new(), cands: Vec::new(), groups: Vec::new(), servers };
        self.state.injure(fault.kind(), &hit);
        self.scripted(fault, hit);
    }

    /// A scripted fault on one candidate's host.
    fn fault(self: &Rc<Self>, fault: Fault, cand: u32) {
        let Some(slot) = self.whom(cand) else { return };
        // One partition of a host at a time, since a heal ends both.
        if fault.kind().is_partition() && !self.world.network.of_link(slot.host, Link::cut_anew) {
            return;
        }
        let cand = slot.cand;
        let leads =
            self.state.leaders.borrow().of_groups()[slot.group as usize].is_some_and(|(leader, _)| leader == cand);
        let groups = if leads { vec![slot.group] } else { Vec::new() };
        self.scripted(fault, ResolvedTarget { hosts: vec![slot.host], cands: vec![cand], groups, servers: Vec::new() });
    }

    fn scripted(self: &Rc<Self>, fault: Fault, hit: ResolvedTarget) {
        let now = self.world.clock.now();
        let planned = PlannedFault {
            id: None,
            at_ms: now / 1_000,
            fault,
            target: Target::Leaders { groups: 1 },
            moment: Moment::Planned,
            from: Vec::new(),
            allow_majority: true,
        };
        let own = self.clone();
        self.background_task(injection(own, planned, hit, self.world.clock.nanos(), Nanos::MAX));
    }
}
