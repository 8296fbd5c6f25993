//! Resolves the target of a fault when it hits: pure, by the seed and the leaders at that moment.

use hustings_record::numbers::{to_usize, whole};
use hustings_record::{FaultKind, SessionUse, TargetClass, WithheldReason};
use std::collections::BTreeSet;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::PlannedFault;
use crate::leaders::Leaders;
use crate::scenario::cell::Cell;
use crate::scenario::fault::Target;
use crate::seed;

/// The leaders, the placement and the available hosts when a fault hits.
#[derive(Clone, Copy, Debug)]
pub struct LeaderView<'a> {
    /// For every group its leader's number and host; `None` for a group without a leader.
    pub leader_of_group: &'a [Option<(u32, u16)>],
    /// Group and host of every candidate.
    pub placement: &'a [(u32, u16)],
    /// Hosts whose process runs and is not under a fault.
    pub alive: &'a [u16],
    /// The server that leads the ensemble; `None` while none does.
    pub server_leader: Option<u32>,
    /// Ids of the servers that serve and are not under a fault.
    pub servers: &'a [u32],
}

/// The target of a fault. All lists are ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedTarget {
    /// Hosts hit as a whole; for a fault on candidates, the hosts of these candidates.
    pub hosts: Vec<u16>,
    /// All candidates hit.
    pub cands: Vec<u32>,
    /// Groups whose leader is among them.
    pub groups: Vec<u32>,
    /// Ids of the servers hit, or (for a partition) those that the hosts are cut off from; empty: all of them.
    pub servers: Vec<u32>,
}

impl ResolvedTarget {
    /// Splits a fault on candidates into one fault and verification each. Candidates that share a session expire together.
    #[must_use]
    pub fn split(self, cell: &Cell, kind: FaultKind, leaders: &Leaders) -> Vec<Self> {
        if !kind.hits_candidates() {
            return vec![self];
        }
        if kind == FaultKind::Expire && cell.sessions == SessionUse::PerHost {
            let led = leaders.of_groups();
            let of_host = |&host: &u16| {
                let on_host = |cand: &u32| leaders.host_of(*cand) == Some(host);
                let cands: Vec<u32> = self.cands.iter().copied().filter(on_host).collect();
                let led_there = |group: &u32| led[*group as usize].is_some_and(|(_, leads)| leads == host);
                let groups = self.groups.iter().copied().filter(led_there).collect();
                Self { hosts: vec![host], cands, groups, servers: Vec::new() }
            };
            return self.hosts.iter().map(of_host).collect();
        }
        let led = leaders.of_groups();
        let one = |&cand: &u32| {
            // Other candidates of the group may be hit together with its leader.
            let leads = |group: &u32| led[*group as usize].is_some_and(|(leader, _)| leader == cand);
            let groups = self.groups.iter().copied().filter(leads).collect();
            let hosts = leaders.host_of(cand).into_iter().collect();
            Self { hosts, cands: vec![cand], groups, servers: Vec::new() }
        };
        self.cands.iter().map(one).collect()
    }
}

/// Resolves the target of a planned fault. It is smaller than requested when there are fewer leaders, or when it would
/// take out more than a minority of the hosts or servers.
///
/// # Errors
/// The reason, when there is no target.
pub fn resolve(
    cell: &Cell,
    seed: u64,
    fault: &PlannedFault,
    view: LeaderView<'_>,
) -> Result<ResolvedTarget, WithheldReason> {
    let rng = seed::rng(seed, &cell.round_variance(), &format!("target {}", fault.id.unwrap_or(0)));
    let hosts = match fault.kind().facts().needs_no_host {
        true => (0..cell.hosts).collect(),
        false => view.alive.to_vec(),
    };
    let mut choice = TargetSelection { cell, view, hosts, rng };
    match fault.kind().facts().hits {
        TargetClass::Nobody => Ok(ResolvedTarget::default()),
        TargetClass::Servers => Ok(ResolvedTarget { servers: choice.servers(fault)?, ..ResolvedTarget::default() }),
        TargetClass::Hosts => {
            let hosts = choice.targeted_hosts(fault)?;
            Ok(ResolvedTarget { servers: fault.from.clone(), ..choice.hit_hosts(&hosts) })
        }
        TargetClass::Candidates => {
            let cands = choice.candidates(&fault.target);
            if cands.is_empty() {
                return Err(choice.why_no_host(&fault.target));
            }
            let hit = choice.hit(cands);
            // Where the candidates of a host share a session, its end affects all of them.
            if fault.kind() == FaultKind::Expire && cell.sessions == SessionUse::PerHost {
                return Ok(choice.hit_hosts(&hit.hosts));
            }
            Ok(hit)
        }
    }
}

