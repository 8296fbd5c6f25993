//! Control-plane events of a cell: those that are not of a candidate, its client, its work or its lead. Most queries
//! need these alone, and so skip millions of others.

use std::collections::BTreeSet;

use hustings_record::{CellRecord, Event, SegmentRecord};

/// An event and its segment.
pub type PlacedEvent<'a> = (&'a SegmentRecord, &'a Event);

/// All control-plane events, in the order of the record.
pub(super) fn few(cell: &CellRecord) -> Vec<PlacedEvent<'_>> {
    cell.events().filter(|(_, event)| !is_one_of_many(event)).collect()
}

/// Hosts on which processes of the harness run beside external programs. Faults hit only the programs.
pub(super) fn hosts_of_programs(few: &[PlacedEvent<'_>]) -> BTreeSet<u16> {
    few.iter().filter(|(_, event)| matches!(event, Event::Program(_))).filter_map(|(segment, _)| segment.host).collect()
}

/// Whether it is a frequent event: of candidates, their clients or the resource, or the owner that the observer reports
/// for a lead.
fn is_one_of_many(event: &Event) -> bool {
    use Event as E;
    let of_a_lead =
        matches!(event, E::Grant { .. } | E::Granted { .. } | E::Revoke { .. } | E::Write { .. } | E::Owner(_));
    of_a_lead || event.is_candidate_activity() || matches!(event, E::Candidate { .. })
}
