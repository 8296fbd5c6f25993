//! Faults on candidates, hosts and servers. Each kind has one row of facts, which all code about kinds reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::names::names;
use crate::nanos::Nanos;
use crate::server::ServerState;

/// The last time that bytes of a session went up its link before a fault: the start of its expiry clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Touch {
    pub session: i64,
    pub last_up: Nanos,
}

/// Facts common to all faults of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultFacts {
    pub hits: TargetClass,
    /// Its target is out while the fault lasts: at most a minority at a time, unless the scenario asks for more. A
    /// restart of all servers does not count as taking them out, because it brings them back.
    pub takes_out: bool,
    pub links: LinkNeed,
    pub lasts: DurationRule,
    /// Direction in which nothing passes; `None` for kinds that cut no link off. A slow fault states its own direction.
    pub cuts: Option<Direction>,
    /// The fault is in effect until it is healed. Other faults act in an instant, and their effect stays.
    pub until_healed: bool,
    /// Effect on the processes of the hosts that it hits.
    pub process: ProcessFate,
    /// Effect on the lead of the candidates that it hits.
    pub leads: LeadLoss,
    /// Sessions expire because their touches stop.
    pub lets_sessions_expire: bool,
    /// Candidates that it hits are not notified, or are notified late, that they have lost the lead.
    pub suppresses_watch_events: bool,
    /// Candidates that it hits may act for a moment after they lost the lead, whatever the recipe: a stopped process
    /// resumes, or a session ends while its owner still believes in it.
    pub defeats_client_checks: bool,
    /// When the servers elect a new leader after it hit the current one.
    pub elects: ElectionTrigger,
    /// Effect on the counters of the servers that it hits.
    pub counters: Counters,
    /// A leader that it hits may keep the lead without any effect.
    pub withholds_effect: bool,
    /// It waits for a trigger, at most as long as it lasts. Until then, candidates that may trigger it are unaffected.
    pub waits_at_sync_point: bool,
    /// It acts on servers alone, so a host of its target may be down or under another fault.
    pub needs_no_host: bool,
    /// State that the servers it hits report when queried. None: the same as before, or it hits no server.
    pub leaves: Option<ServerState>,
    /// How it is verified to have taken effect.
    pub proof: &'static str,
}

impl FaultFacts {
    /// Whether its targets keep all their abilities while it lasts: they run, send and receive.
    #[must_use]
    pub fn leaves_all_able(&self) -> bool {
        let out =
            self.takes_out || self.suppresses_watch_events || self.cuts.is_some() || self.process != ProcessFate::Kept;
        let lead = self.leads != LeadLoss::NotSure || self.lets_sessions_expire || self.defeats_client_checks;
        self.until_healed && !out && !lead && !self.waits_at_sync_point && self.hits != TargetClass::Servers
    }
}

/// The kind of target of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetClass {
    Nobody,
    /// Single candidates.
    Candidates,
    /// Whole hosts, with all their candidates.
    Hosts,
    Servers,
}

/// Whether hosts have to reach the servers over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkNeed {
    None,
    /// Links show when the servers last received from each session, and so when it could expire at the earliest.
    Useful,
    /// It acts on links.
    Needed,
    /// It acts on single messages, so it needs links that decode traffic.
    Reading,
}

/// Whether a fault has a stated duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationRule {
    No,
    May,
    Must,
}

/// What becomes of a host's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessFate {
    Kept,
    /// It does nothing until it is continued, and does not know that.
    Stopped,
    Ended,
}

names! {
    ProcessFate { Kept = "running", Stopped = "stopped", Ended = "gone" }
}

/// Whether a leader under a fault loses the lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadLoss {
    /// It may keep it.
    NotSure,
    /// It loses the lead if its session can expire: the fault lasts longer than T plus the servers' rounding.
    IfLongerThanTimeout,
    Always,
    /// All candidates enrol again, and the previous leader may win again.
    Anew,
}

