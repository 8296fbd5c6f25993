//! What the analysis of a record comes to: all that the reports show, and `summary.json`. Computed by
//! `analysis`, rendered by `render`; nothing in here is measured anew. Times are nanoseconds unless the name says otherwise.

use serde::{Deserialize, Serialize};

use crate::record::{CellInfo, FaultKind, Manifest, Nanos, ServerState};
use crate::verdict::Verdict;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub verdict: Verdict,
    pub manifest: Manifest,
    /// From the first event of the first cell to the last of the last one.
    #[serde(default)]
    pub recorded_ns: Option<Nanos>,
    /// What the reader of the record had to drop or mend, and cells that are missing.
    pub notes: Vec<String>,
    pub cells: Vec<CellSummary>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellSummary {
    pub info: CellInfo,
    pub verdict: Verdict,
    /// True when something unsafe was seen that the scenario expects of this cell.
    pub unsafe_as_expected: bool,
    /// T: the negotiated session timeout, in milliseconds; None when no session was established.
    pub timeout_ms: Option<u64>,
    pub checks: Vec<CheckResult>,
    pub handovers: Handovers,
    /// Failover latency and its phases: detect, spread, decide, act, of planned handovers.
    pub failover: Option<Distribution>,
    pub detect: Option<Distribution>,
    pub spread: Option<Distribution>,
    pub decide: Option<Distribution>,
    pub act: Option<Distribution>,
    /// For sessions left to expire: detect minus the floor `T − age(last touch)`, from the nearest earlier side.
    pub excess: Option<Excess>,
    /// Deleted → notified → listed, over the same links, without any election.
    pub floor: Option<Distribution>,
    pub fan_out: FanOut,
    pub split_brain: SplitBrain,
    pub writes: Writes,
    pub leaderless: Leaderless,
    pub ownership: Ownership,
    pub enrolment: Enrolment,
    #[serde(default)]
    pub faults: Faults,
    pub receipts: Vec<Receipt>,
    /// The harness's own stalls that matter here.
    pub stalls: Stalls,
    /// The groups worth looking at, worst first, few.
    pub timelines: Vec<Timeline>,
    /// What became of the candidates' sessions, where something disturbed them.
    #[serde(default)]
    pub sessions: Sessions,
    /// The ensemble's own elections, in order of time.
    #[serde(default)]
    pub elections: Vec<ServerElection>,
    /// What each server said that it was, for a picture; at most 2,000.
    #[serde(default)]
    pub server_states: Vec<ServerBar>,
    /// How the servers were watched; None: they were not.
    #[serde(default)]
    pub watch: Option<ServerWatch>,
}

/// One checker's word on one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Name in the registry of checkers.
    pub name: String,
    pub verdict: Verdict,
    /// One line: what was seen, with n and bounds.
    pub headline: String,
    /// What a person would look at next, most telling first, at most 20 lines.
    pub details: Vec<String>,
    pub unsafe_as_expected: bool,
}

/// A measured distribution with its shape, so that a plot needs no more than this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Completed samples.
    pub n: u64,
    /// Samples that had not ended when the run did; they count as longer than anything measured.
    pub censored: u64,
    pub min: Nanos,
    /// Quantiles; None where censoring hides them (Kaplan–Meier).
    pub p50: Option<Nanos>,
    pub p90: Option<Nanos>,
    pub p99: Option<Nanos>,
    pub max: Nanos,
    pub mean: Nanos,
    /// Points of the empirical distribution function: (value, fraction of all samples that are no longer), rising.
    /// At most 200.
    pub curve: Vec<(Nanos, f64)>,
}

