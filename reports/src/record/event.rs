//! The events of a record. One enum, versioned by [`super::SCHEMA`]; times are nanoseconds of CLOCK_MONOTONIC, which all
//! processes of one machine share. Every event that is stamped at one instant calls it `t`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::CellInfo;

/// Nanoseconds of CLOCK_MONOTONIC.
pub type Nanos = u64;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "e", rename_all = "snake_case")]
pub enum Event {
    // ---- every writer
    /// First event of every segment. `life` counts the processes that were this host in this cell, from 0.
    Segment {
        schema: u32,
        t: Nanos,
        cell: u32,
        writer: String,
        host: Option<u16>,
        life: u32,
        pid: u32,
        clock_uncertainty_ns: Nanos,
    },
    /// The 1 ms ticker of this process did not run between these two times.
    Stall {
        from: Nanos,
        to: Nanos,
    },
    /// Last event of a segment that was ended in order. Its absence says that the writer was killed.
    End {
        t: Nanos,
    },

    // ---- hosts
    Candidate {
        t: Nanos,
        cand: u32,
        group: u32,
    },
    /// A session was established with this negotiated timeout T.
    Session {
        t: Nanos,
        session: i64,
        timeout_ms: u64,
        asked_ms: u64,
        connect_ns: Nanos,
    },
    State {
        t: Nanos,
        session: i64,
        state: SessionChange,
    },
    /// A candidate begins a life under a session.
    Incarnation {
        t: Nanos,
        cand: u32,
        session: i64,
    },
    /// The candidate stands. Queue recipes: the name of its znode and its czxid.
    Joined {
        t: Nanos,
        cand: u32,
        session: i64,
        node: Option<String>,
        czxid: Option<i64>,
    },
    /// a⁻ of a term: written through to the kernel before the candidate believes. `node` is the name of the znode it rests on.
    Grant {
        t: Nanos,
        cand: u32,
        session: i64,
        term: u32,
        czxid: i64,
        node: String,
    },
    /// a⁺ of a term.
    Granted {
        t: Nanos,
        cand: u32,
        session: i64,
        term: u32,
    },
    /// [r⁻, r⁺] of a term: written through to the kernel before the candidate acts on it.
    Revoke {
        from: Nanos,
        to: Nanos,
        cand: u32,
        session: i64,
        term: u32,
        reason: Reason,
    },
    /// A watch of this candidate fired. `node` is a name, not a path.
    Notified {
        t: Nanos,
        cand: u32,
        session: i64,
        node: String,
        kind: NotifiedKind,
    },
    /// The requests that the candidate sent since it joined or was last notified, now that it is done with it: it waits with its
    /// watch armed, or leads.
    Settled {
        t: Nanos,
        cand: u32,
        session: i64,
        requests: u32,
    },
    /// End of an incarnation. `delete`: when the deletion of its znode was sent and answered.
    Left {
        t: Nanos,
        cand: u32,
        session: i64,
        how: LeaveHow,
        delete: Option<(Nanos, Nanos)>,
    },
    Note {
        t: Nanos,
        cand: Option<u32>,
        text: String,
    },

