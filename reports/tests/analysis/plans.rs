//! Planned faults: each counts only if it was injected and verified.

use crate::*;
use hustings_reports::summary::CheckResult;

/// Two resignations, of a plan with this many faults; these were withheld.
fn judged(planned: u32, withheld: &[u32]) -> (CellSummary, CheckResult) {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Resign);
    let intent = |id: u32| FaultIntent {
        id,
        kind: FaultKind::Resign,
        intended: ms(20_000 + 10_000 * u64::from(id)),
        for_ms: None,
        target: "the leader of 1 group".to_owned(),
    };
    let faults = (0..planned).map(intent).collect();
    cell.coordinator.push(Event::FaultPlan { t: ms(10_000), faults });
    for &planned in withheld {
        let why = WithheldReason::NoHealthyHost;
        cell.coordinator.push(Event::FaultWithheld { t: ms(40_000), planned, why });
    }
    cell.resign(0, 20_000);
    cell.resign(1, 30_000);
    for event in &mut cell.coordinator {
        if let Event::Fault(order) = event {
            order.planned = Some(order.id);
        }
    }
    let summary = cell.summary();
    let verifications = check(&summary, "verification").clone();
    (summary, verifications)
}

#[test]
fn a_plan_of_which_every_fault_was_ordered_and_verified_passes() {
    let (summary, verifications) = judged(2, &[]);
    assert_eq!((verifications.verdict, verifications.headline.as_str()), (Pass, "2 of 2 planned faults verified"));
    assert_eq!((summary.faults.planned, summary.faults.planned_verified, summary.faults.lost), (2, 2, 0));
}

#[test]
fn a_withheld_fault_is_counted_and_named_and_makes_the_cell_inconclusive() {
    let (summary, verifications) = judged(4, &[2, 3]);
    assert_eq!((summary.verdict, verifications.verdict), (Inconclusive, Inconclusive));
    assert_eq!(verifications.headline, "2 of 4 planned faults verified, 2 withheld");
    assert!(
        verifications.reason().starts_with("2 planned faults were withheld, because every host"),
        "{verifications:?}"
    );
    assert!(verifications.reason().contains("resign number 2 of the plan"), "{verifications:?}");
    let withheld: Vec<u32> = summary.faults.withheld.iter().map(|fault| fault.planned).collect();
    assert_eq!(withheld, [2, 3]);
}

#[test]
fn a_planned_fault_that_vanishes_makes_the_cell_inconclusive() {
    let (summary, verifications) = judged(3, &[]);
    assert_eq!(verifications.verdict, Inconclusive);
    assert!(verifications.reason().contains("neither ordered nor withheld: resign number 2"), "{verifications:?}");
    assert_eq!((summary.faults.planned, summary.faults.lost), (3, 1));
}

#[test]
fn a_fault_that_the_plan_does_not_name_makes_the_cell_inconclusive() {
    let (_, verifications) = judged(1, &[]);
    assert_eq!(verifications.verdict, Inconclusive);
    assert_eq!(verifications.reason(), "1 fault was ordered that the plan does not name");
}

#[test]
fn without_a_plan_in_the_record_the_orders_are_counted() {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    let summary = cell.summary();
    assert_eq!((summary.faults.planned, summary.faults.planned_verified), (1, 1));
}

/// A pause with a planned duration of T/2 lasts this long, and its leader loses the lead, which is not expected.
fn paused(lasted: u64) -> CellSummary {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Pause);
    cell.info.expect.handovers = Some(Expectation::None);
    let id = cell.inject(FaultKind::Pause, 0, &[0], 20_000, Some(2_000));
    cell.healed(id, 20_000 + lasted);
    cell.revoke(0, 0, 20_001 + lasted, RevokeReason::SessionEnded);
    cell.lead(0, 1, 20_010 + lasted);
    cell.summary()
}

#[test]
fn a_fault_that_lasted_longer_than_planned_says_so() {
    for (lasted, is_longer) in [(2_000, false), (2_090, false), (2_110, true)] {
        let summary = paused(lasted);
        let verifications = check(&summary, "verification");
        let says_so =
            verifications.details.iter().any(|line| line.contains("pause number 0 was healed late: it lasted 2.11 s"));
        assert_eq!((verifications.verdict, says_so), (Pass, is_longer), "{lasted}: {verifications:?}");
        assert_eq!(summary.faults.verifications[0].overran_ns.is_some(), is_longer, "{lasted}");
    }
}

#[test]
fn a_lead_lost_to_a_fault_that_lasted_too_long_is_inconclusive_only_where_a_session_may_have_ended_by_it() {
    let verdict = |lasted: u64| check(&paused(lasted), "handovers").verdict;
    assert_eq!((verdict(2_000), verdict(2_300), verdict(2_500)), (Fail, Fail, Inconclusive), "3/5 T is 2.4 s");
}