/// A count of events that were looked for, with what stands behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub seen: u64,
    /// Opportunities (handovers, or writes) behind it.
    pub n: u64,
    /// 95 % upper bound of the rate (Clopper–Pearson; about 3/n at zero); None where n is 0.
    pub upper_95: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Handovers {
    /// Leader losses that a verified fault explains.
    pub planned: u64,
    pub completed: u64,
    pub censored: u64,
    /// False failovers: no injected fault explains them.
    pub unplanned: u64,
    /// Faults aimed at a leader that kept (or took back) the lead in the same incarnation.
    pub survived: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Excess {
    /// Detect minus the floor's nearest end `T − age`; negative values are counted as `early` and set to 0 here.
    pub over_floor: Distribution,
    pub early: u64,
    /// 1.5 tick + 500 ms: the window that theory and a busy machine leave.
    pub window_ns: Nanos,
    pub beyond_window: u64,
    /// Samples whose session had its clock restarted by a new leader of the ensemble: their floor is `restart + T`.
    #[serde(default)]
    pub restarted: u64,
    /// What these would be above the floor `T − age`, had their clock run on.
    #[serde(default)]
    pub over_naive_floor: Option<Distribution>,
    /// The same above their real floor.
    #[serde(default)]
    pub over_restarted_floor: Option<Distribution>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FanOut {
    /// Leader losses with a verified fault that were counted.
    pub losses: u64,
    /// Other candidates woken per loss: least, median, most.
    pub woken: Option<(u64, u64, u64)>,
    /// What the recipe promises, per loss: least and most expected, given who was alive.
    pub promised: Option<(u64, u64)>,
    /// Requests that those wake-ups caused, per loss: median and most.
    pub requests: Option<(u64, u64)>,
    /// First → last watcher.
    pub spread: Option<Distribution>,
    /// Deletion watches fired say the clients (least and most, given undeliverable ones), and say the servers.
    pub clients_saw: Option<(u64, u64)>,
    pub servers_say: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitBrain {
    /// Definite overlaps while both processes ran, against handovers.
    pub active: Rate,
    pub active_total_ns: Nanos,
    pub active_max_ns: Nanos,
    /// How many of the active ones nobody can promise not to be.
    #[serde(default)]
    pub apart: Apart,
    /// Definite overlaps while one of the processes was stopped: a belief without acts.
    pub latent: u64,
    pub latent_max_ns: Nanos,
    /// Overlaps that the brackets neither prove nor exclude.
    pub possible: u64,
    /// Lengths of the definite active overlaps.
    pub lengths: Option<Distribution>,
}

/// Short overlaps that no recipe can promise not to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    /// On the waking of a process that was stopped: at most T/10.
    pub waking: u64,
    /// After the ensemble ended a session by force, as long as its client could not hear of it: at most T/5 on a server that
    /// lags, T/2 behind a bad link.
    pub forced: u64,
}

impl Apart {
    /// Both.
    #[must_use]
    pub fn total(self) -> u64 {
        self.waking + self.forced
    }
}

impl std::ops::AddAssign for Apart {
    fn add_assign(&mut self, other: Self) {
        self.waking += other.waking;
        self.forced += other.forced;
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Writes {
    pub total: u64,
    /// Stale writes that the unfenced ledger accepted: what a resource without a fence would have suffered.
    pub unfenced: Rate,
    /// Writes that the fence rejected (not violations).
    pub fenced_off: u64,
    /// Stale writes that got past the fence.
    pub past_fence: Rate,
    /// Writes tried by a candidate between the waking of its process and its stepping down.
    pub on_waking: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Leaderless {
    /// Share of the measured group-time without any believer.
    pub share: f64,
    pub longest_ns: Nanos,
    pub longest_group: Option<String>,
    /// Groups without a leader when the drain ended: liveness demands none.
    pub groups_at_end: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ownership {
    /// Longest time that a candidate believed without owning, and that an owner did not believe.
    pub zombie_max_ns: Nanos,
    pub zombies: u64,
    pub dead_owner_max_ns: Nanos,
    pub dead_owners: u64,
    /// Time in which the observer itself could not see.
    pub blind_ns: Nanos,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Enrolment {
    pub candidates: u64,
    pub sessions: u64,
    /// First connect → every group led.
    pub all_led_ns: Option<Nanos>,
    pub connect: Option<Distribution>,
    /// Resident memory of all hosts together, and the candidates they carried, when every group was led.
    pub rss_kb: Option<u64>,
    pub hosts: u64,
}

/// What became of the faults that were ordered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Faults {
    /// Proven to have taken effect, and to have ended where they last.
    pub verified: u64,
    pub unverified: u64,
    /// From the time that the plan intends to the order.
    pub lateness: Option<Distribution>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub fault: u32,
    pub kind: FaultKind,
    pub intended: Nanos,
    pub injected: Option<(Nanos, Nanos)>,
    pub healed: Option<(Nanos, Nanos)>,
    pub verified: bool,
    pub evidence: String,
    /// Host names hit.
    pub hosts: Vec<String>,
    /// Ids of the servers hit.
    #[serde(default)]
    pub servers: Vec<u32>,
    pub groups: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    pub count: u64,
    pub longest_ns: Nanos,
    /// Stalls longer than T/10, which make what they cover inconclusive.
    pub over_limit: u64,
}

/// Beliefs of one group over time, for a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    pub group: String,
    /// Why it was chosen.
    pub because: String,
    pub from: Nanos,
    pub to: Nanos,
    pub terms: Vec<TermBar>,
    /// Faults that hit candidates of this group.
    pub faults: Vec<FaultBand>,
    /// Times of stale writes: (t, host index, whether the fence stopped it).
    pub stale_writes: Vec<(Nanos, u16, bool)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TermBar {
    pub host: u16,
    pub candidate: u32,
    pub from: Nanos,
    pub to: Nanos,
    /// Parts in which the process was stopped.
    pub latent: Vec<(Nanos, Nanos)>,
    /// Parts that definitely overlap with another incarnation's term.
    pub overlap: Vec<(Nanos, Nanos)>,
}

/// What became of the candidates' sessions in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sessions {
    pub established: u64,
    /// Connections lost, and found again under the same session.
    pub disconnected: u64,
    pub reconnected: u64,
    /// Sessions expired or closed with no fault on their own host or candidate.
    pub lost: u64,
    /// Connection lost → found again.
    pub reconnect: Option<Distribution>,
    /// Leads given up for a lost connection and taken back in the same incarnation.
    pub interrupted_terms: u64,
}

/// An election of the ensemble's leader, from the polls of the servers' states and, where present, their logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerElection {
    /// Id of the server fault under way when the quorum was lost.
    pub fault: Option<u32>,
    /// Who led before; None: nobody was seen to.
    pub old: Option<u32>,
    /// None: nobody had won by the end of the watch.
    pub winner: Option<u32>,
    /// Whom the votes elect, where they say so for certain.
    pub predicted: Option<u32>,
    pub not_predicted: Option<String>,
    /// The epoch of the winner's first zxid.
    pub epoch: Option<u64>,
    /// Between these times the quorum ceased to be served, and was served again.
    pub lost: (Nanos, Nanos),
    pub ended: Option<(Nanos, Nanos)>,
    /// The longest gap in the writes around it, from the fault that was under way (or the loss) until shortly after its end.
    /// None: no probe wrote, or there was none much longer than from one write to the next.
    #[serde(default)]
    pub writes: Option<WriteGap>,
    /// How long no quorum was served by what the servers say, at least and at most. It flatters: while a leader is stopped or
    /// cut off its followers go on saying that they follow, and nothing can be written.
    pub outage: (Nanos, Nanos),
    pub roles: Vec<ElectionRole>,
    /// Votes in words, as the winner was told them.
    pub votes: Vec<String>,
}

/// How long no write was acknowledged, as clients see it: probes write through every server, one write after the other, so
/// this includes their noticing of a dead connection, and their reconnecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteGap {
    /// The last acknowledgement before.
    pub from: Nanos,
    /// The first one after; or the end of the probes.
    pub to: Nanos,
    /// Without the probes' interval: right after an acknowledgement nobody tried.
    pub least_ns: Nanos,
    /// From one acknowledgement to the next. None: the probes ended before the next, so only the least is known.
    pub most_ns: Option<Nanos>,
}

/// What the probes of a cell wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteProbes {
    pub from: Nanos,
    /// From an acknowledgement to the next write.
    pub every_ns: Nanos,
    /// None: the record does not say.
    pub acknowledged: Option<u64>,
    pub longest: Option<WriteGap>,
    /// For a picture; at most 2,000.
    pub gaps: Vec<(Nanos, Nanos)>,
}

/// What an election was for one server. Times in pairs are brackets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElectionRole {
    pub server: u32,
    /// Ceased to serve.
    pub left: (Nanos, Nanos),
    /// First said that it does not serve.
    pub looking: Option<(Nanos, Nanos)>,
    /// Served again.
    pub back: Option<(Nanos, Nanos)>,
    /// Serves as the leader.
    pub leads: bool,
    /// How long its part in the election took, by its log.
    pub took_ms: Option<u64>,
    /// From its beginning to look for a leader to its serving again, by its log.
    pub log_ns: Option<Nanos>,
}

/// A server in one state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerBar {
    pub server: u32,
    pub state: ServerState,
    pub from: Nanos,
    pub to: Nanos,
}

