//! From a cell and the run's seed to timed faults: when each injections, for how long, and whom. Pure: the same arguments give the
//! same plan.

mod target;

use hustings_record::{Elects, Event, FaultIntent, FaultKind, FaultOrder, Nanos};
use rand::RngExt;
use serde::{Deserialize, Serialize};

pub use self::target::{Hit, LeaderView, resolve};

use crate::faults::{Fault, Moment};
use crate::recipes::RecipeKind;
use crate::scenario::cell::Cell;
use crate::scenario::fault::{FaultSpec, Target};
use crate::seed;

/// From the start of measuring to the first fault, at least, in milliseconds.
const LEAD_IN_MS: u64 = 400;

/// Gaps between repeats vary by this fraction to either side, so that faults do not fall into step with ticks.
const JITTER: f64 = 0.2;

/// The shortest gap between repeats, as a fraction of the one asked for.
pub(crate) const SHORTEST_GAP: f64 = 1.0 - JITTER;

/// What a handover may take when nobody has to wait for an expiry, in milliseconds.
const QUICK_HANDOVER_MS: u64 = 1_000;

/// What a handover may take beside the expiry of a session, in milliseconds.
const EXPIRY_MARGIN_MS: u64 = 1_500;

/// What an ensemble may take to elect a leader that has to be elected, and to serve again, in milliseconds.
const ELECTION_MS: u64 = 3_000;

/// What it may take once all of its servers are started, in milliseconds: each has a virtual machine to start.
const START_MS: u64 = 10_000;

/// What lies in wait for a candidate that wins does so for as many session timeouts.
pub(crate) const WON_WITHIN_T: u64 = 2;

/// One fault of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedFault {
    /// Number in the cell: first the fault's repeats from 0, then those of the fault that hits with it. None: of no plan.
    pub id: Option<u32>,
    /// When it is to hit, in milliseconds from the start of measuring.
    pub at_ms: u64,
    /// What is done, and for how long.
    pub fault: Fault,
    /// Whom it hits; who that is is resolved when it hits.
    pub target: Target,
    /// When it hits, once its time has come.
    #[serde(default, skip_serializing_if = "Moment::is_planned")]
    pub moment: Moment,
    /// Of a partition: ids of the servers that its hosts are cut off from; of all without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<u32>,
    /// Whether it may take more than a minority of the hosts, or of the servers, out.
    pub allow_majority: bool,
}

/// The faults of a cell in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order in which they hit. A control (`none`) has none.
    pub faults: Vec<PlannedFault>,
    /// How long is measured: the last fault, its duration, and the time that a handover may take.
    pub measure_ms: u64,
}

impl Plan {
    /// The plan as the record has it, of a measuring that began at `start`.
    #[must_use]
    pub fn event(&self, start: Nanos) -> Event {
        let intent = |fault: &PlannedFault| {
            let (kind, intended, for_ms) = (fault.kind(), start + fault.at_ms * 1_000_000, fault.for_ms());
            fault.id.map(|id| FaultIntent { id, kind, intended, for_ms, target: fault.aim() })
        };
        Event::FaultPlan { t: start, faults: self.faults.iter().filter_map(intent).collect() }
    }
}

/// Plans the faults of a cell.
#[must_use]
pub fn plan(cell: &Cell, seed: u64) -> Plan {
    let fault = &cell.fault;
    if fault.kind() == FaultKind::None {
        let measure_ms = cell.fault_lasts_ms(fault).unwrap_or(0);
        return Plan { faults: Vec::new(), measure_ms };
    }
    let after_ms = fault.with_after_ms.unwrap_or(0);
    let settled_ms = settled_together_ms(cell, fault, after_ms);
    // The shortest gap still leaves a fault and its handover enough time.
    let every_ms = fault.every_ms.unwrap_or_else(|| (settled_ms as f64 / SHORTEST_GAP).ceil() as u64);
    let mut rng = seed::rng(seed, &cell.round_variance(), "plan");
    // The first may hit anywhere in a tick.
    let mut at_ms = LEAD_IN_MS + rng.random_range(0..=cell.tick_ms.min(1_000));
    let mut faults = Vec::new();
    for id in 0..fault.repeat {
        if id > 0 {
            at_ms += (every_ms as f64 * rng.random_range(SHORTEST_GAP..=1.0 + JITTER)).round() as u64;
        }
        faults.push(planned(cell, fault, id, at_ms));
        // Its numbers do not move those of the fault that it hits with, and so not whom that one hits.
        let with = cell.with.iter().map(|with| planned(cell, with, fault.repeat + id, at_ms + after_ms));
        faults.extend(with);
    }
    faults.sort_by_key(|fault| (fault.at_ms, fault.id));
    Plan { faults, measure_ms: at_ms + settled_ms }
}

