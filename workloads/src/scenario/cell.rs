//! A cell of a scenario, with everything resolved.

use hustings_record::{
    Declaration, Expect, FaultKind, Fencing, FencingMethod, PairMember, Repetition, SessionUse, StepDown,
};
use serde::{Deserialize, Serialize};

use super::fault::FaultSpec;
use super::program::ResolvedProgram;
use super::schema::PhasesSpec;
use crate::faults::Fault;
use crate::recipes::{CandidateKind, Election, LeadNode, RecipeKind};

/// The znode that contains all elections.
pub const ROOT: &str = "/election";

/// One combination of a scenario's matrix, with everything resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Place in the run, from 0.
    pub index: u32,
    /// Unique in the run, lower case, safe as a file name, the same for the same scenario.
    pub name: String,
    /// Number of this repetition, where each cell is run several times.
    #[serde(default)]
    pub repetition: Option<Repetition>,
    /// Its side, where two scenarios are compared in one run.
    #[serde(default)]
    pub contest: Option<PairMember>,
    /// The election recipe, or the external program.
    pub recipe: CandidateKind,
    /// The external program.
    #[serde(default)]
    pub program: Option<ResolvedProgram>,
    /// When a leader that lost its connection stops believing.
    pub step_down: StepDown,
    /// Name of the fault's entry.
    pub fault_name: String,
    /// The fault.
    pub fault: FaultSpec,
    /// The fault that hits with it, if any.
    pub with: Option<FaultSpec>,
    /// Number of groups; 0 in a cell without candidates, which is about its servers alone.
    pub groups: u32,
    /// Number of hosts; 0 in a cell without candidates.
    pub hosts: u16,
    /// Number of candidates of each group.
    pub candidates_per_group: u32,
    /// Names of the groups, one each.
    pub group_names: Vec<String>,
    /// Names of the hosts, one each.
    pub host_names: Vec<String>,
    /// The session timeout asked for, in milliseconds.
    pub session_timeout_ms: u64,
    /// How many candidates share a session.
    pub sessions: SessionUse,
    /// Interval between a leader's writes, in milliseconds.
    pub work_interval_ms: u64,
    /// The ledger that the verdict counts.
    pub resource: Fencing,
    /// How `lock-race` fences.
    pub fencing: FencingMethod,
    /// Whether hosts reach the servers over links: from the scenario's `links` and the needs of the fault.
    pub over_links: bool,
    /// Whether links decode the traffic.
    #[serde(default)]
    pub witness: bool,
    /// Whether a recipe reaches servers and resource over the same paths as external programs.
    #[serde(default)]
    pub equal_paths: bool,
    /// Interval of `poll-race`, in milliseconds.
    pub poll_interval_ms: u64,
    /// Sessions that one host opens at a time.
    pub connect_concurrency: u32,
    /// The pause between a resignation or the end of a session and the next enrolment, in milliseconds.
    pub rejoin_after_ms: u64,
    /// Number of servers.
    pub servers: u32,
    /// ZooKeeper's tick, in milliseconds.
    pub tick_ms: u64,
    /// Whether the servers force their log to disk.
    pub fsync: bool,
    /// `initLimit` and `syncLimit`, in ticks, where the scenario sets them.
    pub init_limit: Option<u32>,
    pub sync_limit: Option<u32>,
    /// Interval at which servers are asked for their state, in milliseconds; `None` in cells without faults on servers.
    pub watch_ms: Option<u64>,
    /// How long the phases take.
    pub phases: PhasesSpec,
    /// The expected findings, and those that must not occur.
    pub expect: Expect,
    /// A cell of the self-test: its recipe is broken on purpose, and must be caught.
    #[serde(default)]
    pub self_test: bool,
}

impl Cell {
    /// Whether another cell can run on the same ensemble as this one.
    #[must_use]
    pub fn same_ensemble(&self, other: &Self) -> bool {
        (self.servers, self.tick_ms) == (other.servers, other.tick_ms)
    }

    /// The session timeout that an ensemble with this tick grants: the requested one, clamped to 2 to 20 ticks.
    #[must_use]
    pub fn timeout_granted_ms(&self) -> u64 {
        self.session_timeout_ms.clamp(2 * self.tick_ms, 20 * self.tick_ms)
    }

    /// Path of a group's election.
    #[must_use]
    pub fn path(&self, group: u32) -> String {
        match self.group_names.get(group as usize) {
            Some(name) => format!("{ROOT}/{name}"),
            None => format!("{ROOT}/g{group}"),
        }
    }

    /// The election of a group's candidates by this recipe. Set `create_missing` for their first incarnation at most: a
    /// later one that created the election again would undo its deletion.
    #[must_use]
    pub fn election(&self, group: u32, recipe: RecipeKind, create_missing: bool) -> Election {
        Election {
            path: self.path(group),
            recipe,
            step_down: self.step_down,
            poll_interval_ms: self.poll_interval_ms,
            create_missing,
        }
    }

