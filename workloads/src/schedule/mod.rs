//! Fixed schedules: actions, their targets and their times in a simulated cell of one group. Unlike a plan of faults, a
//! schedule can hit at one request of one candidate, where most bugs of elections occur.

mod words;

use hustings_record::Direction;

/// Number of a candidate in its cell, from 0. Candidates join in this order, so that candidate 0 leads first; each has
/// its own host with the same number.
pub type CandidateNumber = u32;

/// In an action: the leader at that time; the action hits nobody if there is none.
pub const LEADER: CandidateNumber = CandidateNumber::MAX;

/// In an action: the ensemble's leader at that time. The ids of servers begin with 1.
pub const SERVER_LEADER: u32 = 0;

/// One step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub when: StepTrigger,
    pub action: Action,
}

/// When a step is taken, once. Steps that wait for the same moment are taken in the order of the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepTrigger {
    /// This many milliseconds after all candidates have joined.
    At(u64),
    /// The candidate sends such a request for the `nth` time, from 1. It counts from its start, or with `after_ms` from
    /// that many milliseconds after all candidates have joined. The step is taken before the request leaves.
    Sent { cand: CandidateNumber, kind: ScheduledRequest, part: &'static str, nth: u32, after_ms: Option<u64> },
    /// The candidate begins its `nth` term, from 1, since its process began.
    Leads { cand: CandidateNumber, nth: u32 },
}

/// The kind of a request. Its path must contain `part` of [`StepTrigger::Sent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScheduledRequest {
    Create,
    Delete,
    Children,
    Exists,
    Get,
    Set,
    Multi,
    Sync,
    Any,
}

/// The action of a step. Those without a candidate act on the request that the step waited for, and on its connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// The request is executed; its connection breaks before the answer is sent.
    LoseReply,
    /// The connection breaks before the request arrives.
    LoseRequest,
    /// The request and everything sent after it reach their server this many milliseconds later.
    DelayRequest(u64),
    /// The answer and everything after it arrive this many milliseconds later.
    DelayReply(u64),
    /// The candidate's connection is reset.
    Disconnect(CandidateNumber),
    /// The ensemble ends the candidate's session at once.
    Expire(CandidateNumber),
    /// Nothing passes between the candidate's host and the servers for this long, and no side is notified.
    Partition { cand: CandidateNumber, way: Direction, for_ms: u64 },
    /// The candidate's process is stopped for this long.
    Pause { cand: CandidateNumber, for_ms: u64 },
    /// The candidate's process is killed, and restarted after this long.
    Crash { cand: CandidateNumber, for_ms: Option<u64> },
    /// The candidate is ordered to resign; it enrols again later.
    Resign(CandidateNumber),
    /// Another client deletes the candidate's current znode.
    DeleteNode(CandidateNumber),
    /// The group's znode is deleted with all its children and created again, if there is a leader.
    DeleteParent,
    /// From now on the candidate's server applies the leader's commits this many milliseconds late.
    Lag { cand: CandidateNumber, by_ms: u64 },
    /// From now on everything between the candidate's host and the servers takes this many milliseconds more, each way.
    Slow { cand: CandidateNumber, by_ms: u64 },
    /// From now on the candidate's writes reach the resource this many milliseconds later.
    SlowWrites { cand: CandidateNumber, by_ms: u64 },
    /// The candidate's own process closes its session while the recipe goes on.
    Close(CandidateNumber),
    /// The elections' counters are set so that the next znode gets this number.
    CountFrom(i32),
    /// The candidate's wall clock is set back by this much.
    SetClockBack { cand: CandidateNumber, by_ms: u64 },
    /// A server, by its id, is under this fault for this long, unless it is under one already.
    Server { id: u32, outage: ServerOutageKind, for_ms: u64 },
    /// All servers are killed, and restarted with this gap, unless one is under a fault already.
    RestartServers { gap_ms: u64 },
}

/// A fault on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerOutageKind {
    Kill,
    Pause,
    /// Nothing passes between it and the other servers; clients still reach it.
    Part,
}
