//! The times of an event: how far a segment, and a cell, reached; and which numbers are impossible for a clock.

use std::borrow::Cow;

use hustings_record::{CellRecord, Departure, Event, Evidence, Nanos, VerificationEvent};

/// No machine has been up for this long (36 years), so sums of a few such numbers fit their type.
const NUMBER_MAX: u64 = 1 << 60;
/// The same in milliseconds.
const MS_MAX: u64 = NUMBER_MAX / 1_000_000;
/// Reports of one moment by several writers may be this far apart.
pub(crate) const EDGE_NS: Nanos = 250_000_000;

/// The cell without the events whose numbers are impossible (beyond any clock, or ending before they begin), and the
/// number of those. No other code needs to check for them.
#[must_use]
pub fn plausible(cell: &CellRecord) -> (Cow<'_, CellRecord>, u64) {
    let odd = cell.events().filter(|(_, e)| !is_plausible(e)).count() as u64;
    if odd == 0 {
        return (Cow::Borrowed(cell), 0);
    }
    let mut cell = cell.clone();
    cell.segments.iter_mut().for_each(|s| s.events.retain(is_plausible));
    (Cow::Owned(cell), odd)
}

fn is_plausible(event: &Event) -> bool {
    let span = |from: Nanos, to: Nanos| from <= to && to <= NUMBER_MAX;
    let timed = last_time(event).is_none_or(|t| t <= NUMBER_MAX);
    timed
        && match event {
            Event::Stall { from, to, .. }
            | Event::ServerWait { from, to, .. }
            | Event::Revoke { from, to, .. }
            | Event::ServerState { from, to, .. }
            | Event::Holdings { from, to, .. }
            | Event::WriteGap { from, to, .. } => span(*from, *to),
            Event::Owner(owner) => span(owner.from, owner.to),
            Event::Outage { from, to, .. } => span(*from, to.unwrap_or(*from)),
            Event::Segment { clock_uncertainty_ns: ns, .. } => *ns <= NUMBER_MAX,
            Event::Session { t, timeout_ms, connect_ns, .. } => *timeout_ms <= MS_MAX && connect_ns <= t,
            Event::Left { how: Departure::Resigned { delete: Some((from, to)) }, .. } => span(*from, *to),
            Event::FaultPlan { faults, .. } => {
                faults.iter().all(|f| f.intended <= NUMBER_MAX && f.for_ms.is_none_or(|ms| ms <= MS_MAX))
            }
            Event::Fault(fault) => fault.intended <= NUMBER_MAX && fault.for_ms.is_none_or(|ms| ms <= MS_MAX),
            Event::Verification(verification) => {
                let VerificationEvent { from, to, touches, seen, .. } = &**verification;
                let looked = seen.as_deref().map(Evidence::times).unwrap_or_default();
                span(*from, *to)
                    && touches.iter().all(|t| t.last_up <= NUMBER_MAX)
                    && looked.into_iter().all(|(from, to)| span(from, to))
            }
            Event::Write { seq, sent, .. } => *seq <= NUMBER_MAX && sent.is_none_or(|t| t <= NUMBER_MAX),
            Event::Severed { answered_ns: ns, .. }
            | Event::ServerWatch { every_ns: ns, .. }
            | Event::WriteProbe { every_ns: ns, .. }
            | Event::ServerWatched { longest_gap_ns: ns, .. } => *ns <= NUMBER_MAX,
            Event::ServerLooks { t, looks, .. } => {
                *t <= NUMBER_MAX && looks.iter().all(|(gap, took)| *gap <= NUMBER_MAX && *took <= NUMBER_MAX)
            }
            Event::WritesAcknowledged { t, then } => *t <= NUMBER_MAX && then.iter().all(|gap| *gap <= NUMBER_MAX),
            Event::LogClock { bound_ns: ns, .. } => *ns <= NUMBER_MAX,
            Event::HostMemory { rss_kb, .. } => *rss_kb <= MS_MAX,
            Event::ObserverCount { deleted, created, changed, .. } => {
                [Some(*deleted), *created, *changed].into_iter().flatten().all(|count| count <= NUMBER_MAX)
            }
            Event::ObserverWeight(weight) => {
                let weights = [Some(weight.per_deletion), weight.per_creation, weight.per_change];
                weights.into_iter().flatten().all(|weight| weight.abs() < NUMBER_MAX as f64)
            }
            Event::Floor { deleted, notified, listed, .. } => span(*deleted, *notified) && span(*notified, *listed),
            Event::FloorFailed { t, deleted: Some(deleted), .. } => span(*deleted, *t),
            Event::ServerLoad { load, .. } => load.figures().all(|v| v.abs() < NUMBER_MAX as f64),
            Event::Servers { metrics, .. } => {
                metrics.values().flat_map(|m| m.values()).all(|v| v.abs() < NUMBER_MAX as f64)
            }
            _ => true,
        }
}