/// A candidate whose znode was deleted by another client waits this long before it enrols again, so that a deletion of
/// the whole election can complete.
pub const ENROLS_AGAIN_AFTER_MS: u64 = 200;

/// When the ensemble elects a leader after a fault on the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElectionTrigger {
    Never,
    /// Its loss is noticed at once.
    AtOnce,
    /// After the other servers have missed it for `syncLimit`.
    WhenMissed,
    /// Once all servers are started again.
    WhenStarted,
}

/// Effect on a server's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    Kept,
    /// Time passes while the server is stopped. When it resumes, it counts notifications that no client receives.
    Stopped,
    /// It drops its clients' watches without counting them.
    WatchesDropped,
    /// It counts from zero again.
    Anew,
}

/// A fault without a target, from which the rows below differ.
const BLANK: FaultFacts = FaultFacts {
    hits: TargetClass::Nobody,
    takes_out: false,
    links: LinkNeed::None,
    lasts: DurationRule::No,
    cuts: None,
    until_healed: false,
    process: ProcessFate::Kept,
    leads: LeadLoss::NotSure,
    lets_sessions_expire: false,
    suppresses_watch_events: false,
    defeats_client_checks: false,
    elects: ElectionTrigger::Never,
    counters: Counters::Kept,
    withholds_effect: false,
    waits_at_sync_point: false,
    needs_no_host: false,
    leaves: None,
    proof: "there is nothing to prove",
};

const ON_LINKS: FaultFacts = FaultFacts { hits: TargetClass::Hosts, links: LinkNeed::Needed, ..BLANK };
const PARTITION: FaultFacts = FaultFacts {
    takes_out: true,
    lasts: DurationRule::Must,
    until_healed: true,
    suppresses_watch_events: true,
    proof: "every link answers before it and none during it, no byte is counted on its way, and every server answers past its links",
    ..ON_LINKS
};
const ON_SERVERS: FaultFacts =
    FaultFacts { hits: TargetClass::Servers, takes_out: true, until_healed: true, needs_no_host: true, ..BLANK };

/// The kinds with their names, in a scenario and in a sentence, and their rows.
macro_rules! kinds {
    ($(
        #[doc = $about:literal]
        $variant:ident = $name:literal, $noun:literal, $($field:ident: $value:expr),*; ..$rest:expr
    )+) => {
        /// Fault kinds, as scenarios and reports spell them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum FaultKind { $(#[doc = $about] $variant,)+ }

        names! { FaultKind { $($variant = $name),+ } }

        impl FaultKind {
            /// What is true of all faults of this kind.
            #[must_use]
            pub const fn facts(self) -> FaultFacts {
                match self { $(Self::$variant => FaultFacts { $($field: $value,)* ..$rest }),+ }
            }

            /// What it does, in a sentence.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Self::$variant => $about),+ }.trim()
            }

            /// What one of them is called in a sentence: `a crash`.
            #[must_use]
            pub fn noun(self) -> &'static str {
                match self { $(Self::$variant => $noun),+ }
            }
        }
    };
}

