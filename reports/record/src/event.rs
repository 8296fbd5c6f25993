//! The events of a record: one enum, versioned by [`crate::SCHEMA`]. Times are nanoseconds of CLOCK_MONOTONIC, which
//! all processes of one machine share. An event stamped at one instant calls that time `t`. Long and rare variants are
//! boxed, because the largest other variant sets the memory use of every event.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidate::{Departure, RevokeReason};
use crate::cell::{CellInfo, FencingMethod};
use crate::holdings::Holdings;
use crate::misbehaviour::Misbehaviour;
use crate::nanos::Nanos;
use crate::observed::{LeadOwner, ObserverWeight};
use crate::phase::Phase;
use crate::plan::{FaultIntent, WithheldReason};
use crate::program::ProgramInfo;
use crate::server::{ServerLine, ServerLoad, ServerMetrics, ServerState, WindowEdge, by_server};
use crate::session::{SessionState, WatchEvent};
use crate::verification::{FaultOrder, VerificationEvent};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "e", rename_all = "snake_case")]
pub enum Event {
    // ---- every writer
    /// First event of every segment. `generation` counts the processes that were this host in this cell, from 0.
    Segment {
        schema: u32,
        t: Nanos,
        cell: u32,
        writer: String,
        host: Option<u16>,
        #[serde(rename = "life")]
        generation: u32,
        pid: u32,
        clock_uncertainty_ns: Nanos,
    },
    /// The 1 ms ticker of this process did not run between these two times.
    Stall {
        from: Nanos,
        to: Nanos,
        /// It is a thread of the program beside this process that was ready and was given no processor.
        #[serde(default, skip_serializing_if = "no")]
        program: bool,
        /// For so long its thread ran all the same, and had other things to do.
        #[serde(default, skip_serializing_if = "nothing")]
        ran_ns: Nanos,
    },
    /// A process that the run stands on (a server, a link proxy) was seen not to run, though no fault had it so.
    Outage {
        /// When it was last seen to run.
        from: Nanos,
        /// None: for good.
        to: Option<Nanos>,
        /// The name of its segment where it has one, else "server 2".
        who: String,
    },
    /// A thread of one of the run's own servers was ready to run and was given no processor.
    ServerWait { from: Nanos, to: Nanos, server: u32 },
    /// Last event of a segment that was ended in order. Its absence says that the writer was killed.
    End { t: Nanos },

    // ---- hosts
    Candidate {
        // A host has this candidate of this group.
        t: Nanos,
        cand: u32,
        group: u32,
    },
    /// A session was established with this negotiated timeout T.
    Session { t: Nanos, session: i64, timeout_ms: u64, asked_ms: u64, connect_ns: Nanos },
    State {
        // As its client reports it.
        t: Nanos,
        session: i64,
        state: SessionState,
    },
    /// A candidate begins a life under a session.
    Incarnation { t: Nanos, cand: u32, session: i64 },
    /// The candidate stands. Queue recipes: the name of its znode and its czxid.
    Joined { t: Nanos, cand: u32, session: i64, node: Option<String>, czxid: Option<i64> },
    /// An ephemeral znode of this candidate was created in its election, as its connections show it.
    Created { t: Nanos, cand: u32, session: i64, node: String, czxid: i64 },
    /// a⁻ of a term: written through to the kernel before the candidate believes. `node` is the name of the znode it rests on.
    Grant { t: Nanos, cand: u32, session: i64, term: u32, czxid: i64, node: String },
    /// a⁺ of a term.
    Granted { t: Nanos, cand: u32, session: i64, term: u32 },
    /// [r⁻, r⁺] of a term: written through to the kernel before the candidate acts on it.
    Revoke { from: Nanos, to: Nanos, cand: u32, session: i64, term: u32, reason: RevokeReason },
    /// A watch of this candidate fired. `node` is a name, not a path.
    Notified { t: Nanos, cand: u32, session: i64, node: String, kind: WatchEvent },
    /// The requests that the candidate sent since it joined or was last notified, now that it is done with it: it waits with its
    /// watch armed, or leads.
    Settled { t: Nanos, cand: u32, session: i64, requests: u32 },
    /// End of an incarnation.
    Left { t: Nanos, cand: u32, session: i64, how: Departure },
    Note {
        // For people: no check reads it.
        t: Nanos,
        cand: Option<u32>,
        text: String,
    },

    // ---- hosts that run an external program
    /// The program, as it introduces itself.
    Program(Box<ProgramInfo>),
    /// It did what it must not do, or did not what it must.
    Misbehaved {
        t: Nanos,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cand: Option<u32>,
        /// Since when it had the order that it did not follow in time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Nanos>,
        what: Misbehaviour,
        text: String,
    },

