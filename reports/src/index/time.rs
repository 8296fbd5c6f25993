//! The times of an event: how far a segment, and a cell, reached; and which numbers no clock ever showed.

use std::borrow::Cow;

use hustings_record::{CellRecord, Departure, Event, Nanos, Receipt, Seen};

/// No machine has been up for this long (36 years): sums of a few such numbers fit their type.
const NUMBER_MAX: u64 = 1 << 60;
/// The same in milliseconds.
const MS_MAX: u64 = NUMBER_MAX / 1_000_000;

/// The cell without the events whose numbers are impossible (beyond any clock, or ending before they begin), and how many
/// those were: nobody need look out for them again.
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
            | Event::Revoke { from, to, .. }
            | Event::ServerState { from, to, .. }
            | Event::Holdings { from, to, .. }
            | Event::WriteGap { from, to, .. } => span(*from, *to),
            Event::Owner(owner) => span(owner.from, owner.to),
            Event::Outage { from, to, .. } => span(*from, to.unwrap_or(*from)),
            Event::Segment { clock_uncertainty_ns: ns, .. } => *ns <= NUMBER_MAX,
            Event::Session { t, timeout_ms, connect_ns, .. } => *timeout_ms <= MS_MAX && connect_ns <= t,
            Event::Left { how: Departure::Resigned { delete: Some((from, to)) }, .. } => span(*from, *to),
            Event::Fault(fault) => fault.intended <= NUMBER_MAX && fault.for_ms.is_none_or(|ms| ms <= MS_MAX),
            Event::Receipt(receipt) => {
                let Receipt { from, to, touches, seen, .. } = &**receipt;
                let looked = seen.as_deref().map(Seen::times).unwrap_or_default();
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

/// The last time that an event speaks of. None for summaries that are not stamped by their writer's clock.
#[must_use]
pub fn last_time(event: &Event) -> Option<Nanos> {
    match event {
        Event::Segment { t, .. }
        | Event::End { t }
        | Event::Candidate { t, .. }
        | Event::Session { t, .. }
        | Event::State { t, .. }
        | Event::Incarnation { t, .. }
        | Event::Joined { t, .. }
        | Event::Created { t, .. }
        | Event::Grant { t, .. }
        | Event::Granted { t, .. }
        | Event::Notified { t, .. }
        | Event::Settled { t, .. }
        | Event::Left { t, .. }
        | Event::Note { t, .. }
        | Event::Severed { t, .. }
        | Event::Unwitnessed { t, .. }
        | Event::Misbehaved { t, .. }
        | Event::Cell { t, .. }
        | Event::Phase { t, .. }
        | Event::HostStarted { t, .. }
        | Event::HostEnded { t, .. }
        | Event::HostMemory { t, .. }
        | Event::Write { t, .. }
        | Event::Fence { t, .. }
        | Event::Servers { t, .. }
        | Event::ServerLoad { t, .. }
        | Event::ObserverState { t, .. }
        | Event::ObserverMissed { t, .. }
        | Event::ObserverCount { t, .. }
        | Event::ServerWatch { t, .. }
        | Event::ServerLooks { t, .. }
        | Event::LogClock { t, .. }
        | Event::WritesAcknowledged { t, .. }
        | Event::WriteProbe { t, .. }
        | Event::WriteProbed { t, .. }
        | Event::FloorFailed { t, .. }
        | Event::ServerWatched { t, .. }
        | Event::ServerLog { t, .. } => Some(*t),
        Event::Fault(fault) => Some(fault.t),
        Event::Owner(owner) => Some(owner.to),
        Event::ObserverWeight(weight) => Some(weight.t),
        Event::Receipt(receipt) => Some(receipt.to),
        Event::Program(program) => Some(program.t),
        Event::Outage { from, to, .. } => Some(to.unwrap_or(*from)),
        Event::Stall { to, .. }
        | Event::Revoke { to, .. }
        | Event::ServerState { to, .. }
        | Event::Holdings { to, .. }
        | Event::WriteGap { to, .. }
        | Event::Floor { listed: to, .. } => Some(*to),
    }
}
