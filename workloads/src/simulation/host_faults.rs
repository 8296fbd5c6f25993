//! Faults on hosts, links and candidates of the simulated world: each is injected, verified by its effect, and healed.

use std::rc::Rc;

use futures::channel::oneshot;
use hustings_record::{Direction, Evidence, ModelledLink, WithheldReply};

use super::sim_cell::SimCell;
use super::slot::SimSlot;
use super::world::{Link, LostReply, ServerSet, nanos};
use crate::driver::{
    Backend as _, CandidateOrderOutcome, InjectedFault, LinkFault, Remedy, StoppedHost, Verification, delete_parent,
    lost_replies,
};
use crate::faults::{Fault, LinkSlowdown};
use crate::model::Micros;
use crate::plan::{PlannedFault, ResolvedTarget};

/// Bound on the wait for a host's answer to an order.
const ANSWER_MAX_US: Micros = 10_000_000;

/// Interval between checks for lost replies.
const LOOK_AGAIN_US: Micros = 1_000;

impl SimCell {
    /// Injects a fault into its target.
    pub(super) async fn injure(self: &Rc<Self>, planned: &PlannedFault, hit: &ResolvedTarget) -> InjectedFault {
        let (world, hosts) = (&self.world, &hit.hosts);
        let of = |count: usize| (count == hosts.len() && count > 0, hosts.len());
        match &planned.fault {
            Fault::None { .. } => InjectedFault { proof: Verification::default(), remedy: Remedy::None },
            Fault::Resign => self.single(hit, "the deletion of its znode was answered", Self::resign).await,
            Fault::Expire => self.single(hit, "the close of its session was answered", Self::expire).await,
            Fault::ParentDelete => delete_parent(&**self, hit).await,
            Fault::Crash { .. } => {
                let touches = self.touches(hosts);
                let dead: Vec<u16> = hosts.iter().copied().filter(|host| self.kill_host(*host)).collect();
                let (verified, all) = of(dead.len());
                let evidence = format!("{} of {all} processes killed", dead.len());
                let seen = Some(self.processes(hosts));
                InjectedFault { proof: self.seen(verified, evidence, touches, seen), remedy: Remedy::Restart(dead) }
            }
            Fault::Pause { .. } => {
                let touches = self.touches(hosts);
                let stop = |host: u16| self.world.pause_host(host).then(|| self.generation(host));
                let stopped: Vec<_> = hosts.iter().map(|&host| StoppedHost { host, process: stop(host) }).collect();
                let count = stopped.iter().filter(|stopped| stopped.process.is_some()).count();
                let (verified, all) = of(count);
                let evidence = format!("{count} of {all} processes stopped");
                let seen = Some(self.processes(hosts));
                InjectedFault { proof: self.seen(verified, evidence, touches, seen), remedy: Remedy::Continue(stopped) }
            }
            Fault::Terminate { .. } => self.terminate(hosts).await,
            Fault::Hang { .. } => self.hang(hosts).await,
            Fault::ClockStep { how, .. } => {
                let proof = self.set_clocks(hosts, how.step_ms);
                InjectedFault { proof, remedy: Remedy::SetClocks { hosts: hosts.clone(), by_ms: -how.step_ms } }
            }
            Fault::Disconnect => {
                let reset: usize = hosts.iter().map(|host| world.reset_host(*host)).sum();
                let proof = self.seen(reset > 0, format!("{reset} connections reset"), Vec::new(), None);
                InjectedFault { proof, remedy: Remedy::None }
            }
            Fault::LostReply { lasts } => self.lose_replies(hosts, lasts.for_ms).await,
            Fault::Partition { .. } => self.cut(hit, Direction::Both),
            Fault::PartitionUp { .. } => self.cut(hit, Direction::Up),
            Fault::PartitionDown { .. } => self.cut(hit, Direction::Down),
            Fault::Slow { how, .. } => {
                let remedy = Remedy::Links(LinkFault::Slow, hosts.clone());
                InjectedFault { proof: self.make_slow(hosts, how), remedy }
            }
            Fault::ServerKill { .. } => self.kill_servers(hit, None).await,
            Fault::ServerRestartAll(restart) => self.kill_servers(hit, Some(restart)).await,
            Fault::ServerPause { .. } => self.pause_servers(hit),
            Fault::ServerPartition { .. } => self.part_servers(hit),
        }
    }

