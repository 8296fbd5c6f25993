//! What is done to candidates, hosts and servers: one row of facts a kind, which all that asks about kinds reads.

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

/// What is true of all faults of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultFacts {
    pub hits: Hits,
    /// What it hits is out while it lasts: no more than a minority at a time, unless the scenario asks for it. A restart of all
    /// servers takes none out by this count: it gives them back.
    pub takes_out: bool,
    pub links: LinkNeed,
    pub lasts: Lasts,
    /// Which way nothing passes; `None` for kinds that cut no link off. Which way a link is slow, its fault says itself.
    pub cuts: Option<Direction>,
    /// It is in effect until it is healed; the others are done in an instant, and what they did stays done.
    pub until_healed: bool,
    /// What it does to the processes of the hosts that it hits.
    pub process: ProcessFate,
    /// What it does to the lead of those that it hits.
    pub leads: LeadLoss,
    /// It leaves sessions to expire, by touches that do not come any more.
    pub lets_sessions_expire: bool,
    /// Whoever is hit does not hear, or hears late, that it has lost the lead.
    pub deafens: bool,
    /// Whoever is hit may act for a moment after it has lost the lead, whatever the recipe: a process wakes up that was stopped,
    /// or a session is ended that its owner still believes in.
    pub outwits_recipes: bool,
    /// When the servers elect a leader after it hit the one that they had.
    pub elects: Elects,
    /// What it does to the counters of the servers that it hits.
    pub counters: Counters,
    /// Whoever it hits may lead on and bring nothing about.
    pub withholds_effect: bool,
    /// It lies in wait for what it hits, for as long as it lasts at most. Whoever may come by is as before until then.
    pub lies_in_wait: bool,
    /// It is carried out on the servers alone: a host of its target may be down or under another fault.
    pub needs_no_host: bool,
    /// What servers that it hits say when they are asked; None: what they said before, or nobody is hit.
    pub leaves: Option<ServerState>,
    /// How it is verified to have taken effect.
    pub proof: &'static str,
}

impl FaultFacts {
    /// Whether whoever it hits can do all that it could before, for as long as it lasts: it hears, is heard, and runs.
    #[must_use]
    pub fn leaves_all_able(&self) -> bool {
        let out = self.takes_out || self.deafens || self.cuts.is_some() || self.process != ProcessFate::Kept;
        let lead = self.leads != LeadLoss::NotSure || self.lets_sessions_expire || self.outwits_recipes;
        self.until_healed && !out && !lead && !self.lies_in_wait && self.hits != Hits::Servers
    }
}

/// What a fault is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    Nobody,
    /// Single candidates.
    Candidates,
    /// Hosts whole, with all their candidates.
    Hosts,
    Servers,
}

/// Whether hosts have to reach the servers over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkNeed {
    None,
    /// Over links it is known when each session was last heard of, and so when it could expire at the earliest.
    Useful,
    /// It acts on links.
    Needed,
    /// It acts on single messages of links: on such as read what passes.
    Reading,
}

/// Whether a fault says how long it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
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

/// Whether whoever leads under a fault loses the lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadLoss {
    /// It may keep it.
    NotSure,
    /// If its session can expire meanwhile: by more than T and what the servers round up to.
    IfLongerThanTimeout,
    Always,
    /// All stand for it anew, and whoever had it may be the first again.
    Anew,
}

/// A candidate whose znode somebody else deleted waits for so long before it enrols again, so that a deletion of the whole election
/// can get through.
pub const STANDS_ANEW_AFTER_MS: u64 = 200;

/// When the ensemble elects a leader after a fault on the one that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elects {
    Never,
    /// Its loss is seen at once.
    AtOnce,
    /// Once the others have missed it for `syncLimit`.
    WhenMissed,
    /// Once all servers are started again.
    WhenStarted,
}

/// What becomes of a server's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    Kept,
    /// Its clock goes on and it does not; on waking it counts what nobody hears of.
    Stopped,
    /// It drops its clients' watches uncounted.
    WatchesDropped,
    /// It counts from anew.
    Anew,
}

