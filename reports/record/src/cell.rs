//! The resolved parameters of a cell, and what the scenario expects of it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caught::FindingKind;
use crate::contest::PairMember;
use crate::declaration::Declaration;
use crate::expect::{Expect, FanOut};
use crate::fault::FaultKind;
use crate::names::names;
use crate::repetition::Repetition;
use crate::step_down::StepDown;

/// Name of the parameter that holds the command of an external program.
pub const PROGRAM_PARAMETER: &str = "program";

/// Limits on what a cell may have: far above those of scenarios.
const TIME_MAX_MS: u64 = 24 * 3_600 * 1_000;
const CANDIDATES_MAX: u64 = 100_000_000;
/// A run starts five servers at most. An external ensemble may have more, and their ids fit into one byte.
const SERVERS_MAX: u32 = 1_000;

/// Resolved parameters of one cell. Names of groups and hosts come from outside and may hold anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellInfo {
    /// Place in the run, from 0.
    pub index: u32,
    /// Short unique name within the run, safe as a file name.
    pub name: String,
    /// Which repetition of its configuration it is; None where that was run once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// Which side it is on; None where no two are compared with each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contest: Option<PairMember>,
    pub recipe: String,
    /// What the recipe declares. None: not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Declaration>,
    /// When a leader that lost its connection stops believing; None: a program that declares no policy.
    #[serde(default)]
    pub step_down: Option<StepDown>,
    /// Name of the scenario's fault entry.
    pub fault: String,
    pub fault_kind: FaultKind,
    pub groups: Vec<String>,
    pub hosts: Vec<String>,
    pub candidates_per_group: u32,
    /// The session timeout asked for, in milliseconds. T, the negotiated one, is in the `Session` events.
    pub timeout_asked_ms: u64,
    pub tick_ms: u64,
    pub servers: u32,
    /// The run started the servers: nobody else has clients there. False where it did not, and in records that do not tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_servers: bool,
    pub sessions: SessionUse,
    /// Whether hosts reached the servers over links.
    pub links: LinkUse,
    /// What the verdict on stale writes counts: with a fence, only what got past it.
    pub fencing: Fencing,
    /// Every leader writes to the resource this often, in milliseconds.
    pub work_interval_ms: u64,
    pub expect: Expect,
    /// A cell of the self-test: its recipe is broken on purpose, and must be caught.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_test: bool,
    /// What the recipe of a self-test must be caught with; empty: with anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_show: Vec<FindingKind>,
    /// How `lock-race` fences the old leader.
    pub fencing_method: FencingMethod,
    /// `poll-race` tries this often, in milliseconds.
    pub poll_interval_ms: u64,
    /// Whoever has resigned stands again after this, in milliseconds. None: not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejoin_after_ms: Option<u64>,
    /// `initLimit` and `syncLimit` of the servers, in ticks, where the scenario tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_limit: Option<u32>,
    /// What else was asked of it, as the scenario writes it: its faults' parameters and the lengths of its phases, by name, as
    /// `fault.for_t`. Empty: not recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

impl CellInfo {
    /// The first of its figures that no run has, in words. Arithmetic relies on these limits.
    pub(crate) fn beyond_limits(&self) -> Option<String> {
        let times = [
            ("timeout_asked_ms", self.timeout_asked_ms),
            ("tick_ms", self.tick_ms),
            ("work_interval_ms", self.work_interval_ms),
            ("poll_interval_ms", self.poll_interval_ms),
            ("rejoin_after_ms", self.rejoin_after_ms.unwrap_or(0)),
        ];
        // A session has a timeout, and a server a tick.
        let is_none = |name: &str, ms: u64| ms == 0 && ["timeout_asked_ms", "tick_ms"].contains(&name);
        let odd = times.into_iter().find(|(name, ms)| *ms > TIME_MAX_MS || is_none(name, *ms));
        let odd = odd.map(|(name, ms)| format!("{name} is {ms}"));
        let candidates = self.candidates();
        let odd =
            odd.or_else(|| (candidates > CANDIDATES_MAX).then(|| format!("there would be {candidates} candidates")));
        let servers = self.servers;
        let odd = odd
            .or_else(|| (!(1..=SERVERS_MAX).contains(&servers)).then(|| format!("there would be {servers} servers")));
        let named_twice = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len() < names.len();
        odd.or_else(|| named_twice(&self.groups).then(|| "two groups have one name".to_owned()))
            .or_else(|| named_twice(&self.hosts).then(|| "two hosts have one name".to_owned()))
    }

    /// Number of candidates in all groups.
    #[must_use]
    pub fn candidates(&self) -> u64 {
        self.groups.len() as u64 * u64::from(self.candidates_per_group)
    }

    /// False for a cell about the servers alone: it has no group to lead.
    #[must_use]
    pub fn has_candidates(&self) -> bool {
        !self.groups.is_empty() && self.candidates_per_group > 0
    }

    /// Whether a built-in recipe used the same paths as external programs: a relay of its host in front of every
    /// server, and HTTP to the resource.
    #[must_use]
    pub fn has_equal_paths(&self) -> bool {
        self.parameters.get("paths").is_some_and(|paths| paths == "equal")
    }

    /// The command of the external program that took part. None: a built-in recipe, or not recorded.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.parameters.get(PROGRAM_PARAMETER).map(String::as_str)
    }

    /// The step-down policy, in words.
    #[must_use]
    pub fn step_down_words(&self) -> String {
        StepDown::words(self.step_down)
    }

    /// The name of its configuration: of a repetition, the name in the scenario.
    #[must_use]
    pub fn configuration(&self) -> &str {
        self.repetition.as_ref().map_or(&self.name, |repetition| &repetition.of)
    }

    /// Which other candidates a leader loss is expected to wake. None: no promise.
    #[must_use]
    pub fn leader_wakes(&self) -> Option<FanOut> {
        self.declared.map(|declared| declared.leader_wakes).or(self.expect.fan_out)
    }

    /// Largest declared number of requests per wake-up. None: no number is declared.
    #[must_use]
    pub fn requests_per_wake_max(&self) -> Option<u32> {
        self.declared.and_then(|declared| declared.requests_per_wake_max)
    }
}

/// How many candidates share a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionUse {
    /// A session each: candidates never share fate by accident.
    PerCandidate,
    /// All candidates of a host under one session.
    PerHost,
}

/// How hosts reached the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkUse {
    /// Without links.
    Direct,
    /// Over links of our own.
    Embedded,
    /// Over somebody else's Toxiproxy.
    External,
}

/// The ledger of the resource that the verdict on stale writes counts. Both are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fencing {
    /// A resource that refuses a token lower than the highest it has seen.
    Fenced,
    /// A resource that accepts everything.
    Unfenced,
}

/// How `lock-race` fences the old leader before the new one leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FencingMethod {
    /// The fenced resource refuses the old token from then on.
    Resource,
    /// The old leader's host is killed.
    Kill,
    /// Nothing is done.
    None,
}

names! {
    SessionUse { PerCandidate = "per-candidate", PerHost = "per-host" }
    LinkUse { Direct = "direct", Embedded = "embedded", External = "external" }
    Fencing { Fenced = "fenced", Unfenced = "unfenced" }
    FencingMethod { Resource = "resource", Kill = "kill", None = "none" }
}
