//! Faults as a scenario writes them: what is done, to whom, how often, for how long.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is done. The names are those of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Nothing: a control. It lasts `for_ms`.
    None,
    /// The candidate gives the lead (or its place) back, and stands again after `rejoin_after_ms`.
    Resign,
    /// The host's process is killed, its sessions are left to expire. It is started again after `for_ms`; without it, it
    /// stays away until the cell ends.
    Crash,
    /// The candidate's session is ended by the server at once.
    Expire,
    /// The host's connections are reset.
    Disconnect,
    /// Nothing passes between the host and the servers, and nobody is told.
    Partition,
    /// Nothing passes from the host to the servers.
    PartitionUp,
    /// Nothing passes from the servers to the host.
    PartitionDown,
    /// Latency, jitter or bandwidth on the host's links.
    Slow,
    /// The host's process is stopped, as by a long garbage collection, and continued.
    Pause,
    /// A server is killed. It is started again on its data after `for_ms`; without it, when the cell ends.
    ServerKill,
    /// A server is stopped, as by a long garbage collection, and continued.
    ServerPause,
    /// Nothing passes between the servers hit and the other ones; clients reach all of them.
    ServerPartition,
    /// All servers are killed, then started again in `order`, `gap_ms` apart.
    ServerRestartAll,
}

impl FaultKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 14] = [
        Self::None,
        Self::Resign,
        Self::Crash,
        Self::Expire,
        Self::Disconnect,
        Self::Partition,
        Self::PartitionUp,
        Self::PartitionDown,
        Self::Slow,
        Self::Pause,
        Self::ServerKill,
        Self::ServerPause,
        Self::ServerPartition,
        Self::ServerRestartAll,
    ];

    /// Its name in scenarios and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Resign => "resign",
            Self::Crash => "crash",
            Self::Expire => "expire",
            Self::Disconnect => "disconnect",
            Self::Partition => "partition",
            Self::PartitionUp => "partition-up",
            Self::PartitionDown => "partition-down",
            Self::Slow => "slow",
            Self::Pause => "pause",
            Self::ServerKill => "server-kill",
            Self::ServerPause => "server-pause",
            Self::ServerPartition => "server-partition",
            Self::ServerRestartAll => "server-restart-all",
        }
    }

    /// True for faults that hit hosts whole; the others hit single candidates.
    #[must_use]
    pub fn hits_hosts(self) -> bool {
        !matches!(self, Self::None | Self::Resign | Self::Expire) && !self.hits_servers()
    }

    /// True for faults on the servers, which hit no candidate themselves.
    #[must_use]
    pub fn hits_servers(self) -> bool {
        matches!(self, Self::ServerKill | Self::ServerPause | Self::ServerPartition | Self::ServerRestartAll)
    }

    /// True for faults that take a host out: no more than a minority of hosts at a time, unless the scenario asks for it.
    #[must_use]
    pub fn takes_hosts_out(self) -> bool {
        matches!(self, Self::Crash | Self::Pause) || self.is_partition()
    }

    /// True for the three kinds of partition.
    #[must_use]
    pub fn is_partition(self) -> bool {
        matches!(self, Self::Partition | Self::PartitionUp | Self::PartitionDown)
    }

    /// True for faults that act on links, so that hosts must reach the servers over them.
    #[must_use]
    pub fn needs_links(self) -> bool {
        matches!(self, Self::Disconnect | Self::Slow) || self.is_partition()
    }

    /// True for faults that leave sessions to expire without acting on links: over links it is known when each session was
    /// last heard of, and so when it could expire at the earliest.
    #[must_use]
    pub fn profits_by_links(self) -> bool {
        matches!(self, Self::Crash | Self::Pause)
    }

    /// True for faults that last, and so must say how long. A restart of all servers is over when all are started.
    #[must_use]
    pub fn needs_duration(self) -> bool {
        matches!(self, Self::Slow | Self::Pause | Self::ServerPause | Self::ServerPartition) || self.is_partition()
    }

    /// True for faults that may say how long they last.
    #[must_use]
    pub fn takes_duration(self) -> bool {
        self.needs_duration() || matches!(self, Self::None | Self::Crash | Self::ServerKill)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A fault kind that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of fault `{0}`")]
pub struct UnknownFaultKind(pub String);

impl FromStr for FaultKind {
    type Err = UnknownFaultKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| UnknownFaultKind(text.to_owned()))
    }
}

/// Whom a fault hits. Who that is at the moment is decided when the fault is due, by the run's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// The leaders of `groups` groups; a fault that hits hosts hits theirs.
    Leaders,
    /// The `hosts` hosts that lead the most groups; a fault that hits candidates hits those that lead there.
    HostLeadingMost,
    /// Any `hosts` hosts; a fault that hits candidates hits those that lead there.
    Host,
    /// One follower in each of `groups` groups; a fault that hits hosts hits theirs.
    Followers,
    /// A `share` of all hosts, or of all candidates.
    Share,
    /// Of faults on servers: the one that leads the ensemble.
    EnsembleLeader,
    /// Of faults on servers: any one that follows.
    EnsembleFollower,
    /// Of faults on servers: those with the ids in `servers`.
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

/// Which way a slow link is slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From host to server.
    Up,
    /// From server to host.
    Down,
    /// Both ways.
    #[default]
    Both,
}