kinds! {
    /// No fault at all: a control.
    None = "none", "no fault", lasts: DurationRule::May; ..BLANK

    /// The leader releases leadership.
    Resign = "resign", "a resignation",
        hits: TargetClass::Candidates, leads: LeadLoss::Always,
        proof: "the deletion of its znode is answered";
        ..BLANK

    /// The host's process is killed; its sessions expire.
    Crash = "crash", "a crash",
        hits: TargetClass::Hosts, takes_out: true, links: LinkNeed::Useful, lasts: DurationRule::May, process: ProcessFate::Ended,
        leads: LeadLoss::Always, lets_sessions_expire: true,
        proof: "the process has ended, by the signal";
        ..BLANK

    /// The host's process is sent SIGTERM, as a deployment ends it, and given time to go.
    Terminate = "terminate", "an end by SIGTERM",
        hits: TargetClass::Hosts, takes_out: true, links: LinkNeed::Useful, lasts: DurationRule::May, process: ProcessFate::Ended,
        leads: LeadLoss::Always,
        proof: "the process has ended after it was sent the signal";
        ..BLANK

    /// The session is ended by the server at once.
    Expire = "expire", "an expiry by force",
        hits: TargetClass::Candidates, leads: LeadLoss::Always,
        defeats_client_checks: true,
        proof: "a second connection takes the session over and its close is answered";
        ..BLANK

    /// The znode of a leader's group is deleted with all that is in it, and made again.
    ParentDelete = "parent-delete", "the deletion of a group's znode",
        hits: TargetClass::Candidates, leads: LeadLoss::Anew,
        defeats_client_checks: true, needs_no_host: true,
        proof: "the transaction is answered, and the group's znode is another one";
        ..BLANK

    /// The connection is reset.
    Disconnect = "disconnect", "a disconnect", proof: "open connections are observed to close"; ..ON_LINKS

    /// A create is carried out, and the answer to it never arrives: its connection is closed instead.
    LostReply = "lost-reply", "a lost reply",
        links: LinkNeed::Reading, lasts: DurationRule::Must, until_healed: true, waits_at_sync_point: true,
        proof: "the link held back the answer to a create that had been carried out, and closed its connection";
        ..ON_LINKS

    /// No traffic passes in either direction; no connection is closed.
    Partition = "partition", "a partition",
        cuts: Some(Direction::Both), leads: LeadLoss::IfLongerThanTimeout, lets_sessions_expire: true;
        ..PARTITION

    /// Nothing passes from host to server.
    PartitionUp = "partition-up", "a partition upwards",
        cuts: Some(Direction::Up), leads: LeadLoss::IfLongerThanTimeout, lets_sessions_expire: true;
        ..PARTITION

    /// Nothing passes from server to host.
    PartitionDown = "partition-down", "a partition downwards", cuts: Some(Direction::Down); ..PARTITION

    /// Latency, jitter, bandwidth.
    Slow = "slow", "a slow link",
        lasts: DurationRule::Must, until_healed: true, suppresses_watch_events: true,
        proof: "every toxic is read back, and probes take as much longer as they must";
        ..ON_LINKS

    /// The host's process is stopped and continued.
    Pause = "pause", "a pause",
        hits: TargetClass::Hosts, takes_out: true, links: LinkNeed::Useful, lasts: DurationRule::Must, until_healed: true,
        process: ProcessFate::Stopped, leads: LeadLoss::IfLongerThanTimeout, lets_sessions_expire: true, suppresses_watch_events: true,
        defeats_client_checks: true,
        proof: "the kernel says that the process is stopped";
        ..BLANK

    /// The work of the host's leaders hangs, while their sessions live: the resource neither takes nor answers their writes.
    Hang = "hang", "work that hangs",
        hits: TargetClass::Hosts, lasts: DurationRule::Must, until_healed: true, withholds_effect: true,
        proof: "a write of a leader there came in and was not taken";
        ..BLANK

    /// The wall clock of the host jumps, and back when it is over.
    ClockStep = "clock-step", "a step of the wall clock",
        hits: TargetClass::Hosts, lasts: DurationRule::Must, until_healed: true,
        proof: "the wall clock is read back, from the process itself";
        ..BLANK

    /// A server is killed and, if it lasts, started again on its data.
    ServerKill = "server-kill", "the death of a server",
        lasts: DurationRule::May, elects: ElectionTrigger::AtOnce, counters: Counters::Anew, leaves: Some(ServerState::Down),
        proof: "the process has ended and nobody answers there";
        ..ON_SERVERS

    /// A server is stopped and continued.
    ServerPause = "server-pause", "the pause of a server",
        lasts: DurationRule::Must, elects: ElectionTrigger::WhenMissed, counters: Counters::Stopped,
        leaves: Some(ServerState::Silent),
        proof: "the process is stopped and the server is silent";
        ..ON_SERVERS

    /// Nothing passes between some servers and the others; clients reach all of them.
    ServerPartition = "server-partition", "the partition of a server",
        lasts: DurationRule::Must, elects: ElectionTrigger::WhenMissed, counters: Counters::WatchesDropped,
        proof: "no byte is counted on the links among the servers";
        ..ON_SERVERS

    /// All servers are killed, then started one after the other.
    ServerRestartAll = "server-restart-all", "a restart of all servers",
        takes_out: false, elects: ElectionTrigger::WhenStarted, counters: Counters::Anew,
        leaves: Some(ServerState::Down),
        proof: "the processes have ended and nobody answers there";
        ..ON_SERVERS
}

