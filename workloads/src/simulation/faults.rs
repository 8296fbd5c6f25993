//! Faults of a simulated cell: each is done to the world, proven by what is seen of it there, and healed.

use std::collections::BTreeMap;
use std::rc::Rc;

use futures::future::join_all;

use super::client::AnswerSlot;
use super::script::{Way, What};
use super::seat::Seat;
use super::stage::Stage;
use super::witness::{By, Saw};
use super::world::{NOWHERE, World, sleep_until};
use crate::booth::Order;
use crate::coordination::SessionState;
use crate::model::{Micros, Request};
use crate::plan::{FaultParams, Hit, LeaderView, PlannedFault, resolve};
use crate::scenario::{FaultKind, Target};

impl Stage {
    /// Carries one planned fault out, from its time to its heal. Faults on single candidates are one each.
    pub(super) async fn carry_out(self: Rc<Self>, planned: PlannedFault, seed: u64, intended: Micros, end: Micros) {
        sleep_until(&self.world, NOWHERE, intended).await;
        if planned.kind == FaultKind::ServerRestartAll {
            self.servers_are_back().await;
        }
        let hits = self.aim(seed, &planned).split(&self.cell, planned.kind, &self.leaders.borrow());
        let strikes = hits.into_iter().map(|hit| {
            let one = PlannedFault { id: self.next_fault(), ..planned.clone() };
            self.clone().strike(one, hit, intended, end)
        });
        join_all(strikes).await;
    }

    /// Decides whom a fault hits, by who leads now.
    fn aim(&self, seed: u64, planned: &PlannedFault) -> Hit {
        let leaders = self.leaders.borrow();
        let (injured, injured_servers) = (self.injured.borrow(), self.injured_servers.borrow());
        let alive: Vec<u16> = {
            let hosts = self.world.hosts.borrow();
            (0..hosts.len() as u16).filter(|h| hosts[usize::from(*h)].alive && !injured.contains(h)).collect()
        };
        let serves = |server: &usize| self.world.serves(*server) && !injured_servers.contains(&(*server as u32 + 1));
        let servers: Vec<u32> =
            (0..self.cell.servers as usize).filter(serves).map(|server| server as u32 + 1).collect();
        let view = LeaderView {
            leader_of_group: &leaders.of_groups(),
            placement: leaders.placement(),
            alive: &alive,
            server_leader: self.world.ensemble.borrow().leader().map(|leader| leader as u32 + 1),
            servers: &servers,
        };
        resolve(&self.cell, seed, planned, view)
    }

    async fn strike(self: Rc<Self>, planned: PlannedFault, hit: Hit, intended: Micros, end: Micros) {
        let world = self.world.clone();
        world.saw(By::Coordinator, Saw::Fault { planned: &planned, intended, hit: &hit });
        if planned.kind.takes_hosts_out() {
            self.injured.borrow_mut().extend(&hit.hosts);
        }
        self.injured_servers.borrow_mut().extend(&hit.servers);
        let lasts = match planned.kind.hits_servers() {
            true => self.injure_servers(&planned, &hit).await,
            false => self.inject(&planned, &hit),
        };
        if !lasts {
            return;
        }
        let until = match (planned.kind, planned.for_ms) {
            (FaultKind::ServerKill, None) => end,
            (FaultKind::Crash, None) => return,
            (_, ms) => world.now() + ms.unwrap_or(0) * 1_000,
        };
        sleep_until(&world, NOWHERE, until).await;
        if planned.kind.hits_servers() {
            self.heal_servers(&planned, &hit).await;
        } else {
            self.heal(&planned, &hit);
        }
        self.injured.borrow_mut().retain(|host| !hit.hosts.contains(host));
        self.injured_servers.borrow_mut().retain(|server| !hit.servers.contains(server));
    }

