//! From a cell and the run's seed to timed faults: when each strikes, for how long, and whom. Pure: the same arguments give the
//! same plan.

mod target;

use rand::RngExt;
use serde::{Deserialize, Serialize};

pub use self::target::{Hit, LeaderView, resolve};

use crate::recipes::RecipeKind;
use crate::scenario::{Cell, Direction, FaultKind, Target};
use crate::seed;

/// From the start of measuring to the first fault, at least, in milliseconds.
const LEAD_IN_MS: u64 = 400;

/// Gaps between repeats vary by this fraction to either side, so that faults do not fall into step with ticks.
const JITTER: f64 = 0.2;

/// What a handover may take when nobody has to wait for an expiry, in milliseconds.
const QUICK_HANDOVER_MS: u64 = 1_000;

/// What a handover may take beside the expiry of a session, in milliseconds.
const EXPIRY_MARGIN_MS: u64 = 1_500;

/// One fault of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedFault {
    /// Number in the cell, from 0.
    pub id: u32,
    /// When it is to strike, in milliseconds from the start of measuring.
    pub at_ms: u64,
    /// What is done.
    pub kind: FaultKind,
    /// Whom it hits; who that is is resolved when it strikes.
    pub target: Target,
    /// How long it lasts, in milliseconds. `None`: it is done in an instant, or (a crash) stays.
    pub for_ms: Option<u64>,
    /// What else it needs.
    pub params: FaultParams,
}

/// What a slow link is like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultParams {
    /// Latency added, in milliseconds.
    pub latency_ms: u64,
    /// It varies by this much, in milliseconds.
    pub jitter_ms: u64,
    /// Bandwidth, in KiB a second.
    pub rate_kb: Option<u64>,
    /// Which way.
    pub direction: Direction,
}

/// The faults of a cell in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order in which they strike. A control (`none`) has none.
    pub faults: Vec<PlannedFault>,
    /// How long is measured: the last fault, its duration, and the time that a handover may take.
    pub measure_ms: u64,
}

/// Plans the faults of a cell.
#[must_use]
pub fn plan(cell: &Cell, seed: u64) -> Plan {
    let (fault, timeout_ms) = (&cell.fault, cell.timeout_granted_ms());
    let duration_ms = fault.duration_ms(timeout_ms);
    if fault.kind == FaultKind::None {
        return Plan { faults: Vec::new(), measure_ms: duration_ms.unwrap_or(0) };
    }
    let settled_ms = duration_ms.unwrap_or(0) + handover_max_ms(cell);
    // The shortest gap still leaves a fault and its handover enough time.
    let every_ms = fault.every_ms.unwrap_or_else(|| (settled_ms as f64 / (1.0 - JITTER)).ceil() as u64);
    let mut rng = seed::rng(seed, &cell.name, "plan");
    // The first may strike anywhere in a tick.
    let mut at_ms = LEAD_IN_MS + rng.random_range(0..=cell.tick_ms.min(1_000));
    let mut faults = Vec::new();
    for id in 0..fault.repeat {
        if id > 0 {
            at_ms += (every_ms as f64 * rng.random_range(1.0 - JITTER..=1.0 + JITTER)).round() as u64;
        }
        faults.push(PlannedFault {
            id,
            at_ms,
            kind: fault.kind,
            target: fault.target(),
            for_ms: duration_ms,
            params: FaultParams {
                latency_ms: fault.latency_ms.unwrap_or(0),
                jitter_ms: fault.jitter_ms.unwrap_or(0),
                rate_kb: fault.rate_kb,
                direction: fault.direction.unwrap_or_default(),
            },
        });
    }
    Plan { faults, measure_ms: at_ms + settled_ms }
}

/// The time in which a handover after this cell's fault should be done, in milliseconds: where a session has to expire, until
/// the client itself gives it up (1.4 T), three ticks of the server's rounding, and what a busy machine needs.
#[must_use]
pub fn handover_max_ms(cell: &Cell) -> u64 {
    let poll_ms = if cell.recipe == RecipeKind::PollRace { cell.poll_interval_ms } else { 0 };
    poll_ms
        + if cell.fault.kind.takes_hosts_out() {
            cell.timeout_granted_ms() * 7 / 5 + 3 * cell.tick_ms + EXPIRY_MARGIN_MS
        } else {
            QUICK_HANDOVER_MS
        }
}