    // ---- coordinator
    /// Second event of the coordinator's segment.
    Cell {
        t: Nanos,
        info: Box<CellInfo>,
    },
    Phase {
        t: Nanos,
        phase: PhaseName,
    },
    HostStarted {
        t: Nanos,
        host: u16,
        life: u32,
        pid: u32,
    },
    /// The process is gone; `killed` when the harness meant it to go.
    HostEnded {
        t: Nanos,
        host: u16,
        life: u32,
        killed: bool,
        status: String,
        rss_max_kb: u64,
    },
    /// Resident memory of a host's process, in KiB, when every group was led.
    HostMemory {
        t: Nanos,
        host: u16,
        rss_kb: u64,
        candidates: u32,
    },
    /// A fault was ordered. `cands` are all candidates it may hit, `groups` the groups whose leader it was aimed at.
    Fault {
        id: u32,
        kind: FaultKind,
        t: Nanos,
        intended: Nanos,
        for_ms: Option<u64>,
        hosts: Vec<u16>,
        cands: Vec<u32>,
        groups: Vec<u32>,
        /// Ids of the servers it hits; none for faults on candidates and hosts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        servers: Vec<u32>,
        detail: String,
    },
    /// Proof (or the lack of it) that fault `id` took effect, or ended, between `from` and `to`.
    Receipt {
        id: u32,
        stage: ReceiptStage,
        from: Nanos,
        to: Nanos,
        verified: bool,
        evidence: String,
        touches: Vec<Touch>,
    },
    /// One write at the fenced resource, in the order in which the resource took them (`seq`, per run of the coordinator).
    Write {
        t: Nanos,
        seq: u64,
        group: u32,
        cand: u32,
        host: u16,
        czxid: i64,
        session: i64,
        unfenced_stale: bool,
        fenced_rejected: bool,
        fenced_stale: bool,
    },
    /// A candidate about to lead asked for its predecessor to be fenced.
    Fence {
        t: Nanos,
        group: u32,
        by: u32,
        old_czxid: i64,
        old_session: i64,
        how: String,
        done: bool,
    },
    /// `mntr` of every server.
    Servers {
        t: Nanos,
        at: String,
        /// By the server's id.
        #[serde(deserialize_with = "by_server")]
        metrics: BTreeMap<u32, ServerMetrics>,
    },
    /// From here on every server is asked for its state (`srvr`), the next time so long after the last answer: the stated
    /// resolution of all that `ServerState` says. 0: nobody needs to ask, every change is told.
    ServerWatch {
        t: Nanos,
        every_ns: Nanos,
    },
    /// A server is in another state than before: the last answer that showed the old one was asked for at `from`, the first
    /// that showed the new one was there at `to`. The first event of a server has the time of its question as `from`.
    ServerState {
        from: Nanos,
        to: Nanos,
        server: u32,
        state: ServerState,
        /// The last zxid that it says it has processed; None while it does not serve.
        zxid: Option<i64>,
    },
    /// How a server was watched in this cell: how many answers (or the lack of one) were waited for, and the longest time from
    /// one question to the next.
    ServerWatched {
        t: Nanos,
        server: u32,
        looks: u64,
        longest_gap_ns: Nanos,
    },
    /// In a watched cell probes write through every server, one write after the other, `every_ns` after the last was
    /// acknowledged: here they begin.
    WriteProbe {
        t: Nanos,
        every_ns: Nanos,
    },
    /// No probe's write was acknowledged between `from`, the last acknowledgement before, and `to`, the first one after it or
    /// the end of the probes (`ended`). Only gaps much longer than the probes' interval are written down.
    WriteGap {
        from: Nanos,
        to: Nanos,
        ended: bool,
    },
    /// The probes have ended, and so many writes were acknowledged.
    WriteProbed {
        t: Nanos,
        acknowledged: u64,
    },
    /// A line of a server's own log about the ensemble's elections. `t` is the log's time of day, put on the common clock: as
    /// good as the log's milliseconds.
    ServerLog {
        t: Nanos,
        server: u32,
        line: ServerLine,
    },
    /// One sample of the floor: over the same links, a znode deleted, its watcher notified, the list read.
    Floor {
        deleted: Nanos,
        notified: Nanos,
        listed: Nanos,
    },

    // ---- observer
    /// Who owns the lead of a group says ZooKeeper, from between `from` and `to` on; `session` None: nobody.
    Owner {
        from: Nanos,
        to: Nanos,
        group: u32,
        session: Option<i64>,
        node: Option<String>,
        czxid: Option<i64>,
    },
    /// A candidate's znode was seen to go or come (`from`: last time known otherwise; `to`: when told).
    ObserverState {
        t: Nanos,
        connected: bool,
    },
    /// How often the servers' counters count one deletion that only the observer watches, as measured before enrolment.
    ObserverWeight {
        t: Nanos,
        per_deletion: f64,
    },
    /// Deletion notifications that the observer itself got in this cell so far: they are in the servers' counters too.
    ObserverCount {
        t: Nanos,
        deleted: u64,
    },
}