/// Shortcuts to facts that are read often.
impl FaultKind {
    /// True for faults that hit whole hosts.
    #[must_use]
    pub fn hits_hosts(self) -> bool {
        self.facts().hits == TargetClass::Hosts
    }

    /// Whether it removes the znodes of its targets at once, or orders the targets to delete them. A crash leaves them
    /// to expire with their sessions.
    #[must_use]
    pub const fn takes_znodes(self) -> bool {
        let facts = self.facts();
        let ends_in_order = matches!(facts.process, ProcessFate::Ended) && !facts.lets_sessions_expire;
        matches!(facts.hits, TargetClass::Candidates) || ends_in_order
    }

    /// True for faults that hit single candidates.
    #[must_use]
    pub fn hits_candidates(self) -> bool {
        self.facts().hits == TargetClass::Candidates
    }

    /// True for faults on the servers, which hit no candidate themselves.
    #[must_use]
    pub fn hits_servers(self) -> bool {
        self.facts().hits == TargetClass::Servers
    }

    /// True for faults that take a host out: at most a minority of hosts at a time, unless the scenario asks for more.
    #[must_use]
    pub fn takes_hosts_out(self) -> bool {
        self.hits_hosts() && self.facts().takes_out
    }

    /// True for faults that take a server out: at most a minority of servers at a time, unless the scenario asks for
    /// more.
    #[must_use]
    pub fn takes_servers_out(self) -> bool {
        self.hits_servers() && self.facts().takes_out
    }

    /// True for faults that exclude other faults on the same host while they last, because the effects of two faults at
    /// once could not be told apart.
    #[must_use]
    pub fn exempts_hosts(self) -> bool {
        self.hits_hosts() && self.facts().lasts != DurationRule::No && !self.facts().waits_at_sync_point
    }

    /// True for the three kinds of partition.
    #[must_use]
    pub fn is_partition(self) -> bool {
        self.facts().cuts.is_some()
    }

    /// True for faults that act on links, so that hosts must reach the servers over them.
    #[must_use]
    pub fn needs_links(self) -> bool {
        matches!(self.facts().links, LinkNeed::Needed | LinkNeed::Reading)
    }

    /// True for faults that act on single messages, which only links that decode traffic can do.
    #[must_use]
    pub fn needs_reading_links(self) -> bool {
        self.facts().links == LinkNeed::Reading
    }

    /// True for faults that leave sessions to expire without acting on links. Links show when each session was last
    /// heard of, and so when it could expire at the earliest.
    #[must_use]
    pub fn profits_by_links(self) -> bool {
        self.facts().links == LinkNeed::Useful
    }

    /// True for faults that need a duration. A restart of all servers does not: it is over when all are started.
    #[must_use]
    pub fn needs_duration(self) -> bool {
        self.facts().lasts == DurationRule::Must
    }

    /// True for faults that may have a duration.
    #[must_use]
    pub fn takes_duration(self) -> bool {
        self.facts().lasts != DurationRule::No
    }
}

/// An unknown fault kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of fault `{0}`")]
pub struct UnknownFaultKind(pub String);

impl std::str::FromStr for FaultKind {
    type Err = UnknownFaultKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().copied().find(|kind| kind.name() == text);
        found.ok_or_else(|| UnknownFaultKind(text.to_owned()))
    }
}

/// What a verification proves of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerificationStage {
    Injected,
    Healed,
}