    /// Blocks all traffic between hosts and servers without notifying either side.
    fn cut(&self, hit: &ResolvedTarget, way: Direction) -> InjectedFault {
        let (hosts, servers) = (&hit.hosts, ServerSet::of(&hit.servers));
        // A host that can reach other servers makes contact again.
        let touches = if hit.servers.is_empty() { self.touches(hosts) } else { Vec::new() };
        hosts.iter().for_each(|host| self.world.network.hold_from(*host, way, servers));
        let links = self.links(hosts, &hit.servers);
        let (held, due) = (links.iter().filter(|link| link.held.is_some()).count(), links.len());
        let evidence = format!("{held} of {due} links carry nothing");
        let seen = Some(Evidence::Modelled { links });
        let proof = self.seen(held == due && held > 0, evidence, touches, seen);
        InjectedFault { proof, remedy: Remedy::Links(LinkFault::Partition, hosts.clone()) }
    }

    /// Waits for the answers to executed creates, one on each link.
    async fn lose_replies(self: &Rc<Self>, hosts: &[u16], for_ms: u64) -> InjectedFault {
        let (world, from) = (&self.world, self.world.clock.now());
        let of = |host: &u16| world.network.of_link(*host, |link| link.lost.clone());
        hosts.iter().for_each(|host| world.network.of_link(*host, |link| link.lose_replies(ServerSet::ALL)));
        let all = hosts.len() * world.servers.count();
        let until = from + for_ms * 1_000;
        let lost = loop {
            let goes_on = self.goes_on_until(nanos((world.clock.now() + LOOK_AGAIN_US).min(until))).await;
            let lost: Vec<LostReply> = hosts.iter().flat_map(of).collect();
            if !goes_on || lost.len() >= all || world.clock.now() >= until {
                break lost;
            }
        };
        let told = |reply: &LostReply| nanos(reply.at);
        let held_back = |reply: &LostReply| {
            let LostReply { xid, ref path, zxid, .. } = *reply;
            WithheldReply { at: told(reply), xid, path: path.clone(), zxid }
        };
        let proof = Verification {
            from: lost.iter().map(told).min().unwrap_or(nanos(from)),
            to: lost.iter().map(told).max().unwrap_or(nanos(from)),
            verified: !lost.is_empty(),
            evidence: lost_replies(lost.iter().map(|reply| (reply.xid, reply.path.as_str(), reply.zxid)), all),
            touches: Vec::new(),
            seen: Some(Evidence::Lost { hosts: hosts.to_vec(), replies: lost.iter().map(held_back).collect() }),
        };
        InjectedFault { proof, remedy: Remedy::Links(LinkFault::LostReply, hosts.to_vec()) }
    }