/// A fault on nobody, from which the rows below differ.
const BLANK: FaultFacts = FaultFacts {
    hits: Hits::Nobody,
    takes_out: false,
    links: LinkNeed::None,
    lasts: Lasts::No,
    cuts: None,
    until_healed: false,
    process: ProcessFate::Kept,
    leads: LeadLoss::NotSure,
    lets_sessions_expire: false,
    deafens: false,
    outwits_recipes: false,
    elects: Elects::Never,
    counters: Counters::Kept,
    withholds_effect: false,
    lies_in_wait: false,
    needs_no_host: false,
    leaves: None,
    proof: "there is nothing to prove",
};

const ON_LINKS: FaultFacts = FaultFacts { hits: Hits::Hosts, links: LinkNeed::Needed, ..BLANK };
const PARTITION: FaultFacts = FaultFacts {
    takes_out: true,
    lasts: Lasts::Must,
    until_healed: true,
    deafens: true,
    proof: "every link answers before it and none during it, no byte is counted on its way, and every server answers past its links",
    ..ON_LINKS
};
const ON_SERVERS: FaultFacts =
    FaultFacts { hits: Hits::Servers, takes_out: true, until_healed: true, needs_no_host: true, ..BLANK };

/// The kinds with their names and rows.
macro_rules! kinds {
    ($(#[doc = $about:literal] $variant:ident = $name:literal, $($field:ident: $value:expr),*; ..$rest:expr)+) => {
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
        }
    };
}

kinds! {
    /// No fault at all: a control.
    None = "none", lasts: Lasts::May; ..BLANK

    /// The leader gives the lead back.
    Resign = "resign",
        hits: Hits::Candidates, leads: LeadLoss::Always,
        proof: "the deletion of its znode is answered";
        ..BLANK

    /// The host's process is killed; its sessions are left to expire.
    Crash = "crash",
        hits: Hits::Hosts, takes_out: true, links: LinkNeed::Useful, lasts: Lasts::May, process: ProcessFate::Ended,
        leads: LeadLoss::Always, lets_sessions_expire: true,
        proof: "the process has ended, by the signal";
        ..BLANK

    /// The host's process is sent SIGTERM, as a deployment ends it, and given time to go.
    Terminate = "terminate",
        hits: Hits::Hosts, takes_out: true, links: LinkNeed::Useful, lasts: Lasts::May, process: ProcessFate::Ended,
        leads: LeadLoss::Always,
        proof: "the process has ended after it was sent the signal";
        ..BLANK

    /// The session is ended by the server at once.
    Expire = "expire",
        hits: Hits::Candidates, leads: LeadLoss::Always,
        outwits_recipes: true,
        proof: "a second connection takes the session over and its close is answered";
        ..BLANK

    /// The znode of a leader's group is deleted with all that is in it, and made again.
    ParentDelete = "parent-delete",
        hits: Hits::Candidates, leads: LeadLoss::Anew,
        outwits_recipes: true, needs_no_host: true,
        proof: "the transaction is answered, and the group's znode is another one";
        ..BLANK

    /// The connection is reset.
    Disconnect = "disconnect", proof: "connections that stood are seen to close"; ..ON_LINKS

    /// A create is carried out, and the answer to it never arrives: its connection is closed instead.
    LostReply = "lost-reply",
        links: LinkNeed::Reading, lasts: Lasts::Must, until_healed: true, lies_in_wait: true,
        proof: "the link held back the answer to a create that had been carried out, and closed its connection";
        ..ON_LINKS

    /// Nothing passes, both ways, and nobody is told.
    Partition = "partition",
        cuts: Some(Direction::Both), leads: LeadLoss::IfLongerThanTimeout, lets_sessions_expire: true;
        ..PARTITION

    /// Nothing passes from host to server.
    PartitionUp = "partition-up",
        cuts: Some(Direction::Up), leads: LeadLoss::IfLongerThanTimeout, lets_sessions_expire: true;
        ..PARTITION

    /// Nothing passes from server to host.
    PartitionDown = "partition-down", cuts: Some(Direction::Down); ..PARTITION

    /// Latency, jitter, bandwidth.
    Slow = "slow",
        lasts: Lasts::Must, until_healed: true, deafens: true,
        proof: "every toxic is read back, and probes take as much longer as they must";
        ..ON_LINKS

    /// The host's process is stopped and continued.
    Pause = "pause",
        hits: Hits::Hosts, takes_out: true, links: LinkNeed::Useful, lasts: Lasts::Must, until_healed: true,
        process: ProcessFate::Stopped, leads: LeadLoss::IfLongerThanTimeout, lets_sessions_expire: true, deafens: true,
        outwits_recipes: true,
        proof: "the kernel says that the process is stopped";
        ..BLANK

    /// The work of the host's leaders hangs, while their sessions live: the resource neither takes nor answers their writes.
    Hang = "hang",
        hits: Hits::Hosts, lasts: Lasts::Must, until_healed: true, withholds_effect: true,
        proof: "a write of a leader there came in and was not taken";
        ..BLANK

    /// The wall clock of the host jumps, and back when it is over.
    ClockStep = "clock-step",
        hits: Hits::Hosts, lasts: Lasts::Must, until_healed: true,
        proof: "the wall clock is read back, from the process itself";
        ..BLANK

    /// A server is killed and, if it lasts, started again on its data.
    ServerKill = "server-kill",
        lasts: Lasts::May, elects: Elects::AtOnce, counters: Counters::Anew, leaves: Some(ServerState::Down),
        proof: "the process has ended and nobody answers there";
        ..ON_SERVERS

    /// A server is stopped and continued.
    ServerPause = "server-pause",
        lasts: Lasts::Must, elects: Elects::WhenMissed, counters: Counters::Stopped,
        leaves: Some(ServerState::Silent),
        proof: "the process is stopped and the server is silent";
        ..ON_SERVERS

    /// Nothing passes between some servers and the others; clients reach all of them.
    ServerPartition = "server-partition",
        lasts: Lasts::Must, elects: Elects::WhenMissed, counters: Counters::WatchesDropped,
        proof: "no byte is counted on the links among the servers";
        ..ON_SERVERS

    /// All servers are killed, then started one after the other.
    ServerRestartAll = "server-restart-all",
        takes_out: false, elects: Elects::WhenStarted, counters: Counters::Anew,
        leaves: Some(ServerState::Down),
        proof: "the processes have ended and nobody answers there";
        ..ON_SERVERS
}