fn planned(cell: &Cell, spec: &FaultSpec, id: u32, at_ms: u64) -> PlannedFault {
    let (fault, target) = (cell.resolved(spec), spec.target());
    PlannedFault {
        id: Some(id),
        at_ms,
        fault,
        target,
        moment: spec.moment,
        from: spec.from(),
        allow_majority: spec.allow_majority,
    }
}

/// From a fault to when it and the one that hits with it are over, and what they caused should be done, in milliseconds.
fn settled_together_ms(cell: &Cell, fault: &FaultSpec, after_ms: u64) -> u64 {
    let alone_ms = settled_ms(cell, fault);
    let Some(with) = &cell.with else { return alone_ms };
    // A new leader of the ensemble starts every session's clock anew.
    let anew = with.kind().hits_servers() && fault.kind().takes_hosts_out();
    let longer_ms = if anew { after_ms + election_max_ms(cell, with.kind()) } else { 0 };
    (alone_ms + longer_ms).max(after_ms + settled_ms(cell, with))
}

/// From a fault to when it is over and what it caused should be done, in milliseconds.
fn settled_ms(cell: &Cell, fault: &FaultSpec) -> u64 {
    let resolved = cell.resolved(fault);
    let starts_ms = if let Fault::ServerRestartAll(restart) = &resolved { restart.starts_ms() } else { 0 };
    let waits_ms = if fault.moment == Moment::Won { WON_WITHIN_T * cell.timeout_granted_ms() } else { 0 };
    waits_ms + resolved.for_ms().unwrap_or(starts_ms) + handover_max_ms(cell, fault)
}

/// The time in which a handover after this fault of a cell should be done, in milliseconds: where a session has to expire,
/// until the client itself gives it up (1.4 T), three ticks of the server's rounding, and what a busy machine needs; where
/// the ensemble has to elect a leader, until it does so and the candidates are back.
#[must_use]
pub fn handover_max_ms(cell: &Cell, fault: &FaultSpec) -> u64 {
    let poll_ms = if cell.recipe.is(RecipeKind::PollRace) { cell.poll_interval_ms } else { 0 };
    poll_ms
        + if fault.kind().hits_servers() {
            election_max_ms(cell, fault.kind()) + if cell.groups > 0 { cell.timeout_granted_ms() } else { 0 }
        } else if fault.kind().takes_hosts_out() {
            cell.timeout_granted_ms() * 7 / 5 + 3 * cell.tick_ms + EXPIRY_MARGIN_MS
        } else {
            QUICK_HANDOVER_MS
        }
}

/// The time in which an ensemble should serve again, in milliseconds: the loss of a killed server is seen at once, that of
/// one that falls silent only after `syncLimit`.
fn election_max_ms(cell: &Cell, kind: FaultKind) -> u64 {
    match kind.facts().elects {
        Elects::Never => 0,
        Elects::AtOnce => ELECTION_MS,
        Elects::WhenMissed => cell.sync_limit_ms() + ELECTION_MS,
        Elects::WhenStarted => START_MS,
    }
}

impl PlannedFault {
    /// What is done.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.fault.kind()
    }

    /// Whether it takes the hosts that it is aimed at out. Who is cut off from some of the servers has the others, and of those
    /// that it lies in wait on it hits one.
    #[must_use]
    pub fn takes_hosts_out(&self) -> bool {
        self.kind().takes_hosts_out() && self.from.is_empty() && self.moment.is_planned()
    }

    /// How long it lasts, in milliseconds; see [`Fault::for_ms`].
    #[must_use]
    pub fn for_ms(&self) -> Option<u64> {
        self.fault.for_ms()
    }

    /// This fault as the record has it: the `id`-th to hit, at `t`, whoever it hits.
    #[must_use]
    pub fn event(&self, id: u32, t: Nanos, intended: Nanos, hit: &Hit) -> Event {
        Event::Fault(Box::new(FaultOrder {
            id,
            planned: self.id,
            kind: self.kind(),
            t,
            intended,
            for_ms: self.for_ms(),
            hosts: hit.hosts.clone(),
            cands: hit.cands.clone(),
            groups: hit.groups.clone(),
            servers: hit.servers.clone(),
            detail: self.aim(),
        }))
    }

    /// Its target and moment in words.
    fn aim(&self) -> String {
        match self.moment {
            Moment::Planned => self.target.to_string(),
            Moment::Won => format!("{}, when a candidate had won there and did not believe it yet", self.target),
        }
    }
}
