//! Fixed schedules: what is done to whom, and when, in a simulated cell of one group. Unlike a plan of faults, a schedule can
//! hit at one request of one candidate, which is where most bugs of elections live.

mod words;

use hustings_record::Direction;

/// Number of a candidate in its cell, from 0. Candidates join in this order, so that candidate 0 leads first; each has a host
/// of its own, with the same number.
pub type CandidateNumber = u32;

/// In an action: whoever leads when it is done, or nobody where nobody does.
pub const LEADER: CandidateNumber = CandidateNumber::MAX;

/// In an action: the server that leads the ensemble when it is done. The ids of servers begin with 1.
pub const SERVER_LEADER: u32 = 0;

/// One step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub when: When,
    pub action: Action,
}

/// When a step is taken; each is taken once, and those that wait for the same moment in the order of the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// So many milliseconds after everybody has joined.
    At(u64),
    /// The candidate sends such a request for the `nth` time, from 1, counted from its start (or, with `after_ms`, from so many
    /// milliseconds after everybody has joined). The step is taken before the request leaves.
    Sent { cand: CandidateNumber, kind: ScheduledRequest, part: &'static str, nth: u32, after_ms: Option<u64> },
    /// The candidate begins its `nth` term, from 1, since its process began.
    Leads { cand: CandidateNumber, nth: u32 },
}

/// What a request asks for. `part` of [`When::Sent`] must be in its path.
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

/// What is done. Those without a candidate are done to the request that the step waited for, and to its connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// The request is carried out; its connection breaks before the answer is sent.
    LoseReply,
    /// The connection breaks before the request arrives.
    LoseRequest,
    /// The request reaches its server so many milliseconds later, and everything that is sent after it too.
    DelayRequest(u64),
    /// The answer, and everything after it, is so many milliseconds later.
    DelayReply(u64),
    /// The candidate's connection is reset.
    Disconnect(CandidateNumber),
    /// The ensemble ends the candidate's session, at once.
    Expire(CandidateNumber),
    /// Nothing passes between the candidate's host and the servers for so long, and nobody is told.
    Partition { cand: CandidateNumber, way: Direction, for_ms: u64 },
    /// The candidate's process is stopped for so long.
    Pause { cand: CandidateNumber, for_ms: u64 },
    /// The candidate's process is killed, and started again after so long.
    Crash { cand: CandidateNumber, for_ms: Option<u64> },
    /// The candidate is told to resign; it stands again later.
    Resign(CandidateNumber),
    /// The candidate's current znode is deleted by somebody else.
    DeleteNode(CandidateNumber),
    /// The group's znode is deleted with all that is in it, and made again, if anybody leads.
    DeleteParent,
    /// From now on the candidate's server applies what the leader commits so many milliseconds late.
    Lag { cand: CandidateNumber, by_ms: u64 },
    /// From now on everything between the candidate's host and the servers takes so many milliseconds more, each way.
    Slow { cand: CandidateNumber, by_ms: u64 },
    /// From now on the candidate's writes reach the resource so many milliseconds later.
    SlowWrites { cand: CandidateNumber, by_ms: u64 },
    /// The candidate's session is closed by its own process while the recipe goes on.
    Close(CandidateNumber),
    /// As many znodes have been created in the elections before as it takes for the next one to get this number.
    CountFrom(i32),
    /// The candidate's wall clock is set back by so much.
    SetClockBack { cand: CandidateNumber, by_ms: u64 },
    /// A server, by its id, is harmed for so long, unless it is already.
    Server { id: u32, harm: Harm, for_ms: u64 },
    /// All servers are killed, and started again so far from each other, unless one is harmed already.
    RestartServers { gap_ms: u64 },
}

/// What is done to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    Kill,
    Pause,
    /// Nothing passes between it and the other servers; clients reach it.
    Part,
}
