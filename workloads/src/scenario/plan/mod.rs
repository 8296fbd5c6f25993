//! From a cell and the run's seed to timed faults: when each hits, for how long, and which target. Pure: the same
//! arguments give the same plan.

mod target;

use hustings_record::numbers::whole;
use hustings_record::{ElectionTrigger, Event, FanOut, FaultIntent, FaultKind, FaultOrder, Nanos};
use rand::RngExt;
use serde::{Deserialize, Serialize};

pub use self::target::{LeaderView, ResolvedTarget, resolve};

use crate::faults::{Fault, Moment};
use crate::scenario::cell::Cell;
use crate::scenario::fault::{FaultSpec, Target};
use crate::seed;

/// The least time from the start of measuring to the first fault, in milliseconds.
const LEAD_IN_MS: u64 = 400;

/// Gaps between repeats vary by this fraction to either side, so that faults do not synchronize with ticks.
const JITTER: f64 = 0.2;

/// The shortest gap between repeats, as a fraction of the configured one.
pub(crate) const SHORTEST_GAP: f64 = 1.0 - JITTER;

/// Bound on a handover that does not wait for an expiry, in milliseconds.
const QUICK_HANDOVER_MS: u64 = 1_000;

/// Bound on a handover beyond the expiry of a session, in milliseconds.
const EXPIRY_MARGIN_MS: u64 = 1_500;

/// Bound on an ensemble's leader election until it serves again, in milliseconds.
const ELECTION_MS: u64 = 3_000;

/// Bound on its start once all of its servers are launched, in milliseconds: each has to start a virtual machine.
const START_MS: u64 = 10_000;

/// How long a fault waits for a winning candidate, in session timeouts.
pub(crate) const WON_WITHIN_T: u64 = 2;

/// One fault of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedFault {
    /// Number in the cell: first the fault's repeats from 0, then those of the fault with it. `None`: not part of a
    /// plan.
    pub id: Option<u32>,
    /// Intended time, in milliseconds from the start of measuring.
    pub at_ms: u64,
    /// The fault, with its duration.
    pub fault: Fault,
    /// The target, resolved when the fault hits.
    pub target: Target,
    /// The exact moment, once the intended time has come.
    #[serde(default, skip_serializing_if = "Moment::is_planned")]
    pub moment: Moment,
    /// For a partition: ids of the servers that its hosts are cut off from; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<u32>,
    /// Whether it may take out more than a minority of the hosts or servers.
    pub allow_majority: bool,
}

/// The faults of a cell, with their times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order of their times. Empty for a control (`none`).
    pub faults: Vec<PlannedFault>,
    /// The measured time: until the last fault, plus its duration and the bound on a handover.
    pub measure_ms: u64,
}

impl Plan {
    /// The plan as a record event, for a measurement that began at `start`.
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
    let every_ms = match fault.every_ms {
        Some(every_ms) => every_ms.max(least_gap_ms(cell)),
        None => whole((settled_ms as f64 / SHORTEST_GAP).ceil()),
    };
    let mut rng = seed::rng(seed, &cell.round_variance(), "plan");
    // The first fault may hit at any phase of a tick.
    let mut at_ms = LEAD_IN_MS + rng.random_range(0..=cell.tick_ms.min(1_000));
    let mut faults = Vec::new();
    for id in 0..fault.repeat {
        if id > 0 {
            at_ms += whole((every_ms as f64 * rng.random_range(SHORTEST_GAP..=1.0 + JITTER)).round());
        }
        faults.push(planned(cell, fault, id, at_ms));
        // The second fault's numbers follow the first's, so they do not change the targets drawn for the first.
        let with = cell.with.iter().map(|with| planned(cell, with, fault.repeat + id, at_ms + after_ms));
        faults.extend(with);
    }
    faults.sort_by_key(|fault| (fault.at_ms, fault.id));
    Plan { faults, measure_ms: at_ms + settled_ms }
}

/// The mean gap between injections that is lengthened for the cell's session timeout: as the scenario sets it, and as it
/// is planned, in milliseconds. `None`: it is as the scenario sets it.
#[must_use]
pub fn lengthened_gap_ms(cell: &Cell) -> Option<(u64, u64)> {
    let every_ms = cell.fault.every_ms.filter(|_| cell.fault.repeat > 1)?;
    let least_ms = least_gap_ms(cell);
    (every_ms < least_ms).then_some((every_ms, least_ms))
}