/// Reads of the row that are asked for often.
impl FaultKind {
    /// True for faults that hit hosts whole.
    #[must_use]
    pub fn hits_hosts(self) -> bool {
        self.facts().hits == Hits::Hosts
    }

    /// Whether it takes the znodes of whom it hits at once, or has them given back.
    #[must_use]
    pub const fn takes_znodes(self) -> bool {
        matches!(self.facts().hits, Hits::Candidates) || matches!(self.facts().process, ProcessFate::Ended)
    }

    /// True for faults that hit single candidates.
    #[must_use]
    pub fn hits_candidates(self) -> bool {
        self.facts().hits == Hits::Candidates
    }

    /// True for faults on the servers, which hit no candidate themselves.
    #[must_use]
    pub fn hits_servers(self) -> bool {
        self.facts().hits == Hits::Servers
    }

    /// True for faults that take a host out: no more than a minority of hosts at a time, unless the scenario asks for it.
    #[must_use]
    pub fn takes_hosts_out(self) -> bool {
        self.hits_hosts() && self.facts().takes_out
    }

    /// True for faults that take a server out: no more than a minority of servers at a time, unless the scenario asks for it.
    #[must_use]
    pub fn takes_servers_out(self) -> bool {
        self.hits_servers() && self.facts().takes_out
    }

    /// True for faults under which a host, while they last, is hit by no other one: what comes of two at once could be put
    /// down to neither.
    #[must_use]
    pub fn exempts_hosts(self) -> bool {
        self.hits_hosts() && self.facts().lasts != Lasts::No && !self.facts().lies_in_wait
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

    /// True for faults that act on single messages, which only links that read what passes can do.
    #[must_use]
    pub fn needs_reading_links(self) -> bool {
        self.facts().links == LinkNeed::Reading
    }

    /// True for faults that leave sessions to expire without acting on links: over links it is known when each session was
    /// last heard of, and so when it could expire at the earliest.
    #[must_use]
    pub fn profits_by_links(self) -> bool {
        self.facts().links == LinkNeed::Useful
    }

    /// True for faults that last, and so must say how long. A restart of all servers is over when all are started.
    #[must_use]
    pub fn needs_duration(self) -> bool {
        self.facts().lasts == Lasts::Must
    }

    /// True for faults that may say how long they last.
    #[must_use]
    pub fn takes_duration(self) -> bool {
        self.facts().lasts != Lasts::No
    }
}

/// A fault kind that there is not.
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

/// What a receipt proves of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiptStage {
    Injected,
    Healed,
}