    /// Does it. False: nothing is left to heal.
    fn inject(self: &Rc<Self>, planned: &PlannedFault, hit: &Hit) -> bool {
        let world = &self.world;
        let id = planned.id;
        match planned.kind {
            FaultKind::Resign | FaultKind::Expire => {
                match hit.cands.first().and_then(|cand| self.seat(*cand)) {
                    None => self.receipt(id, false, "there was no leader to hit".to_owned(), Vec::new()),
                    Some(seat) if planned.kind == FaultKind::Resign => self.resign(&seat, id),
                    Some(seat) => self.expire(&seat, id),
                }
                return false;
            }
            FaultKind::Crash => {
                let touches = self.touches(&hit.hosts);
                let killed = hit.hosts.iter().filter(|host| self.kill_host(**host)).count();
                let evidence = format!("{killed} of {} processes killed", hit.hosts.len());
                self.receipt(id, killed == hit.hosts.len() && killed > 0, evidence, touches);
            }
            FaultKind::Pause => {
                let touches = self.touches(&hit.hosts);
                let stopped = hit.hosts.iter().filter(|host| self.pause_host(**host)).count();
                let evidence = format!("{stopped} of {} processes stopped", hit.hosts.len());
                self.receipt(id, stopped == hit.hosts.len() && stopped > 0, evidence, touches);
            }
            FaultKind::Disconnect => {
                let reset: usize = hit.hosts.iter().map(|host| world.reset_host(*host)).sum();
                self.receipt(id, reset > 0, format!("{reset} connections reset"), Vec::new());
                return false;
            }
            FaultKind::Partition | FaultKind::PartitionUp | FaultKind::PartitionDown => {
                let way = way(planned.kind);
                let touches = self.touches(&hit.hosts);
                hit.hosts.iter().for_each(|host| world.hold(*host, way));
                let held = self.held(&hit.hosts);
                let evidence = format!("{held} of {} links carry nothing", hit.hosts.len());
                self.receipt(id, held == hit.hosts.len() && held > 0, evidence, touches);
            }
            FaultKind::Slow => {
                self.slow(&hit.hosts, planned.params.latency_ms * 1_000, planned.params.jitter_ms * 1_000);
                let evidence = format!("{} links are slow", hit.hosts.len());
                self.receipt(id, !hit.hosts.is_empty(), evidence, Vec::new());
            }
            // Those on servers are elsewhere.
            _ => return false,
        }
        true
    }

    fn heal(self: &Rc<Self>, planned: &PlannedFault, hit: &Hit) {
        let world = &self.world;
        let evidence = match planned.kind {
            FaultKind::Crash => {
                hit.hosts.iter().for_each(|host| self.restart_host(*host));
                format!("{} processes started again", hit.hosts.len())
            }
            FaultKind::Pause => {
                let gone_on = hit.hosts.iter().filter(|host| self.continue_host(**host)).count();
                format!("{gone_on} of {} processes continued", hit.hosts.len())
            }
            FaultKind::Slow => {
                self.slow(&hit.hosts, 0, 0);
                "the links are as before".to_owned()
            }
            _ => {
                hit.hosts.iter().for_each(|host| world.release(*host));
                format!("{} links carry everything", hit.hosts.len())
            }
        };
        let receipt = Saw::Receipt {
            id: planned.id,
            healed: true,
            from: world.now(),
            to: world.now(),
            verified: true,
            evidence,
            touches: Vec::new(),
        };
        world.saw(By::Coordinator, receipt);
    }

    fn receipt(&self, id: u32, verified: bool, evidence: String, touches: Vec<(i64, Micros)>) {
        let from = self.world.now();
        self.world
            .saw(By::Coordinator, Saw::Receipt { id, healed: false, from, to: from, verified, evidence, touches });
    }

    /// When bytes of each live session of these hosts last went up.
    fn touches(&self, hosts: &[u16]) -> Vec<(i64, Micros)> {
        let (sides, clients) = (self.world.hosts.borrow(), self.world.clients.borrow());
        let of_hosts = hosts.iter().flat_map(|host| &sides[usize::from(*host)].clients);
        let clients = of_hosts.map(|client| &clients[*client as usize]);
        let live = clients.filter(|client| !matches!(client.state, SessionState::Ended(_)) && client.session != 0);
        live.map(|client| (client.session, client.last_up)).collect()
    }

    fn held(&self, hosts: &[u16]) -> usize {
        let sides = self.world.hosts.borrow();
        hosts.iter().filter(|host| sides[usize::from(**host)].link.is_held()).count()
    }

    fn slow(&self, hosts: &[u16], slow_us: Micros, jitter_us: Micros) {
        let mut sides = self.world.hosts.borrow_mut();
        for host in hosts {
            let link = &mut sides[usize::from(*host)].link;
            (link.slow_us, link.jitter_us) = (slow_us, jitter_us);
        }
    }

    fn resign(&self, seat: &Rc<Seat>, fault: u32) {
        seat.resigning.set(Some((fault, self.world.now())));
        let (world, own) = (&self.world, seat.clone());
        world.host_later(seat.host, world.now() + world.timing.resource_us, move |_| own.give(Order::Resign));
    }

    /// Ends the seat's session by a second connection that takes it over and closes it.
    fn expire(self: &Rc<Self>, seat: &Rc<Seat>, fault: u32) {
        let from = self.world.now();
        self.world.end_session(seat.session.get(), seat.client.get(), move |world, ended| {
            let evidence = if ended { "the close of its session was answered" } else { "its session was not closed" };
            let receipt = Saw::Receipt {
                id: fault,
                healed: false,
                from,
                to: world.now(),
                verified: ended,
                evidence: evidence.to_owned(),
                touches: Vec::new(),
            };
            world.saw(By::Coordinator, receipt);
        });
    }

    /// A term begins.
    pub(super) fn leads(self: &Rc<Self>, cand: u32, nth: u32) {
        let due = self.on_leading.borrow_mut().remove(&(cand, nth));
        due.into_iter().flatten().for_each(|what| self.world.do_to(what));
    }

