//! Samples during which a process was stalled.

use crate::deadlines::with_stalled;
use crate::*;

/// One resignation of 4 ms at 20 s in each of three groups, a second apart.
fn resignations() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 3, 4, FaultKind::Resign);
    (0..3).for_each(|group| cell.resign(group, 20_000 + u64::from(group) * 1_000));
    cell
}

/// Samples and void ones, of the whole failover.
fn whole(summary: &CellSummary) -> (u64, u64) {
    (summary.failover.whole.as_ref().map_or(0, |whole| whole.n), summary.failover.void)
}

#[test]
fn a_failover_that_a_stall_covers_too_much_of_is_void() {
    let stalled = |host: u16, from: u64, to: u64| {
        let mut cell = resignations();
        cell.host(host).push(Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false });
        cell.summary()
    };
    // It begins a millisecond after 20 s and takes four.
    assert_eq!(whole(&stalled(1, 19_990, 20_003)), (2, 1), "of the winner");
    assert_eq!(whole(&stalled(0, 20_003, 20_020)), (2, 1), "of the loser");
    assert_eq!(whole(&stalled(1, 19_990, 20_002)), (3, 0), "a quarter and no more");
    assert_eq!(whole(&stalled(3, 19_990, 20_020)), (3, 0), "of a host that had no part in it");
    assert_eq!(check(&stalled(1, 19_990, 20_003), "failover").verdict, Pass);
    let shown = stalled(1, 19_990, 20_003);
    assert!(check(&shown, "failover").headline.contains("n = 2, 1 void by a stall"));
}

#[test]
fn what_a_thread_was_busy_for_voids_nothing() {
    let busy = |ran: u64| {
        let mut cell = resignations();
        cell.host(1).push(Event::Stall { from: ms(19_990), to: ms(20_005), ran_ns: ran * 1_000_000, program: false });
        whole(&cell.summary())
    };
    assert_eq!((busy(0), busy(13)), ((2, 1), (2, 1)), "it did not run for 15 ms, or 2, of its 4");
    assert_eq!((busy(14), busy(15), busy(99)), ((3, 0), (3, 0), (3, 0)));
}

#[test]
fn short_stalls_while_a_session_expires_void_nothing() {
    let mut cell = partition(22_000);
    (0..90).for_each(|n| {
        cell.host(0).push(Event::Stall {
            from: ms(20_000 + 45 * n),
            to: ms(20_040 + 45 * n),
            ran_ns: 0,
            program: false,
        })
    });
    assert_eq!(whole(&cell.summary()), (1, 0));
}

#[test]
fn phases_are_void_by_their_own_parts() {
    let mut cell = partition(22_000);
    // From the first notified watcher, at 24.2 s, to the grant a millisecond later.
    cell.host(1).push(Event::Stall { from: ms(24_190), to: ms(24_201), ran_ns: 0, program: false });
    let failover = cell.summary().failover;
    assert_eq!((failover.void, failover.whole.map(|whole| whole.n)), (0, Some(1)));
    assert_eq!(failover.decide.map(|decide| (decide.n, decide.void)), Some((0, 1)));
    assert_eq!(failover.detect.map(|detect| (detect.n, detect.void)), Some((1, 0)));
}

#[test]
fn stalls_of_whoever_is_no_host_count_whatever_its_name() {
    for writer in ["coordinator-2", "observer-2", "proxy-1", "server-3"] {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
        cell.resign(0, 28_000);
        let summary = with_stalled(cell, writer, 12);
        assert_eq!(whole(&summary), (0, 1), "{writer}");
        assert_eq!(check(&summary, "failover").verdict, Inconclusive, "{writer}: nothing is left");
    }
}

#[test]
fn failovers_that_a_pause_of_a_server_may_be_in_are_counted_and_stay() {
    let paused = |logged: u64, long: u64| {
        let mut cell = resignations();
        let line = ServerLine::Paused { ms: long };
        cell.coordinator.push(Event::ServerLog { t: ms(logged), server: 1, line });
        let failover = cell.summary().failover;
        (failover.beside_pauses, failover.void, failover.whole.map(|whole| whole.n))
    };
    // They begin a millisecond after 20, 21 and 22 s, and take four; the server had slept for 50 ms and overslept.
    assert_eq!(paused(20_030, 10), (1, 0, Some(3)));
    assert_eq!(paused(21_066, 10), (0, 0, Some(3)), "it had not begun to sleep");
    assert_eq!(paused(20_000, 10), (0, 0, Some(3)), "it had slept before");
    assert_eq!(paused(20_002, 10), (0, 0, Some(3)), "a quarter and no more");
    assert_eq!(paused(20_900, 1_000), (1, 0, Some(3)));
    assert_eq!(paused(21_000, 2_000), (1, 0, Some(3)));
    assert_eq!(paused(21_500, 1_500), (2, 0, Some(3)));
}

#[test]
fn where_more_are_void_than_are_left_the_latency_is_not_known() {
    let void = |groups: u64| {
        let mut cell = resignations();
        for group in 0..groups {
            let from = 20_000 + group * 1_000;
            cell.host(1).push(Event::Stall { from: ms(from), to: ms(from + 12), ran_ns: 0, program: false });
        }
        let summary = cell.summary();
        (whole(&summary), check(&summary, "failover").verdict)
    };
    assert_eq!(void(1), ((2, 1), Pass));
    assert_eq!(void(2), ((1, 2), Inconclusive));
    assert_eq!(void(3), ((0, 3), Inconclusive));
}

#[test]
fn a_stop_that_was_ordered_is_no_stall() {
    let summary = pause(30_005, &[]).summary();
    assert_eq!(whole(&summary), (1, 0));
}