struct TargetSelection<'a> {
    cell: &'a Cell,
    view: LeaderView<'a>,
    /// Hosts on which the fault can be injected.
    hosts: Vec<u16>,
    rng: ChaCha8Rng,
}

impl TargetSelection<'_> {
    /// All leaders on hosts on which the fault can be injected.
    fn leaders(&self) -> Vec<(u32, u16)> {
        let leaders = self.view.leader_of_group.iter().flatten();
        leaders.filter(|(_, host)| self.hosts.contains(host)).copied().collect()
    }

    /// Why a fault on hosts or candidates has no target.
    fn why_no_host(&self, target: &Target) -> WithheldReason {
        let is_led = self.view.leader_of_group.iter().any(Option::is_some);
        if self.hosts.is_empty() || is_led && self.leaders().is_empty() {
            WithheldReason::NoHealthyHost
        } else if is_led && matches!(target, Target::Followers { .. }) {
            WithheldReason::NoFollower
        } else {
            WithheldReason::NoLeader
        }
    }

    fn some<T: Clone>(&mut self, mut of: Vec<T>, count: usize) -> Vec<T> {
        of.shuffle(&mut self.rng);
        of.truncate(count);
        of
    }

    fn share(share: f64, of: usize) -> usize {
        to_usize(whole((share * of as f64).ceil())).min(of)
    }

    /// Hosts in the order in which to hit them, at most as many as allowed.
    fn targeted_hosts(&mut self, fault: &PlannedFault) -> Result<Vec<u16>, WithheldReason> {
        let mut hosts = match &fault.target {
            Target::Leaders { groups } => {
                let leaders = self.leaders();
                self.some(leaders, *groups as usize).into_iter().map(|(_, host)| host).collect()
            }
            Target::Followers { groups } => {
                self.followers(*groups).into_iter().map(|cand| self.host_of(cand)).collect()
            }
            Target::HostLeadingMost { hosts } => {
                let mut all = self.by_leaders();
                all.truncate(usize::from(*hosts));
                all
            }
            Target::Host { hosts } => self.some(self.hosts.clone(), usize::from(*hosts)),
            Target::Share { share } => {
                let count = Self::share(*share, usize::from(self.cell.hosts));
                self.some(self.hosts.clone(), count)
            }
            Target::EnsembleLeader | Target::EnsembleFollower | Target::Servers { .. } | Target::AllServers => {
                Vec::new()
            }
        };
        let mut seen = BTreeSet::new();
        hosts.retain(|host| seen.insert(*host));
        if hosts.is_empty() {
            return Err(self.why_no_host(&fault.target));
        }
        if fault.takes_hosts_out() {
            let out = usize::from(self.cell.hosts).saturating_sub(self.view.alive.len());
            hosts.truncate(usize::from(self.cell.hosts_out_max(fault.allow_majority)).saturating_sub(out));
        }
        if hosts.is_empty() { Err(WithheldReason::MajorityOut) } else { Ok(hosts) }
    }

    /// Available hosts by how many groups they lead; ties in the seed's order.
    fn by_leaders(&mut self) -> Vec<u16> {
        let leaders = self.leaders();
        let mut hosts = self.some(self.hosts.clone(), usize::MAX);
        hosts.sort_by_cached_key(|host| std::cmp::Reverse(leaders.iter().filter(|leader| leader.1 == *host).count()));
        hosts
    }

    fn host_of(&self, cand: u32) -> u16 {
        self.view.placement.get(cand as usize).map_or(u16::MAX, |place| place.1)
    }

    fn is_there(&self, cand: u32) -> bool {
        self.hosts.contains(&self.host_of(cand))
    }

    /// The candidates of a group: they are adjacent in the placement.
    fn members(&self, group: usize) -> std::ops::Range<u32> {
        let (size, group) = (self.cell.candidates_per_group, u32::try_from(group).unwrap_or(u32::MAX));
        group.saturating_mul(size)..group.saturating_add(1).saturating_mul(size)
    }

    /// One follower in each of some groups that have a leader, and a follower on an available host.
    fn followers(&mut self, groups: u32) -> Vec<u32> {
        let led: Vec<usize> =
            (0..self.view.leader_of_group.len()).filter(|group| self.view.leader_of_group[*group].is_some()).collect();
        let mut chosen = Vec::new();
        for group in self.some(led, usize::MAX) {
            if chosen.len() >= groups as usize {
                break;
            }
            let leader = self.view.leader_of_group[group].map(|leader| leader.0);
            let others: Vec<u32> =
                self.members(group).filter(|cand| Some(*cand) != leader && self.is_there(*cand)).collect();
            chosen.extend(self.some(others, 1));
        }
        chosen
    }

    /// The servers that a fault hits: the serving ones of its target, at most as many as allowed. A restart always hits
    /// all servers.
    fn servers(&mut self, fault: &PlannedFault) -> Result<Vec<u32>, WithheldReason> {
        let up = self.view.servers.to_vec();
        let leader = self.view.server_leader.filter(|leader| up.contains(leader));
        let out = (self.cell.servers as usize).saturating_sub(up.len());
        let mut hit: Vec<u32> = match &fault.target {
            Target::EnsembleLeader => leader.into_iter().collect(),
            Target::EnsembleFollower => {
                let followers =
                    up.into_iter().filter(|server| leader.is_some_and(|leader| leader != *server)).collect();
                self.some(followers, 1)
            }
            Target::Servers { ids } => up.into_iter().filter(|server| ids.contains(server)).collect(),
            Target::AllServers => up,
            Target::Leaders { .. }
            | Target::Followers { .. }
            | Target::HostLeadingMost { .. }
            | Target::Host { .. }
            | Target::Share { .. } => Vec::new(),
        };
        if hit.is_empty() {
            return Err(WithheldReason::NoServer);
        }
        hit.sort_unstable();
        if fault.target != Target::AllServers {
            hit.truncate((self.cell.servers_out_max(fault.allow_majority) as usize).saturating_sub(out));
        }
        if hit.is_empty() { Err(WithheldReason::MajorityOut) } else { Ok(hit) }
    }

    fn candidates(&mut self, target: &Target) -> Vec<u32> {
        let on = |leaders: Vec<(u32, u16)>, hosts: &[u16]| {
            leaders.into_iter().filter(|leader| hosts.contains(&leader.1)).map(|leader| leader.0).collect()
        };
        match target {
            Target::Leaders { groups } => {
                let leaders = self.leaders();
                self.some(leaders, *groups as usize).into_iter().map(|leader| leader.0).collect()
            }
            Target::Followers { groups } => self.followers(*groups),
            Target::HostLeadingMost { hosts } => {
                let mut most = self.by_leaders();
                most.truncate(usize::from(*hosts));
                on(self.leaders(), &most)
            }
            Target::Host { hosts } => {
                let any = self.some(self.hosts.clone(), usize::from(*hosts));
                on(self.leaders(), &any)
            }
            Target::Share { share } => {
                let all = (0_u32..).take(self.view.placement.len());
                let alive: Vec<u32> = all.filter(|cand| self.is_there(*cand)).collect();
                let count = Self::share(*share, self.view.placement.len());
                self.some(alive, count)
            }
            Target::EnsembleLeader | Target::EnsembleFollower | Target::Servers { .. } | Target::AllServers => {
                Vec::new()
            }
        }
    }

    fn hit_hosts(&self, hosts: &[u16]) -> ResolvedTarget {
        let cands = (0_u32..).zip(self.view.placement).filter(|(_, place)| hosts.contains(&place.1));
        self.hit(cands.map(|(cand, _)| cand).collect()).with_hosts(hosts)
    }

    fn hit(&self, mut cands: Vec<u32>) -> ResolvedTarget {
        cands.sort_unstable();
        let hosts: BTreeSet<u16> = cands.iter().map(|cand| self.host_of(*cand)).collect();
        let leads = |group: &u32| {
            let leader = self.view.leader_of_group[*group as usize];
            leader.is_some_and(|(cand, _)| cands.binary_search(&cand).is_ok())
        };
        let groups = (0_u32..).take(self.view.leader_of_group.len()).filter(leads).collect();
        ResolvedTarget { hosts: hosts.into_iter().collect(), cands, groups, servers: Vec::new() }
    }
}

impl ResolvedTarget {
    fn with_hosts(mut self, hosts: &[u16]) -> Self {
        self.hosts = hosts.to_vec();
        self.hosts.sort_unstable();
        self
    }
}
