//! Delays events from a given time on.

use crate::index::stamped;
use hustings_record::{Departure, Event, Nanos};

/// Adds `by` to every time of the event that is `from` or later.
pub(super) fn shift(event: &mut Event, from: Nanos, by: Nanos) {
    // A stall that began before is not lengthened.
    if matches!(event, Event::Stall { from: began, .. } if *began < from) {
        return;
    }
    for time in times(event).into_iter().filter(|time| **time >= from) {
        *time = time.saturating_add(by);
    }
}

/// All timestamps of an event.
fn times(event: &mut Event) -> Vec<&mut Nanos> {
    match event {
        stamped!(t) => vec![t],
        Event::Left { t, how: Departure::Resigned { delete: Some((sent, answered)) }, .. } => vec![t, sent, answered],
        Event::Left { t, .. } => vec![t],
        Event::Write { t, sent, .. } => std::iter::once(t).chain(sent).collect(),
        Event::FloorFailed { t, deleted, .. } => std::iter::once(t).chain(deleted).collect(),
        Event::Floor { deleted, notified, listed, .. } => vec![deleted, notified, listed],
        Event::Outage { from, to, .. } => std::iter::once(from).chain(to).collect(),
        Event::Stall { from, to, .. }
        | Event::ServerWait { from, to, .. }
        | Event::Revoke { from, to, .. }
        | Event::ServerState { from, to, .. }
        | Event::Holdings { from, to, .. }
        | Event::WriteGap { from, to, .. } => vec![from, to],
        Event::Fault(fault) => vec![&mut fault.t],
        Event::Owner(owner) => vec![&mut owner.from, &mut owner.to],
        Event::ObserverWeight(weight) => vec![&mut weight.t],
        Event::Verification(verification) => vec![&mut verification.from, &mut verification.to],
        Event::Program(program) => vec![&mut program.t],
    }
}
