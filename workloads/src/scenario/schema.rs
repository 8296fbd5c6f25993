//! The schema of a scenario: every section and key, with its meaning and unit. Unknown keys are rejected.

use std::collections::BTreeMap;

use hustings_record::{Fencing, FencingMethod, SessionUse};
use serde::{Deserialize, Serialize};

use super::axis::Coordinates;
use super::expect::ExpectSpec;
use super::fault::FaultSpec;
use super::program::ForeignSpec;
use crate::recipes::{CandidateKind, RecipeKind, StepDown};

/// A scenario: what runs, which faults are injected, and what is expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// One line on its purpose.
    #[serde(default)]
    pub summary: String,
    /// Prose on how to read its results.
    #[serde(default)]
    pub analysis: String,
    /// Seed of every random choice; at most 2⁶³−1. The command line's `--seed` overrides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How many times each cell is run, in as many rounds over all of them. The command line's `--repeat` overrides it.
    #[serde(default = "once")]
    pub repeat: u32,
    /// The most rounds in addition to `repeat`, where that is two or more. First they replace repetitions that a stall
    /// of the harness spoilt, until the planned number is reached. Then, in a run with two sides, all remaining rounds
    /// rerun cells whose comparison is undecided.
    #[serde(default)]
    pub further_rounds: u32,
    /// Allows recipes that are broken on purpose.
    #[serde(default)]
    pub allow_broken: bool,
    /// The servers.
    #[serde(default)]
    pub ensemble: EnsembleSpec,
    /// The groups, the hosts, the candidates.
    #[serde(default)]
    pub election: ElectionSpec,
    /// How long the phases of a cell take.
    #[serde(default)]
    pub phases: PhasesSpec,
    /// External programs that take part in elections, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub foreign: BTreeMap<String, ForeignSpec>,
    /// The faults, by name.
    #[serde(default)]
    pub faults: BTreeMap<String, FaultSpec>,
    /// The varied values: one cell for every combination.
    #[serde(default)]
    pub matrix: Coordinates,
    /// Further cells: one more matrix each. Keys that one omits default to the election's values, not the matrix's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Coordinates>,
    /// A recipe that is broken on purpose, and must be caught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// The findings that cells must show. Later entries override earlier ones, key by key.
    #[serde(default)]
    pub expect: Vec<ExpectSpec>,
}

fn once() -> u32 {
    1
}

impl Scenario {
    /// The matrix, and the additional ones.
    pub(super) fn matrices(&self) -> impl Iterator<Item = &Coordinates> {
        std::iter::once(&self.matrix).chain(&self.also)
    }

    pub(super) fn matrices_mut(&mut self) -> impl Iterator<Item = &mut Coordinates> {
        std::iter::once(&mut self.matrix).chain(&mut self.also)
    }
}

/// `[self_test]`: additional cells for a recipe that is broken on purpose. If none of them catches it, the run is
/// inconclusive: its faults and checks would not have shown such a bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfTest {
    /// One of the broken recipes.
    pub recipe: RecipeKind,
    /// The fault under which it runs; by default every fault of the matrix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// `[ensemble]`: the servers under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnsembleSpec {
    /// Number of servers: 1, 3 or 5.
    pub servers: u32,
    /// ZooKeeper's tick, in milliseconds. Session timeouts are clamped to 2 to 20 ticks.
    pub tick_ms: u64,
    /// Whether the servers force their log to disk.
    pub fsync: bool,
    /// `initLimit`, in ticks: how long a server may take to join its leader. The default is 20 s, at least 10 ticks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init_limit: Option<u32>,
    /// `syncLimit`, in ticks: how long a leader and a follower may have no contact before they part. The default is 10
    /// s, but at least 5 ticks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_limit: Option<u32>,
    /// How long the servers are kept busy before the first cell, so that it measures no cold ones, in milliseconds.
    pub warm_up_ms: u64,
    /// Interval at which every server is asked for its state in cells with faults on servers, in milliseconds.
    pub watch_ms: u64,
}