/// One entry of `[faults.<name>]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// What is done.
    pub kind: FaultKind,
    /// Whom it hits. Without it: `leaders` for resign and expire, `ensemble-leader` for faults on servers,
    /// `host-leading-most` for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetKind>,
    /// For the targets `leaders` and `followers`: in how many groups, 1 unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u32>,
    /// For the targets `host` and `host-leading-most`: how many hosts, 1 unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u16>,
    /// For the target `share`: how much of all, above 0 and at most 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// How often it is done in the cell.
    #[serde(default = "one")]
    pub repeat: u32,
    /// From one to the next, in milliseconds, give or take 20 %. Without it: as long as one lasts and a handover may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<u64>,
    /// How long it lasts, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// How long it lasts, in multiples of the session timeout T.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_t: Option<f64>,
    /// For `slow`: latency added each way, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// For `slow`: the latency varies by this much, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<u64>,
    /// For `slow`: bandwidth, in KiB a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_kb: Option<u64>,
    /// For `slow`: which way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Allows it to take more than a minority of the hosts, or of the servers, out at a time. A restart of all servers needs
    /// no leave: it gives them back.
    #[serde(default)]
    pub allow_majority: bool,
    /// For the target `servers`: their ids, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<u32>,
    /// For `server-restart-all`: the ids of all servers in the order in which they are started; ascending without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<u32>,
    /// For `server-restart-all`: from one start to the next, in milliseconds; all at once without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<u64>,
    /// For `server-restart-all`: their data is removed while they are down. Only in cells without candidates.
    #[serde(default)]
    pub empty: bool,
    /// For `server-restart-all`: ids of servers that are killed first, while the others go on with some writes, and so lag behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<u32>,
    /// Name of another fault that strikes each time this one does, whatever its own `repeat` and `every_ms` say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// How long after this one the other strikes, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_after_ms: Option<u64>,
}

fn one() -> u32 {
    1
}

impl FaultSpec {
    /// A control: nothing is done for this long.
    #[must_use]
    pub fn none() -> Self {
        Self {
            kind: FaultKind::None,
            target: None,
            groups: None,
            hosts: None,
            share: None,
            repeat: 1,
            every_ms: None,
            for_ms: None,
            for_t: None,
            latency_ms: None,
            jitter_ms: None,
            rate_kb: None,
            direction: None,
            allow_majority: false,
            servers: Vec::new(),
            order: Vec::new(),
            gap_ms: None,
            empty: false,
            behind: Vec::new(),
            with: None,
            with_after_ms: None,
        }
    }

    /// Whom it hits, told or not.
    #[must_use]
    pub fn target(&self) -> Target {
        let candidates = matches!(self.kind, FaultKind::Resign | FaultKind::Expire);
        let usual = match self.kind {
            _ if candidates => TargetKind::Leaders,
            kind if kind.hits_servers() => TargetKind::EnsembleLeader,
            _ => TargetKind::HostLeadingMost,
        };
        let (groups, hosts) = (self.groups.unwrap_or(1), self.hosts.unwrap_or(1));
        match self.target.unwrap_or(usual) {
            TargetKind::Leaders => Target::Leaders { groups },
            TargetKind::HostLeadingMost => Target::HostLeadingMost { hosts },
            TargetKind::Host => Target::Host { hosts },
            TargetKind::Followers => Target::Followers { groups },
            TargetKind::Share => Target::Share { share: self.share.unwrap_or(1.0) },
            _ if self.kind == FaultKind::ServerRestartAll => Target::AllServers,
            TargetKind::EnsembleLeader => Target::EnsembleLeader,
            TargetKind::EnsembleFollower => Target::EnsembleFollower,
            TargetKind::Servers => Target::Servers { ids: self.servers.clone() },
        }
    }

    /// How long it lasts, in milliseconds, under a session timeout of `timeout_ms`. `None`: it has no duration.
    #[must_use]
    pub fn duration_ms(&self, timeout_ms: u64) -> Option<u64> {
        let of_t = || self.for_t.map(|multiples| (multiples * timeout_ms as f64).round() as u64);
        let told = self.for_ms.or_else(of_t);
        if self.kind == FaultKind::None { told.or(Some(NONE_MS)) } else { told }
    }
}

/// How long a control lasts unless told.
const NONE_MS: u64 = 5_000;

/// Whom a fault hits, with how many of them.
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
    /// The server that leads the ensemble.
    EnsembleLeader,
    /// A server that follows.
    EnsembleFollower,
    /// The servers with these ids.
    Servers { ids: Vec<u32> },
    /// Every server.
    AllServers,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaders { groups } => write!(f, "the leaders of {groups} groups"),
            Self::HostLeadingMost { hosts: 1 } => f.write_str("the host that leads most"),
            Self::HostLeadingMost { hosts } => write!(f, "the {hosts} hosts that lead most"),
            Self::Host { hosts } => write!(f, "{hosts} of the hosts"),
            Self::Followers { groups } => write!(f, "a follower in each of {groups} groups"),
            Self::Share { share } => write!(f, "{} % of all", share * 100.0),
            Self::EnsembleLeader => f.write_str("the ensemble's leader"),
            Self::EnsembleFollower => f.write_str("a follower of the ensemble"),
            Self::Servers { ids } => {
                let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
                write!(f, "server{} {}", if ids.len() == 1 { "" } else { "s" }, ids.join(", "))
            }
            Self::AllServers => f.write_str("all servers"),
        }
    }
}