/// How the servers were watched, and what else belongs into a picture of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerWatch {
    pub from: Nanos,
    pub to: Nanos,
    /// The stated time from one look at a server to the next, and the longest that was needed.
    pub every_ns: Option<Nanos>,
    pub longest_gap_ns: Nanos,
    /// Times in which the quorum was not seen to be served, and the same leader led on.
    pub lulls: u64,
    pub faults: Vec<ServerFault>,
    /// How many groups somebody certainly led, from each of these times on.
    pub led: Vec<(Nanos, u64)>,
    pub unavailable: Vec<ServerUnavailable>,
    /// None: no probe wrote.
    #[serde(default)]
    pub writes: Option<WriteProbes>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerFault {
    pub id: u32,
    pub kind: FaultKind,
    /// None named: all of them.
    pub servers: Vec<u32>,
    pub from: Nanos,
    pub to: Nanos,
    pub verified: bool,
    /// The longest gap in the writes under it, where no election came of it: an election has its own.
    #[serde(default)]
    pub writes: Option<WriteGap>,
}

/// For how long a server was unavailable in the measured window: what it says itself against what was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerUnavailable {
    pub server: u32,
    pub times: Option<Unavailable>,
    /// Why its counter says nothing.
    pub not_compared: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// By its own counter (`mntr`), and how often.
    pub told_ns: Nanos,
    pub count: u64,
    /// By the polls, at least and at most.
    pub polls: (Nanos, Nanos),
    pub log_ns: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultBand {
    pub kind: FaultKind,
    pub host: Option<u16>,
    pub from: Nanos,
    pub to: Nanos,
}