/// The line of `mntr` that counts the deletion watches that a server has fired.
pub const DELETION_WATCHES_FIRED: &str = "sum_node_deleted_watch_count";

/// Numeric lines of `mntr`, without the `zk_` prefix.
pub type ServerMetrics = BTreeMap<String, f64>;

/// Keys of a JSON object are text, and inside a tagged enum serde does not make numbers of them.
fn by_server<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u32, ServerMetrics>, D::Error> {
    let by_text = BTreeMap::<String, ServerMetrics>::deserialize(deserializer)?;
    let number = |text: String| text.parse().map_err(|_| serde::de::Error::custom(format!("server {text:?}")));
    by_text.into_iter().map(|(text, metrics)| Ok((number(text)?, metrics))).collect()
}

/// The last time that bytes of a session went up its link before a fault: the start of its expiry clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    pub session: i64,
    pub last_up: Nanos,
}

/// What a server says that it is, or that it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerState {
    Leading,
    Following,
    Standalone,
    /// It answers that it does not serve: it looks for a leader, or has found one and is not in step with it yet.
    NotServing,
    /// It takes connections and does not answer in time.
    Silent,
    /// Nobody takes connections there.
    Down,
}

/// What a line of a server's log says about an election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "says")]
pub enum ServerLine {
    /// It begins to look for a leader.
    Looking,
    /// A looking server's vote for itself, as the server that logs it was told (or told itself): the place of `from` in the
    /// order of votes, which is epoch, then zxid, then id.
    Vote { from: u32, round: i64, epoch: i64, zxid: i64 },
    /// Its election is over, and took so long; `leading` or following.
    Elected { leading: bool, took_ms: u64 },
    /// A majority follows it, and it goes to serve: before it says so, it begins to count every session's time anew.
    Supported,
    /// It serves: its state is *leading* or *following*, in the phase *broadcast*.
    Serving { leading: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionChange {
    Connected,
    Disconnected,
    Expired,
    Closed,
    AuthFailed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    Resigned,
    SteppedDown,
    SessionEnded,
    Deposed,
    ElectionDeleted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotifiedKind {
    Created,
    Deleted,
    Changed,
    Children,
    SessionEnded,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeaveHow {
    Resigned,
    Stopped,
    SessionEnded,
    ElectionDeleted,
    Failed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseName {
    SetUp,
    Enrol,
    WarmUp,
    Measure,
    Heal,
    Drain,
    TearDown,
    End,
}

/// Fault kinds, as scenarios and reports spell them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// No fault at all: a control.
    None,
    /// The leader gives the lead back.
    Resign,
    /// The host's process is killed; its sessions are left to expire.
    Crash,
    /// The session is ended by the server at once.
    Expire,
    /// The connection is reset.
    Disconnect,
    /// Nothing passes, both ways, and nobody is told.
    Partition,
    /// Nothing passes from host to server.
    PartitionUp,
    /// Nothing passes from server to host.
    PartitionDown,
    /// Latency, jitter, bandwidth.
    Slow,
    /// The host's process is stopped and continued.
    Pause,
    /// A server is killed and, if it lasts, started again on its data.
    ServerKill,
    /// A server is stopped and continued.
    ServerPause,
    /// Nothing passes between some servers and the others; clients reach all of them.
    ServerPartition,
    /// All servers are killed, then started one after the other.
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

    /// True for faults on the servers, which hit no candidate themselves.
    #[must_use]
    pub fn hits_servers(self) -> bool {
        matches!(self, Self::ServerKill | Self::ServerPause | Self::ServerPartition | Self::ServerRestartAll)
    }

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
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiptStage {
    Injected,
    Healed,
}
