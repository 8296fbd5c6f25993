//! The numbers behind a zero: injections, not handovers; and only those in which a violation was observable.

use crate::*;
use hustings_reports::stats::upper_95;
use hustings_reports::summary::Rate;

/// Violations, handovers, injections, and injections with a violation; the bound is always based on the injections.
fn figures(rate: Rate) -> (u64, u64, u64, u64) {
    assert_eq!(rate.upper_95, upper_95(rate.bad_injections, rate.injections));
    (rate.seen, rate.n, rate.injections, rate.bad_injections)
}

/// Sessions of the leaders of two groups are ended; the old leaders believe on for this long.
fn expire_two(cell: &mut Cell, at: u64, overlap: u64) {
    for group in [0, 1] {
        cell.inject(FaultKind::Expire, 0, &[group], at, None);
        let node = cell.node(group, 0);
        cell.wake(group, &node, at + 1);
        cell.lead(group, 1, at + 10);
        cell.revoke(group, 0, at + 10 + overlap, RevokeReason::SessionEnded);
    }
}

#[test]
fn a_crash_that_costs_twenty_leads_is_one_piece_of_evidence() {
    let mut cell = Cell::new("predecessor-watch", 20, 3, FaultKind::Crash);
    cell.crash(20_000, 300);
    let summary = cell.summary();
    assert_eq!((summary.handovers.completed, summary.handovers.injections), (20, 1));
    assert_eq!(figures(summary.split_brain.active), (0, 0, 0, 0), "and none of two leaders, for the dead lead no more");
}

#[test]
fn all_that_was_planned_for_one_moment_is_one_injection() {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Expire);
    expire_two(&mut cell, 20_000, 0);
    assert_eq!(figures(cell.summary().split_brain.active), (0, 2, 1, 0));

    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Expire);
    expire_two(&mut cell, 20_000, 50);
    assert_eq!(figures(cell.summary().split_brain.active), (2, 2, 1, 1));

    let mut apart = Cell::new("predecessor-watch", 2, 3, FaultKind::Resign);
    apart.resign(0, 20_000);
    apart.resign(1, 30_000);
    assert_eq!(figures(apart.summary().split_brain.active), (0, 2, 2, 0));
}

#[test]
fn what_nobody_planned_is_an_injection_of_its_own() {
    assert_eq!(figures(false_failover().summary().split_brain.active), (0, 1, 1, 0));
    // An overlap of a term without a predecessor.
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    cell.believe(0, 1, 20_000);
    cell.revoke(0, 1, 21_000, RevokeReason::SteppedDown);
    let summary = cell.summary();
    assert_eq!(figures(summary.split_brain.active), (1, 1, 1, 1));
    assert_eq!(check(&summary, "split-brain").verdict, Fail);
}

#[test]
fn stale_writes_stand_against_handovers_whose_loser_could_still_write() {
    let mut crashed = Cell::new("predecessor-watch", 2, 3, FaultKind::Crash);
    crashed.crash(20_000, 300);
    let summary = crashed.summary();
    assert_eq!(figures(summary.writes.past_fence), (0, 0, 0, 0));
    assert_eq!(
        check(&summary, "stale-writes").verdict,
        Pass,
        "the dead cannot write, and nobody promises that they do"
    );

    assert_eq!(figures(partition(22_000).summary().writes.unfenced), (0, 1, 1, 0));
    let summary = pause(30_005, &[30_002, 30_004]).summary();
    assert_eq!(figures(summary.writes.unfenced), (2, 1, 1, 1));
    assert_eq!(figures(summary.writes.past_fence), (0, 1, 1, 0));
}

#[test]
fn a_handover_in_which_a_process_stalled_stands_behind_no_zero() {
    let stalled = |until: u64, host: u16| {
        let mut cell = partition(until);
        cell.host(host).push(Event::Stall { from: ms(24_000), to: ms(25_000), ran_ns: 0, program: false });
        cell.summary()
    };
    let clean = stalled(22_000, 1);
    assert_eq!(figures(clean.split_brain.active), (0, 0, 0, 0));
    assert_eq!(figures(clean.writes.past_fence), (0, 0, 0, 0));
    assert_eq!(check(&clean, "split-brain").verdict, Inconclusive);
    assert_eq!(check(&clean, "stale-writes").verdict, Inconclusive);
    assert_eq!(
        figures(stalled(25_600, 0).split_brain.active),
        (0, 0, 0, 0),
        "what was left out as seen is no opportunity"
    );
}

#[test]
fn a_zero_that_no_handover_stands_behind_is_inconclusive_where_there_must_be_some() {
    let kept = |kind: FaultKind, for_ms: Option<u64>, expected: Expectation| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, kind);
        (cell.info.expect.overlap, cell.info.expect.stale_writes) = (expected, expected);
        let id = cell.inject(kind, 0, &[0], 20_000, for_ms);
        cell.healed(id, 20_000 + for_ms.unwrap_or(0));
        let summary = cell.summary();
        (check(&summary, "split-brain").verdict, check(&summary, "stale-writes").verdict)
    };
    let must = Some(10_000);
    assert_eq!(kept(FaultKind::Partition, must, Expectation::None), (Inconclusive, Inconclusive));
    assert_eq!(kept(FaultKind::Disconnect, None, Expectation::None), (Pass, Pass), "nobody need lose a lead");
    assert_eq!(kept(FaultKind::Disconnect, None, Expectation::Some), (Inconclusive, Inconclusive));
    let control = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    assert_eq!(control.verdict("split-brain"), Pass);
}