impl Default for EnsembleSpec {
    fn default() -> Self {
        Self {
            servers: 3,
            tick_ms: 500,
            fsync: false,
            init_limit: None,
            sync_limit: None,
            warm_up_ms: 6_000,
            watch_ms: 20,
        }
    }
}

/// `[election]`: the candidates, their placement and their parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ElectionSpec {
    /// The recipe or the external program, unless the matrix varies it.
    pub recipe: CandidateKind,
    /// When a leader that lost its connection stops believing, unless the matrix varies it.
    pub step_down: StepDown,
    /// Number of groups.
    pub groups: u32,
    /// Number of hosts: processes with candidates.
    pub hosts: u16,
    /// Candidates per group. There may be more than hosts; they are spread evenly.
    pub candidates_per_group: u32,
    /// The requested session timeout, in milliseconds. The ensemble may grant another one.
    pub session_timeout_ms: u64,
    /// Whether every candidate has its own session, or all of a host share one.
    pub sessions: SessionUse,
    /// Interval between a leader's writes to the resource, in milliseconds.
    pub work_interval_ms: u64,
    /// Which ledger of the resource the verdict on stale writes counts.
    pub resource: Fencing,
    /// How `lock-race` makes sure that the old leader cannot act any more.
    pub fencing: FencingMethod,
    /// Whether hosts reach the servers over links that faults can act on.
    pub links: Links,
    /// Whether links decode the traffic, to compare the candidates' reports with it. Applies to every cell, over
    /// hustings' own links.
    pub witness: bool,
    /// How hustings' own recipes reach the servers and the resource.
    pub paths: Paths,
    /// Interval of `poll-race`, in milliseconds.
    pub poll_interval_ms: u64,
    /// Names of the groups, at least as many as there are groups; by default `g0`, `g1`, ….
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub group_names: Vec<String>,
    /// Names of the hosts, at least as many as there are hosts; by default `h0`, `h1`, ….
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_names: Vec<String>,
    /// How many sessions one host opens at a time.
    pub connect_concurrency: u32,
    /// How long a candidate stays away after a resignation or the end of its session, in milliseconds.
    pub rejoin_after_ms: u64,
}

impl Default for ElectionSpec {
    fn default() -> Self {
        Self {
            recipe: RecipeKind::PredecessorWatch.into(),
            step_down: StepDown::OnDisconnect,
            groups: 20,
            hosts: 5,
            candidates_per_group: 5,
            session_timeout_ms: 4_000,
            sessions: SessionUse::PerCandidate,
            work_interval_ms: 50,
            resource: Fencing::Unfenced,
            fencing: FencingMethod::Resource,
            links: Links::Auto,
            witness: false,
            paths: Paths::Auto,
            poll_interval_ms: 200,
            group_names: Vec::new(),
            host_names: Vec::new(),
            connect_concurrency: 64,
            rejoin_after_ms: 200,
        }
    }
}

/// `[phases]`: how long the phases of a cell take, in milliseconds. The measured time follows from the faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PhasesSpec {
    /// Every group must be led this long after the first connect.
    pub enrol_max_ms: u64,
    /// The time from there to the first fault.
    pub warm_up_ms: u64,
    /// The least wait after the last fault is healed.
    pub drain_ms: u64,
    /// A group without a leader this long after the last heal has lost its liveness.
    pub drain_max_ms: u64,
}

impl Default for PhasesSpec {
    fn default() -> Self {
        Self { enrol_max_ms: 30_000, warm_up_ms: 500, drain_ms: 500, drain_max_ms: 15_000 }
    }
}

/// Where hosts reach the servers over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// In cells whose faults act on links, or whose links record the last contact with a session (crash, pause).
    Auto,
    /// In every cell.
    Always,
    /// In none. Rejected when a fault needs them.
    Never,
}

/// How hustings' own recipes reach the servers and the resource. An external program connects through a relay that
/// decodes the traffic, and writes over HTTP. That costs a fraction of a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paths {
    /// Equal ones in scenarios that also have a program, so that neither has an advantage; short ones elsewhere.
    Auto,
    /// The same as external programs.
    Equal,
    /// The most direct ones.
    Short,
}