    /// Undoes a fault.
    pub(super) async fn mend(self: &Rc<Self>, remedy: &Remedy) -> Verification {
        let (verified, evidence, seen) = match remedy {
            Remedy::None => return Verification::default(),
            Remedy::Servers(remedy) => return self.mend_servers(remedy).await,
            Remedy::Restart(hosts) => {
                hosts.iter().for_each(|host| self.restart_host(*host));
                let sides = self.world.network.hosts.borrow();
                let started = hosts.iter().filter(|host| sides[usize::from(**host)].alive).count();
                let evidence = format!("{started} of {} processes started again", hosts.len());
                (started == hosts.len(), evidence, self.processes(hosts))
            }
            Remedy::Continue(stopped) => {
                // A process that was killed in the meantime, to fence its leaders, is gone.
                let is_there = |stopped: &&StoppedHost| stopped.process == Some(self.generation(stopped.host));
                stopped.iter().filter(is_there).for_each(|stopped| _ = self.world.continue_host(stopped.host));
                let sides = self.world.network.hosts.borrow();
                let held = |stopped: &&StoppedHost| is_there(stopped) && sides[usize::from(stopped.host)].paused;
                let gone_on = stopped.len() - stopped.iter().filter(held).count();
                let evidence = format!("{gone_on} of {} processes continued", stopped.len());
                let hosts: Vec<u16> = stopped.iter().map(|stopped| stopped.host).collect();
                (gone_on == stopped.len(), evidence, self.processes(&hosts))
            }
            Remedy::Take(hosts) => return self.take_again(hosts),
            Remedy::SetClocks { hosts, by_ms } => return self.set_clocks(hosts, *by_ms),
            Remedy::Links(fault, hosts) => {
                match fault {
                    LinkFault::Partition => hosts.iter().for_each(|host| self.world.release(*host)),
                    LinkFault::Slow => self.slow(hosts, &LinkSlowdown::default()),
                    LinkFault::LostReply => {
                        hosts.iter().for_each(|host| self.world.network.of_link(*host, Link::keep_replies));
                    }
                }
                let links = self.links(hosts, &[]);
                // Another fault may be in force on them.
                let is_free = |link: &&ModelledLink| match fault {
                    LinkFault::Partition => link.held.is_none(),
                    LinkFault::Slow => !link.slow,
                    LinkFault::LostReply => true,
                };
                let free = links.iter().filter(is_free).count();
                let evidence = format!("{free} of {} links are without this fault", links.len());
                (free == links.len(), evidence, Evidence::Modelled { links })
            }
        };
        self.seen(verified, evidence, Vec::new(), Some(seen))
    }

    /// A fault on one candidate, carried out by its host. `done` describes what its answer proves.
    async fn single(
        self: &Rc<Self>,
        hit: &ResolvedTarget,
        done: &str,
        order: fn(&Rc<Self>, &Rc<SimSlot>, oneshot::Sender<CandidateOrderOutcome>),
    ) -> InjectedFault {
        let asked = self.world.clock.nanos();
        let outcome = match hit.cands.first().and_then(|cand| self.slot(*cand)) {
            None => Err("there was no leader to hit".to_owned()),
            Some(slot) => {
                let (sender, outcome) = oneshot::channel();
                order(self, &slot, sender);
                match self.world.clock.in_time(ANSWER_MAX_US, outcome).await {
                    Some(Ok(outcome)) => outcome,
                    Some(Err(_)) => Err("the host went away before it answered".to_owned()),
                    None => Err(format!("no answer within {} s", ANSWER_MAX_US / 1_000_000)),
                }
            }
        };
        let (cand, told) = (hit.cands.first().copied(), self.world.clock.nanos());
        InjectedFault { proof: Verification::of_order(done, cand, asked, told, outcome), remedy: Remedy::None }
    }

    fn resign(self: &Rc<Self>, slot: &Rc<SimSlot>, outcome: oneshot::Sender<CandidateOrderOutcome>) {
        let (world, own) = (&self.world, slot.clone());
        world.clock.host_later(slot.host, world.clock.now() + world.timing.resource_us, move || {
            // One resignation at a time: only the first one is answered with the result.
            if let Some(first) = own.resigning.take() {
                own.resigning.set(Some(first));
                let _ = outcome.send(Err("it is resigning already".to_owned()));
            } else {
                own.resigning.set(Some(outcome));
                own.tell_to_resign();
            }
        });
    }

    /// Ends the candidate's session by a second connection that takes it over and closes it.
    fn expire(self: &Rc<Self>, slot: &Rc<SimSlot>, outcome: oneshot::Sender<CandidateOrderOutcome>) {
        let (world, from) = (self.world.clone(), self.world.clock.now());
        self.world.end_session(slot.session.get(), slot.client.get(), move |ended| {
            let came = if ended {
                Ok((nanos(from), world.clock.nanos()))
            } else {
                Err("its session was not closed".to_owned())
            };
            let _ = outcome.send(came);
        });
    }
}