    /// A server still answered on a connection of a session so long after that had ended (ns), and so its holder was not told. The
    /// connection was cut.
    Severed { t: Nanos, session: i64, answered_ns: Nanos },

    // ---- links that decode traffic
    /// What passed and was not written down: so many things were lost, and connections of so many hosts made no sense.
    Unwitnessed { t: Nanos, lost: u64, unsound: u64 },

    // ---- coordinator
    /// Second event of the coordinator's segment.
    Cell { t: Nanos, info: Box<CellInfo> },
    Phase {
        // It begins here.
        t: Nanos,
        phase: Phase,
    },
    HostStarted {
        t: Nanos,
        host: u16,
        #[serde(rename = "life")]
        generation: u32,
        pid: u32,
    },
    /// The process is gone; `killed` when the harness meant it to go.
    HostEnded {
        t: Nanos,
        host: u16,
        #[serde(rename = "life")]
        generation: u32,
        killed: bool,
        status: String,
        rss_max_kb: u64,
    },
    /// Resident memory of a host's process, in KiB, and its threads, when every group was led.
    HostMemory {
        t: Nanos,
        host: u16,
        rss_kb: u64,
        candidates: u32,
        /// None: not recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        threads: Option<u32>,
    },
    /// All faults of the cell's plan, as measuring begins. Each is ordered or withheld later.
    FaultPlan { t: Nanos, faults: Vec<FaultIntent> },
    /// The planned fault `planned` was not ordered.
    FaultWithheld { t: Nanos, planned: u32, why: WithheldReason },
    /// A fault was ordered.
    Fault(Box<FaultOrder>),
    /// Proof (or the lack of it) that a fault took effect, or ended.
    #[serde(rename = "receipt")]
    Verification(Box<VerificationEvent>),
    /// One write at the fenced resource, in the order in which the resource took them (`seq`, per run of the coordinator).
    Write {
        t: Nanos,
        /// Stamped by its host just before it went out; None: not recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<Nanos>,
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
    Fence { t: Nanos, group: u32, by: u32, old_czxid: i64, old_session: i64, how: FencingMethod, done: bool },
    /// `mntr` of every server.
    Servers {
        t: Nanos,
        at: WindowEdge,
        /// By the server's id.
        #[serde(deserialize_with = "by_server")]
        metrics: BTreeMap<u32, ServerMetrics>,
    },
    /// How loaded a server is, as it said at that time; while it does not answer it says nothing.
    ServerLoad { t: Nanos, server: u32, load: Box<ServerLoad> },
    /// What servers hold by their own lists, asked between these two times. `servers` say the same of sessions and ephemeral
    /// znodes, and the watches are those of all of them; a server that says otherwise has an event of its own.
    Holdings { from: Nanos, to: Nanos, at: WindowEdge, servers: Vec<u32>, holds: Box<Holdings> },
    /// From here on every server is asked for its state (`srvr`), the next time so long after the last answer: the stated
    /// resolution of all that `ServerState` says. 0: nobody needs to ask, every change is told.
    ServerWatch { t: Nanos, every_ns: Nanos },
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
    ServerWatched { t: Nanos, server: u32, looks: u64, longest_gap_ns: Nanos },
    /// Looks at a server, one after the other: when the first was asked for, and of each how much later than the one before it
    /// was asked for and how long its answer took. All that `ServerWatched` says is in them.
    ServerLooks { t: Nanos, server: u32, looks: Vec<(Nanos, Nanos)> },
    /// What times of servers' logs were put on the common clock by: that much is a log's clock ahead of it, and by so much it may
    /// have been otherwise while the cell was watched.
    LogClock { t: Nanos, ahead_ns: i64, bound_ns: Nanos },
    /// In a watched cell probes write through every server, one write after the other, `every_ns` after the last was
    /// acknowledged: here they begin.
    WriteProbe { t: Nanos, every_ns: Nanos },
    /// No probe's write was acknowledged between `from`, the last acknowledgement before, and `to`, the first one after it or
    /// the end of the probes (`ended`). Only gaps much longer than the probes' interval are written down.
    WriteGap { from: Nanos, to: Nanos, ended: bool },
    /// Writes of the probes that were acknowledged, in order: the first at `t`, and each so much later than the one before it.
    WritesAcknowledged { t: Nanos, then: Vec<Nanos> },
    /// The probes have ended, and so many writes were acknowledged.
    WriteProbed { t: Nanos, acknowledged: u64 },
    /// A line of a server's own log about the ensemble's elections. `t` is the log's time of day, put on the common clock: as
    /// good as the log's milliseconds.
    ServerLog { t: Nanos, server: u32, line: ServerLine },
    /// One sample of the floor: over the same links, a znode deleted, its watcher notified, the list read; under the sessions of
    /// who deleted and who watched, where they are told.
    Floor {
        deleted: Nanos,
        notified: Nanos,
        listed: Nanos,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sessions: Option<(i64, i64)>,
    },
    /// A sample of the floor that had come to nothing by `t`. Where its deletion was sent, it had lasted since then.
    FloorFailed { t: Nanos, deleted: Option<Nanos>, why: String },

    // ---- observer
    /// Who owns the lead of a group says ZooKeeper.
    Owner(Box<LeadOwner>),
    /// Whether the observer has a connection, and a watch that tells it of every change. It says so after it has read all owners
    /// anew; a session of its own that has ended is followed by another one.
    ObserverState { t: Nanos, connected: bool },
    /// The observer asked and got no answer: it may have missed a change. Of a group: from then on it does not know the owner,
    /// until it says one again. None: a question about no group in particular, the first of a row.
    ObserverMissed {
        t: Nanos,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<u32>,
        why: String,
    },
    /// How often the servers count what only the observer watches.
    ObserverWeight(Box<ObserverWeight>),
    /// Notifications that the observer itself got in this cell so far: they are in the servers' counters too.
    ObserverCount {
        t: Nanos,
        deleted: u64,
        /// None: not recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        created: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed: Option<u64>,
    },
}

impl Event {
    /// Whether it is an action of a candidate or its client, or a notification to them: hosts and links record it.
    #[must_use]
    pub fn is_candidate_activity(&self) -> bool {
        matches!(
            self,
            Self::Session { .. }
                | Self::State { .. }
                | Self::Incarnation { .. }
                | Self::Created { .. }
                | Self::Joined { .. }
                | Self::Left { .. }
                | Self::Notified { .. }
                | Self::Settled { .. }
        )
    }