    /// The step-down policy in effect: for a recipe the cell's. `None` for a program that declares none; nothing that
    /// depends on one can be expected of it.
    #[must_use]
    pub fn policy(&self) -> Option<StepDown> {
        match &self.recipe {
            CandidateKind::Own(_) => Some(self.step_down),
            CandidateKind::Foreign(_) => self.program.as_ref()?.step_down.map(|kept| kept.in_cell(self.step_down)),
        }
    }

    /// The declaration of the recipe or the program; `None`: nothing is promised.
    #[must_use]
    pub fn declares(&self) -> Option<Declaration> {
        match &self.recipe {
            CandidateKind::Own(recipe) => Some(recipe.declares()),
            CandidateKind::Foreign(_) => self.program.as_ref()?.declared,
        }
    }

    /// The znodes of a group that can be its leader's.
    #[must_use]
    pub fn lead_node(&self) -> LeadNode {
        match (&self.recipe, &self.program) {
            (CandidateKind::Own(recipe), _) if recipe.is_lock() => LeadNode::LOCK,
            (CandidateKind::Own(_), _) => LeadNode::Queue,
            (CandidateKind::Foreign(_), program) => {
                program.as_ref().map_or(LeadNode::AnyQueue, ResolvedProgram::lead_node)
            }
        }
    }

    /// Number of candidates in all groups.
    #[must_use]
    pub fn candidates(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.candidates_per_group)
    }

    /// Number of sessions to ZooKeeper that the candidates need.
    #[must_use]
    pub fn session_count(&self) -> u64 {
        match self.sessions {
            SessionUse::PerCandidate => self.candidates(),
            SessionUse::PerHost => self.candidates().min(u64::from(self.hosts)),
        }
    }

    /// Sessions of that of these cells which has most of them.
    #[must_use]
    pub fn most_sessions(cells: &[Self]) -> u64 {
        cells.iter().map(Self::session_count).max().unwrap_or(0)
    }

    /// Candidates of a group of that of these cells which has the largest groups.
    #[must_use]
    pub fn largest_group(cells: &[Self]) -> u64 {
        cells.iter().map(|cell| u64::from(cell.candidates_per_group)).max().unwrap_or(0)
    }

    /// Whether one of these cells cuts servers off from each other, which takes links between them.
    #[must_use]
    pub fn cut_servers_apart(cells: &[Self]) -> bool {
        cells.iter().any(|cell| cell.kinds().any(|kind| kind == FaultKind::ServerPartition))
    }

    /// The kinds of its faults: the main one, and the one that hits with it.
    pub fn kinds(&self) -> impl Iterator<Item = FaultKind> {
        std::iter::once(&self.fault).chain(&self.with).map(FaultSpec::kind)
    }

    /// Its faults with their names, as [`Cell::kinds`].
    pub fn faults(&self) -> impl Iterator<Item = (&str, &FaultSpec)> {
        let with = self.fault.with.as_deref().zip(self.with.as_ref());
        std::iter::once((self.fault_name.as_str(), &self.fault)).chain(with)
    }

    /// One of its faults with all durations in milliseconds.
    #[must_use]
    pub fn resolved(&self, fault: &FaultSpec) -> Fault {
        fault.fault.resolved(self.timeout_granted_ms(), self.servers)
    }

    /// How long one of its faults lasts, in milliseconds; see [`Fault::for_ms`].
    #[must_use]
    pub fn fault_lasts_ms(&self, fault: &FaultSpec) -> Option<u64> {
        self.resolved(fault).for_ms()
    }

    /// The most hosts that may be out when a fault has hit: fewer than half of them, but at least one; all of them if
    /// the fault allows a majority.
    #[must_use]
    pub fn hosts_out_max(&self, allow_majority: bool) -> u16 {
        if allow_majority { self.hosts } else { (self.hosts.saturating_sub(1) / 2).max(1) }
    }

    /// The most servers that may be out when a fault has hit: fewer than half of them, so that a quorum is left; all of
    /// them if the fault allows a majority.
    #[must_use]
    pub fn servers_out_max(&self, allow_majority: bool) -> u32 {
        if allow_majority { self.servers } else { self.servers.saturating_sub(1) / 2 }
    }

    /// How long a leader and a follower of the ensemble may have no contact, in milliseconds. The default is 10 s, but
    /// at least 5 ticks.
    #[must_use]
    pub fn sync_limit_ms(&self) -> u64 {
        self.sync_limit.map_or_else(|| (5 * self.tick_ms).max(10_000), |limit| u64::from(limit) * self.tick_ms)
    }
}