/// A pattern that matches events with a single time, and binds it.
macro_rules! stamped {
    ($t:ident) => {
        hustings_record::Event::Segment { t: $t, .. }
            | hustings_record::Event::End { t: $t }
            | hustings_record::Event::Candidate { t: $t, .. }
            | hustings_record::Event::Session { t: $t, .. }
            | hustings_record::Event::State { t: $t, .. }
            | hustings_record::Event::Incarnation { t: $t, .. }
            | hustings_record::Event::Joined { t: $t, .. }
            | hustings_record::Event::Created { t: $t, .. }
            | hustings_record::Event::Grant { t: $t, .. }
            | hustings_record::Event::Granted { t: $t, .. }
            | hustings_record::Event::Notified { t: $t, .. }
            | hustings_record::Event::Settled { t: $t, .. }
            | hustings_record::Event::Note { t: $t, .. }
            | hustings_record::Event::Severed { t: $t, .. }
            | hustings_record::Event::Unwitnessed { t: $t, .. }
            | hustings_record::Event::Misbehaved { t: $t, .. }
            | hustings_record::Event::Cell { t: $t, .. }
            | hustings_record::Event::Phase { t: $t, .. }
            | hustings_record::Event::HostStarted { t: $t, .. }
            | hustings_record::Event::HostEnded { t: $t, .. }
            | hustings_record::Event::HostMemory { t: $t, .. }
            | hustings_record::Event::Fence { t: $t, .. }
            | hustings_record::Event::Servers { t: $t, .. }
            | hustings_record::Event::ServerLoad { t: $t, .. }
            | hustings_record::Event::ObserverState { t: $t, .. }
            | hustings_record::Event::ObserverMissed { t: $t, .. }
            | hustings_record::Event::ObserverCount { t: $t, .. }
            | hustings_record::Event::ServerWatch { t: $t, .. }
            | hustings_record::Event::ServerLooks { t: $t, .. }
            | hustings_record::Event::LogClock { t: $t, .. }
            | hustings_record::Event::WritesAcknowledged { t: $t, .. }
            | hustings_record::Event::WriteProbe { t: $t, .. }
            | hustings_record::Event::WriteProbed { t: $t, .. }
            | hustings_record::Event::ServerWatched { t: $t, .. }
            | hustings_record::Event::FaultPlan { t: $t, .. }
            | hustings_record::Event::FaultWithheld { t: $t, .. }
            | hustings_record::Event::ServerLog { t: $t, .. }
    };
}
pub(crate) use stamped;

/// The last time in an event. None for summaries that are not stamped by their writer's clock.
#[must_use]
pub fn last_time(event: &Event) -> Option<Nanos> {
    match event {
        stamped!(t) | Event::Left { t, .. } | Event::Write { t, .. } | Event::FloorFailed { t, .. } => Some(*t),
        Event::Fault(fault) => Some(fault.t),
        Event::Owner(owner) => Some(owner.to),
        Event::ObserverWeight(weight) => Some(weight.t),
        Event::Verification(verification) => Some(verification.to),
        Event::Program(program) => Some(program.t),
        Event::Outage { from, to, .. } => Some(to.unwrap_or(*from)),
        Event::Stall { to, .. }
        | Event::ServerWait { to, .. }
        | Event::Revoke { to, .. }
        | Event::ServerState { to, .. }
        | Event::Holdings { to, .. }
        | Event::WriteGap { to, .. }
        | Event::Floor { listed: to, .. } => Some(*to),
    }
}
