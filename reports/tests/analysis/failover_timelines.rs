//! Single handovers: the median one step by step, those that are not plain samples, and those of one injection.

use crate::*;
use hustings_reports::summary::{ExceptionKind, FailoverTimeline};

#[test]
fn the_moments_of_the_failover_in_the_middle_count_from_the_loss() {
    let mut cell = Cell::new("naive", 2, 4, FaultKind::Crash);
    cell.crash(20_000, 300);
    let failover = cell.summary().failover;
    let expected = FailoverTimeline {
        granted: ms(3_802) + 10_000,
        // The last contact was half a second before the crash, so that T = 4 s runs out half a second sooner.
        touched_before: Some(ms(500)),
        due: Some(ms(3_500)),
        released: None,
        told: Some(ms(3_800)),
        last_told: Some(ms(3_800)),
        written: Some(ms(3_804)),
    };
    assert_eq!(failover.course, Some(expected));
    assert_eq!(failover.whole.unwrap().p50, Some(expected.granted));

    let mut resigned = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    resigned.resign(0, 20_000);
    let course = resigned.summary().failover.course.unwrap();
    assert_eq!((course.released, course.told), (Some(ms(1)), Some(ms(2))));
    assert_eq!(
        (course.touched_before, course.due, course.last_told),
        (None, None, None),
        "one is told, and nothing expires"
    );
    assert_eq!((course.granted, course.written), (ms(4) + 10_000, Some(ms(6))));
}

#[test]
fn of_several_failovers_the_one_as_long_as_the_median_is_shown() {
    let mut cell = Cell::new("predecessor-watch", 3, 3, FaultKind::Expire);
    for (group, told) in [(0, 20_300), (1, 20_100), (2, 20_200)] {
        cell.inject(FaultKind::Expire, 0, &[group], 20_000, None);
        cell.revoke(group, 0, 20_005, RevokeReason::SessionEnded);
        let node = cell.node(group, 0);
        cell.wake(group, &node, told);
        cell.lead(group, 1, told + 5);
    }
    let failover = cell.summary().failover;
    let course = failover.course.unwrap();
    assert_eq!((course.told, Some(course.granted)), (Some(ms(200)), failover.whole.unwrap().p50));
}

#[test]
fn a_median_that_censoring_hides_has_no_course() {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Crash);
    let id = cell.inject(FaultKind::Crash, 0, &[0, 1], 20_000, None);
    cell.kill(0, 20_000);
    let summary = cell.summary();
    assert_eq!(summary.failover.whole.map(|whole| (whole.n, whole.censored)), Some((0, 2)));
    assert_eq!(summary.failover.course, None);
    let kinds: Vec<ExceptionKind> = summary.exceptions.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [ExceptionKind::Censored; 2]);
    let first = &summary.exceptions[0];
    assert_eq!((first.group.as_str(), first.loser.0.as_str(), &first.next), ("g0", "h0", &None));
    assert_eq!(first.fault, Some((id, FaultKind::Crash)));
    assert_eq!(
        (
            summary.correlated_expiries.len(),
            summary.correlated_expiries[0].never,
            summary.correlated_expiries[0].groups
        ),
        (1, 2, 2)
    );
}

#[test]
fn a_handover_that_nobody_planned_is_listed_with_both_leaders() {
    let summary = false_failover().summary();
    assert_eq!(summary.handovers.unplanned, 1);
    let listed: Vec<_> = summary.exceptions.iter().filter(|one| one.kind == ExceptionKind::Unplanned).collect();
    assert_eq!(listed.len(), 1);
    assert!(listed[0].next.is_some() && listed[0].fault.is_none());
}

#[test]
fn groups_that_fell_in_one_tick_are_counted_together() {
    let mut cell = Cell::new("predecessor-watch", 5, 3, FaultKind::Crash);
    cell.crash(20_000, 300);
    let correlated_expiries = cell.summary().correlated_expiries;
    assert_eq!(correlated_expiries.len(), 1);
    assert_eq!(
        (correlated_expiries[0].groups, correlated_expiries[0].never, correlated_expiries[0].most_together()),
        (5, 0, 5)
    );
    let ticks = ms(3_800) / correlated_expiries[0].tick;
    assert_eq!(correlated_expiries[0].noticed, [(ticks, 5)]);

    let mut resigned = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    resigned.resign(0, 20_000);
    assert!(resigned.summary().correlated_expiries.is_empty(), "no session had to expire");
}
