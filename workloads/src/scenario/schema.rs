//! The schema of a scenario: every section and key, with what it means and its unit. Unknown keys are refused.

use std::collections::BTreeMap;

use hustings_record::{Fencing, FencingMethod, SessionUse};
use serde::{Deserialize, Serialize};

use super::axis::Coordinates;
use super::expect::ExpectSpec;
use super::fault::FaultSpec;
use super::program::ForeignSpec;
use crate::recipes::{Contender, RecipeKind, StepDown};

/// A scenario: what is run, what is broken, and what is expected of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// One line on what it is for.
    #[serde(default)]
    pub summary: String,
    /// Prose on what to look at in its results.
    #[serde(default)]
    pub analysis: String,
    /// Seed of every random choice; at most 2⁶³−1. The command line's `--seed` goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How many times each cell is run, in as many rounds over all of them. The command line's `--repeat` goes before it.
    #[serde(default = "once")]
    pub repeat: u32,
    /// At most so many rounds more than `repeat` says, where it is two or more: of cells of which a stall of the harness spoilt a
    /// repetition, until as many others are there as were planned; then, of a run with two sides, of cells of which the comparison
    /// cannot tell, in all of the rounds that are left.
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
    /// Programs of others that stand for election, by a name of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub foreign: BTreeMap<String, ForeignSpec>,
    /// The faults, by a name of their own.
    #[serde(default)]
    pub faults: BTreeMap<String, FaultSpec>,
    /// What is varied: one cell for every combination.
    #[serde(default)]
    pub matrix: Coordinates,
    /// Further cells: one more matrix each. What one of them leaves out is as the election says, and not as the matrix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Coordinates>,
    /// A recipe that is broken on purpose, and must be caught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// What cells must show. Later entries go before earlier ones, key by key.
    #[serde(default)]
    pub expect: Vec<ExpectSpec>,
}

fn once() -> u32 {
    1
}

impl Scenario {
    /// The matrix, and those beside it.
    pub(super) fn matrices(&self) -> impl Iterator<Item = &Coordinates> {
        std::iter::once(&self.matrix).chain(&self.also)
    }

    pub(super) fn matrices_mut(&mut self) -> impl Iterator<Item = &mut Coordinates> {
        std::iter::once(&mut self.matrix).chain(&mut self.also)
    }
}

/// `[self_test]`: cells of their own, for a recipe that is broken on purpose. Where it is caught in none of them, the run is
/// inconclusive: its faults and checkers would not have shown such a bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfTest {
    /// One of the broken recipes.
    pub recipe: RecipeKind,
    /// The fault under which it stands; every fault of the matrix without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// `[ensemble]`: the servers under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnsembleSpec {
    /// How many servers: 1, 3 or 5.
    pub servers: u32,
    /// ZooKeeper's tick, in milliseconds. Session timeouts are kept within 2 and 20 of them.
    pub tick_ms: u64,
    /// Whether the servers force their log to disk.
    pub fsync: bool,
    /// `initLimit`, in ticks: how long a server may take to join its leader. 20 s, and 10 ticks at least, without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init_limit: Option<u32>,
    /// `syncLimit`, in ticks: how long a leader and a follower may hear nothing of each other before they part. 10 s, and 5
    /// ticks at least, without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_limit: Option<u32>,
    /// How long the servers are kept busy before the first cell, so that it does not pay for cold ones, in milliseconds.
    pub warm_up_ms: u64,
    /// How often every server is asked for its state in cells with faults on servers, in milliseconds.
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

/// `[election]`: who stands where, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ElectionSpec {
    /// The recipe, or the program of somebody else's, unless the matrix varies it.
    pub recipe: Contender,
    /// When a leader that lost its connection stops believing, unless the matrix varies it.
    pub step_down: StepDown,
    /// How many groups.
    pub groups: u32,
    /// How many hosts: processes that carry candidates.
    pub hosts: u16,
    /// How many candidates each group has. There may be more than hosts; they are spread evenly.
    pub candidates_per_group: u32,
    /// The session timeout asked for, in milliseconds. The ensemble may grant another one.
    pub session_timeout_ms: u64,
    /// Whether every candidate has a session of its own, or all of a host share one.
    pub sessions: SessionUse,
    /// Every leader writes to the resource this often, in milliseconds.
    pub work_interval_ms: u64,
    /// Which ledger of the resource the verdict on stale writes counts.
    pub resource: Fencing,
    /// How `lock-race` makes sure that the old leader cannot act any more.
    pub fencing: FencingMethod,
    /// Whether hosts reach the servers over links that faults can act on.
    pub links: Links,
    /// Whether links read along on what passes: what candidates say of themselves is compared with that. In every cell, over links
    /// of hustings' own.
    pub witness: bool,
    /// How this program's own recipes reach the servers and the resource.
    pub paths: Paths,
    /// `poll-race` tries this often, in milliseconds.
    pub poll_interval_ms: u64,
    /// Names of the groups, as many as there are or more; `g0`, `g1`, … without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub group_names: Vec<String>,
    /// Names of the hosts, as many as there are or more; `h0`, `h1`, … without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_names: Vec<String>,
    /// How many sessions one host opens at a time.
    pub connect_concurrency: u32,
    /// How long a candidate stays away after a resign or the end of its session, in milliseconds.
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

/// `[phases]`: how long the phases of a cell take, in milliseconds. How long is measured comes from the faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PhasesSpec {
    /// Every group must be led this long after the first connect.
    pub enrol_max_ms: u64,
    /// From there to the first fault.
    pub warm_up_ms: u64,
    /// After the last fault is healed, at least this long is waited.
    pub drain_ms: u64,
    /// A group without a leader this long after the last heal has lost its liveness.
    pub drain_max_ms: u64,
}

impl Default for PhasesSpec {
    fn default() -> Self {
        Self { enrol_max_ms: 30_000, warm_up_ms: 500, drain_ms: 500, drain_max_ms: 15_000 }
    }
}

/// When hosts reach the servers over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// In the cells whose faults act on links, and where links tell when a session was last heard of (crash, pause).
    Auto,
    /// In every cell.
    Always,
    /// In none. Refused when a fault needs them.
    Never,
}

/// How this program's own recipes reach the servers and the resource. A program of somebody else's connects through a relay that
/// reads along, and writes over HTTP, which takes part of a millisecond more than it has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paths {
    /// By equal ones in scenarios in which a program stands, too, so that nobody has a head start; by short ones elsewhere.
    Auto,
    /// As programs do.
    Equal,
    /// As directly as they can.
    Short,
}