/// The least mean gap between injections, in milliseconds. Even the shortest gap lasts until a host that was taken out is
/// back, and until its sessions have expired: T, and one and a half ticks of the server's rounding.
fn least_gap_ms(cell: &Cell) -> u64 {
    let of = |fault: &FaultSpec| {
        let lasts_ms = cell.fault_lasts_ms(fault).unwrap_or(0);
        if !fault.takes_hosts_out() {
            return 0;
        }
        // Pauses also measure which pauses expire a session, and that needs no failover to be over.
        if fault.kind() == FaultKind::Pause {
            return lasts_ms;
        }
        let over_ms = lasts_ms.max(cell.timeout_granted_ms() + cell.tick_ms * 3 / 2);
        whole((over_ms as f64 / SHORTEST_GAP).ceil())
    };
    std::iter::once(&cell.fault).chain(&cell.with).map(of).max().unwrap_or(0)
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

/// The time until a fault and the one with it are over, and their consequences should be done, in milliseconds.
fn settled_together_ms(cell: &Cell, fault: &FaultSpec, after_ms: u64) -> u64 {
    let alone_ms = settled_ms(cell, fault);
    let Some(with) = &cell.with else { return alone_ms };
    // A new leader of the ensemble restarts every session's clock.
    let anew = with.kind().hits_servers() && fault.kind().takes_hosts_out();
    let longer_ms = if anew { after_ms + election_max_ms(cell, with.kind()) } else { 0 };
    (alone_ms + longer_ms).max(after_ms + settled_ms(cell, with))
}

/// The time from a fault until it is over and its consequences should be done, in milliseconds.
fn settled_ms(cell: &Cell, fault: &FaultSpec) -> u64 {
    let resolved = cell.resolved(fault);
    let starts_ms = if let Fault::ServerRestartAll(restart) = &resolved { restart.starts_ms() } else { 0 };
    let waits_ms = if fault.moment == Moment::Won { WON_WITHIN_T * cell.timeout_granted_ms() } else { 0 };
    waits_ms + resolved.for_ms().unwrap_or(starts_ms) + handover_max_ms(cell, fault)
}

/// The bound on a handover after this fault of a cell, in milliseconds. If a session has to expire: until the client
/// itself gives it up (1.4 T), three ticks of the server's rounding, and a tolerance for a busy machine. If the
/// ensemble has to elect a leader: until it has done so and the candidates are back.
#[must_use]
pub fn handover_max_ms(cell: &Cell, fault: &FaultSpec) -> u64 {
    let polls = cell.declares().is_some_and(|declared| declared.leader_wakes == FanOut::None);
    let poll_ms = if polls { cell.poll_interval_ms } else { 0 };
    poll_ms
        + if fault.kind().hits_servers() {
            election_max_ms(cell, fault.kind()) + if cell.groups > 0 { cell.timeout_granted_ms() } else { 0 }
        } else if fault.kind().takes_hosts_out() {
            cell.timeout_granted_ms() * 7 / 5 + 3 * cell.tick_ms + EXPIRY_MARGIN_MS
        } else {
            QUICK_HANDOVER_MS
        }
}

/// The time in which an ensemble should serve again, in milliseconds. The loss of a killed server is noticed at once,
/// that of a silent one only after `syncLimit`.
fn election_max_ms(cell: &Cell, kind: FaultKind) -> u64 {
    match kind.facts().elects {
        ElectionTrigger::Never => 0,
        ElectionTrigger::AtOnce => ELECTION_MS,
        ElectionTrigger::WhenMissed => cell.sync_limit_ms() + ELECTION_MS,
        ElectionTrigger::WhenStarted => START_MS,
    }
}

impl PlannedFault {
    /// What is done.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.fault.kind()
    }

    /// Whether it takes out all the hosts that it targets. A host cut off from only some servers still has the others;
    /// a fault that waits for a winner hits only one of its hosts.
    #[must_use]
    pub fn takes_hosts_out(&self) -> bool {
        self.kind().takes_hosts_out() && self.from.is_empty() && self.moment.is_planned()
    }

    /// How long it lasts, in milliseconds; see [`Fault::for_ms`].
    #[must_use]
    pub fn for_ms(&self) -> Option<u64> {
        self.fault.for_ms()
    }

    /// This fault as a record event: the `id`-th to hit, at `t`, on this target.
    #[must_use]
    pub fn event(&self, id: u32, t: Nanos, intended: Nanos, hit: &ResolvedTarget) -> Event {
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

    /// Its target and moment as text.
    fn aim(&self) -> String {
        match self.moment {
            Moment::Planned => self.target.to_string(),
            Moment::Won => format!("{}, when a candidate had won there and did not believe it yet", self.target),
        }
    }
}
