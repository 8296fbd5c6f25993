//! Faults as a scenario writes them: kind, target, repetitions and duration.

use std::fmt;

use hustings_record::{FaultKind, TargetClass, words};
use serde::{Deserialize, Serialize};

use crate::faults::{Fault, FaultDuration, Moment, ScenarioFault};

/// The target of a fault. It is resolved when the fault is due, by the run's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// The leaders of `groups` groups; a fault on hosts hits theirs.
    Leaders,
    /// The `hosts` hosts that lead the most groups; a fault on candidates hits the leaders there.
    HostLeadingMost,
    /// Any `hosts` hosts; a fault on candidates hits the leaders there.
    Host,
    /// One follower in each of `groups` groups; a fault on hosts hits theirs.
    Followers,
    /// A `share` of all hosts, or of all candidates.
    Share,
    /// For faults on servers: the one that leads the ensemble.
    EnsembleLeader,
    /// For faults on servers: any follower.
    EnsembleFollower,
    /// For faults on servers: those with the ids in `servers`.
    Servers,
}

impl TargetKind {
    /// Its name in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Leaders => "leaders",
            Self::HostLeadingMost => "host-leading-most",
            Self::Host => "host",
            Self::Followers => "followers",
            Self::Share => "share",
            Self::EnsembleLeader => "ensemble-leader",
            Self::EnsembleFollower => "ensemble-follower",
            Self::Servers => "servers",
        }
    }

    /// True for targets that are servers; the others are hosts or candidates.
    #[must_use]
    pub fn is_of_servers(self) -> bool {
        matches!(self, Self::EnsembleLeader | Self::EnsembleFollower | Self::Servers)
    }
}

/// One entry of `[faults.<name>]`: a fault with what all of them share. What it is read from is in `draft.rs`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultSpec {
    /// The fault itself.
    #[serde(flatten)]
    pub fault: ScenarioFault,
    /// Its target, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetKind>,
    /// For the targets `leaders` and `followers`: the number of groups, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<u32>,
    /// For the targets `host` and `host-leading-most`: the number of hosts, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u16>,
    /// For the target `share`: the fraction of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Number of injections in the cell.
    pub repeat: u32,
    /// Mean interval between them, in milliseconds, if given. The plan lengthens it where hosts are taken out and the
    /// session timeout needs more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<u64>,
    /// Allows it to take out more than a minority of the hosts or servers at a time.
    pub allow_majority: bool,
    /// For the target `servers`: their ids, from 1. For partitions: the servers that hosts are cut off from; empty
    /// means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<u32>,
    /// The exact moment, once its time has come.
    #[serde(skip_serializing_if = "Moment::is_planned")]
    pub moment: Moment,
    /// Name of another fault that is injected each time this one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// How long after this one the other fault hits, in milliseconds, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_after_ms: Option<u64>,
    /// Given keys that its kind does not take; empty in a validated scenario.
    #[serde(skip)]
    pub(crate) misplaced: Vec<String>,
}

impl FaultSpec {
    /// This fault, injected once on its default target.
    #[must_use]
    pub fn of(fault: ScenarioFault) -> Self {
        Self {
            fault,
            target: None,
            groups: None,
            hosts: None,
            share: None,
            repeat: 1,
            every_ms: None,
            allow_majority: false,
            servers: Vec::new(),
            moment: Moment::Planned,
            with: None,
            with_after_ms: None,
            misplaced: Vec::new(),
        }
    }

    /// A control: no fault, for the default duration.
    #[must_use]
    pub fn none() -> Self {
        Self::of(Fault::None { lasts: FaultDuration::default() })
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.fault.kind()
    }

    /// For a partition: the servers that hosts are cut off from; empty: all of them.
    #[must_use]
    pub fn from(&self) -> Vec<u32> {
        let mut from = if self.kind().is_partition() { self.servers.clone() } else { Vec::new() };
        from.sort_unstable();
        from
    }

    /// Whether it takes out the hosts that it hits. A host that is cut off from some servers still has the others.
    #[must_use]
    pub fn takes_hosts_out(&self) -> bool {
        self.kind().takes_hosts_out() && self.from().is_empty()
    }

    /// Its target, given or default.
    #[must_use]
    pub fn target(&self) -> Target {
        let usual = match self.kind().facts().hits {
            TargetClass::Candidates => TargetKind::Leaders,
            TargetClass::Servers => TargetKind::EnsembleLeader,
            TargetClass::Nobody | TargetClass::Hosts => TargetKind::HostLeadingMost,
        };
        let all_servers = matches!(self.fault, Fault::ServerRestartAll(_));
        let (groups, hosts) = (self.groups.unwrap_or(1), self.hosts.unwrap_or(1));
        match self.target.unwrap_or(usual) {
            TargetKind::EnsembleLeader | TargetKind::EnsembleFollower | TargetKind::Servers if all_servers => {
                Target::AllServers
            }
            TargetKind::Leaders => Target::Leaders { groups },
            TargetKind::HostLeadingMost => Target::HostLeadingMost { hosts },
            TargetKind::Host => Target::Host { hosts },
            TargetKind::Followers => Target::Followers { groups },
            TargetKind::Share => Target::Share { share: self.share.unwrap_or(1.0) },
            TargetKind::EnsembleLeader => Target::EnsembleLeader,
            TargetKind::EnsembleFollower => Target::EnsembleFollower,
            TargetKind::Servers => Target::Servers { ids: self.servers.clone() },
        }
    }
}

/// The target of a fault, with its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The leaders of this many groups.
    Leaders { groups: u32 },
    /// The hosts that lead the most groups.
    HostLeadingMost { hosts: u16 },
    /// Any hosts.
    Host { hosts: u16 },
    /// One follower in each of this many groups.
    Followers { groups: u32 },
    /// A share of all.
    Share { share: f64 },
    /// The leader of the ensemble.
    EnsembleLeader,
    /// A follower in the ensemble.
    EnsembleFollower,
    /// The servers with these ids.
    Servers { ids: Vec<u32> },
    /// Every server.
    AllServers,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaders { groups: 1 } => f.write_str("the leader of one group"),
            Self::Leaders { groups } => write!(f, "the leaders of {groups} groups"),
            Self::HostLeadingMost { hosts: 1 } => f.write_str("the host that leads most"),
            Self::HostLeadingMost { hosts } => write!(f, "the {hosts} hosts that lead most"),
            Self::Host { hosts } => write!(f, "{hosts} of the hosts"),
            Self::Followers { groups: 1 } => f.write_str("a follower in one group"),
            Self::Followers { groups } => write!(f, "a follower in each of {groups} groups"),
            Self::Share { share } => write!(f, "{} % of all", share * 100.0),
            Self::EnsembleLeader => f.write_str("the ensemble's leader"),
            Self::EnsembleFollower => f.write_str("a follower of the ensemble"),
            Self::Servers { ids } => f.write_str(&words::servers(ids)),
            Self::AllServers => f.write_str("all servers"),
        }
    }
}
