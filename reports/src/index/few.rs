//! The few beside the many: events of a cell that are not of a candidate, its client, its work or its lead. Most questions are
//! about these alone, and need not go through millions of others.

use hustings_record::{CellRecord, Event, SegmentRecord};

/// An event, and the segment that it stands in.
pub type PlacedEvent<'a> = (&'a SegmentRecord, &'a Event);

/// All events that are few, in the order of the record.
pub(super) fn few(cell: &CellRecord) -> Vec<PlacedEvent<'_>> {
    cell.events().filter(|(_, event)| !is_one_of_many(event)).collect()
}

/// Whether it is what candidates, their clients, and the resource do over and over, or what the observer says of every lead.
fn is_one_of_many(event: &Event) -> bool {
    use Event as E;
    let of_a_lead =
        matches!(event, E::Grant { .. } | E::Granted { .. } | E::Revoke { .. } | E::Write { .. } | E::Owner(_));
    of_a_lead || event.is_deed() || matches!(event, E::Candidate { .. })
}