    /// Does what a fixed schedule wants done, with a fault and a receipt in the record where there is a kind for it.
    pub(super) fn do_scripted(self: &Rc<Self>, what: What) {
        let world = &self.world;
        let of = |cand: u32| self.seat(cand);
        match what {
            What::Disconnect(cand) => self.fault(FaultKind::Disconnect, cand, None),
            What::Expire(cand) => self.fault(FaultKind::Expire, cand, None),
            What::Resign(cand) => self.fault(FaultKind::Resign, cand, None),
            What::Pause { cand, for_ms } => self.fault(FaultKind::Pause, cand, Some(for_ms)),
            What::Crash { cand, for_ms } => self.fault(FaultKind::Crash, cand, for_ms),
            What::Partition { cand, way: Way::Both, for_ms } => self.fault(FaultKind::Partition, cand, Some(for_ms)),
            What::Partition { cand, way: Way::Up, for_ms } => self.fault(FaultKind::PartitionUp, cand, Some(for_ms)),
            What::Partition { cand, way: Way::Down, for_ms } => {
                self.fault(FaultKind::PartitionDown, cand, Some(for_ms));
            }
            What::DeleteNode(cand) => {
                let node = of(cand).and_then(|seat| seat.node.borrow().clone().map(|node| (seat.group, node)));
                if let Some((group, node)) = node {
                    let path = format!("{}/{node}", self.elections[group as usize].path);
                    let request = Request::Delete { path, version: crate::model::ANY_VERSION };
                    world.send(self.admin.get(), request, AnswerSlot::default());
                }
            }
            What::Lag { cand, by_ms } => {
                let conn = of(cand).and_then(|seat| seat.client.get());
                let conn = conn.and_then(|client| world.clients.borrow()[client as usize].conn());
                if let Some(conn) = conn {
                    let server = world.lines.borrow()[conn as usize].server;
                    world.servers.borrow_mut()[server].lag_us = by_ms * 1_000;
                }
            }
            What::Close(cand) => {
                if let Some(client) = of(cand).and_then(|seat| seat.client.get()) {
                    world.send_if_ready(client, Request::CloseSession);
                }
            }
            What::SetClockBack { cand, by_ms } => {
                if let Some(seat) = of(cand) {
                    seat.set_back.set(seat.set_back.get() + by_ms * 1_000_000);
                }
            }
            What::Slow { cand, by_ms } => {
                if let Some(seat) = of(cand) {
                    self.slow(&[seat.host], by_ms * 1_000, 0);
                }
            }
            What::CountFrom(number) => {
                let mut ensemble = world.ensemble.borrow_mut();
                self.elections.iter().for_each(|election| ensemble.count_from(&election.path, number));
            }
            What::LoseReply | What::LoseRequest | What::DelayRequest(_) | What::DelayReply(_) => {}
        }
    }

    /// A scripted fault on one candidate's host.
    fn fault(self: &Rc<Self>, kind: FaultKind, cand: u32, for_ms: Option<u64>) {
        let Some(seat) = self.seat(cand) else { return };
        let now = self.world.now();
        let planned = PlannedFault {
            id: self.next_fault(),
            at_ms: now / 1_000,
            kind,
            target: Target::Leaders { groups: 1 },
            for_ms,
            params: FaultParams::default(),
            restart: None,
            allow_majority: true,
        };
        let leads = self.leaders.borrow().of_groups()[seat.group as usize].is_some_and(|(leader, _)| leader == cand);
        let groups = if leads { vec![seat.group] } else { Vec::new() };
        let hit = Hit { hosts: vec![seat.host], cands: vec![cand], groups, servers: Vec::new() };
        let own = self.clone();
        self.world.spawn(own.strike(planned, hit, now, Micros::MAX));
    }
}

impl World {
    /// What a fixed schedule does to others than the request that it lay in wait for.
    pub(super) fn do_to(self: &Rc<Self>, what: What) {
        if let Some(stage) = self.stage() {
            stage.do_scripted(what);
        }
    }

    /// Counters of every running server, by id.
    pub(super) fn metrics(&self) -> BTreeMap<u32, crate::model::Metrics> {
        let (servers, ensemble) = (self.servers.borrow(), self.ensemble.borrow());
        let running = (0..servers.len()).filter(|server| servers[*server].running);
        let of = |server| {
            let mut metrics = ensemble.metrics(server);
            self.server_watch.borrow().count(server, &mut metrics);
            metrics
        };
        running.map(|server| (server as u32 + 1, of(server))).collect()
    }
}

fn way(kind: FaultKind) -> Way {
    match kind {
        FaultKind::PartitionUp => Way::Up,
        FaultKind::PartitionDown => Way::Down,
        _ => Way::Both,
    }
}