    /// Whether it must reach the kernel before its writer goes on, because a process acts on it or because it must
    /// survive a killed run. All other events follow soon.
    #[must_use]
    pub fn is_written_through(&self) -> bool {
        match self {
            Self::Segment { .. }
            | Self::End { .. }
            | Self::Grant { .. }
            | Self::Revoke { .. }
            | Self::Cell { .. }
            | Self::Phase { .. }
            | Self::HostEnded { .. }
            | Self::Outage { .. }
            | Self::Program(_)
            | Self::Unwitnessed { .. }
            | Self::Misbehaved { .. }
            | Self::Verification(_)
            | Self::ServerState { .. } => true,
            Self::Stall { .. }
            | Self::ServerWait { .. }
            | Self::Candidate { .. }
            | Self::Session { .. }
            | Self::State { .. }
            | Self::Incarnation { .. }
            | Self::Joined { .. }
            | Self::Created { .. }
            | Self::Granted { .. }
            | Self::Notified { .. }
            | Self::Settled { .. }
            | Self::Left { .. }
            | Self::Note { .. }
            | Self::Severed { .. }
            | Self::HostStarted { .. }
            | Self::HostMemory { .. }
            | Self::FaultPlan { .. }
            | Self::FaultWithheld { .. }
            | Self::Fault(_)
            | Self::Write { .. }
            | Self::Fence { .. }
            | Self::Servers { .. }
            | Self::ServerLoad { .. }
            | Self::Holdings { .. }
            | Self::ServerWatch { .. }
            | Self::ServerWatched { .. }
            | Self::ServerLooks { .. }
            | Self::LogClock { .. }
            | Self::WriteProbe { .. }
            | Self::WritesAcknowledged { .. }
            | Self::WriteGap { .. }
            | Self::WriteProbed { .. }
            | Self::ServerLog { .. }
            | Self::Floor { .. }
            | Self::FloorFailed { .. }
            | Self::Owner(_)
            | Self::ObserverState { .. }
            | Self::ObserverMissed { .. }
            | Self::ObserverWeight(_)
            | Self::ObserverCount { .. } => false,
        }
    }
}

fn no(whether: &bool) -> bool {
    !whether
}

fn nothing(ns: &Nanos) -> bool {
    *ns == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_millions_takes_a_cache_line() {
        // Box a variant that makes the enum larger, unless it is the most frequent one.
        assert!(size_of::<Event>() <= 64, "{} bytes", size_of::<Event>());
    }
}
