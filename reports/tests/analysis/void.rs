//! A phase with only void samples is reported as such.

use crate::*;
use hustings_reports::render::html;

/// A resignation during whose decide phase the successor's process was stalled.
fn decided_in_a_stall() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    cell.inject(FaultKind::Resign, 0, &[0], 20_000, None);
    let node = cell.node(0, 0);
    cell.revoke(0, 0, 20_001, RevokeReason::Resigned);
    cell.left(0, 0, 20_004, Departure::Resigned { delete: Some((ms(20_002), ms(20_003))) });
    cell.wake(0, &node, 20_023);
    cell.lead(0, 1, 20_028);
    cell.host(1).push(Event::Stall { from: ms(20_024), to: ms(20_027), ran_ns: 0, program: false });
    cell
}

#[test]
fn a_phase_whose_samples_are_all_void_is_told_with_their_number() {
    let summary = decided_in_a_stall().summary();
    let decide = summary.failover.decide.clone().expect("one sample, which is void");
    assert_eq!((decide.n, decide.censored, decide.void, decide.p50), (0, 0, 1, None));
    assert_eq!(summary.failover.whole.as_ref().map(|whole| (whole.n, whole.void)), Some((1, 0)));
    let details = &check(&summary, "failover").details;
    assert!(details.iter().any(|line| line == "decide: 1 sample, all void by a stall"), "{details:?}");
}

#[test]
fn a_phase_without_any_sample_is_none() {
    let mut cell = Cell::new("poll-race", 1, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    assert_eq!(cell.summary().failover.decide, None);
}

#[test]
fn the_page_does_not_say_of_a_void_phase_that_nothing_was_measured() {
    let page = html(&summarise(&decided_in_a_stall().record())).expect("the page is made");
    let (_, missing) = page.split_once("Nothing measured of: ").expect("some distributions are missing");
    let missing = missing.split_once('<').map_or(missing, |(missing, _)| missing);
    assert!(missing.contains("spread") && !missing.contains("decide"), "{missing}");
}
