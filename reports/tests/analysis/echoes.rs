//! A lead that is lost, and believed in once more or still.

use crate::*;

/// Host 0 is ordered to resign at 20 s. If `flaps`, it believes once more while its deletion is under way. Host 1 leads 0.9 s later.
fn resigned(flaps: bool) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    cell.inject(FaultKind::Resign, 0, &[0], 20_000, None);
    let node = cell.node(0, 0);
    cell.revoke(0, 0, 20_001, RevokeReason::Resigned);
    if flaps {
        cell.believe(0, 0, 20_003);
        cell.revoke(0, 0, 20_004, RevokeReason::Deposed);
    }
    cell.left(0, 0, 20_006, Departure::Resigned { delete: Some((ms(20_002), ms(20_005))) });
    cell.wake(0, &node, 20_005);
    cell.lead(0, 1, 20_900);
    cell.join(0, 0, 20_920);
    cell
}

#[test]
fn a_lead_believed_in_once_more_while_it_is_given_up_hides_no_slow_failover() {
    let failover = |flaps: bool| {
        let summary = resigned(flaps).summary();
        let handovers = summary.handovers;
        let counts = (handovers.completed, handovers.survived, handovers.explained, handovers.unplanned);
        (counts, summary.failover.whole.map(|whole| (whole.n, whole.max)))
    };
    assert_eq!(failover(false).0, (1, 0, 0, 0));
    assert_eq!(failover(true), failover(false));
}

/// The leader is cut off from 20 s to 26 s. ZooKeeper names another owner from 24.2 s on, which leads only after 15 s more. The old
/// leader believes until `until`.
fn cut_off(until: Option<u64>) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    cell.lasting(FaultKind::Partition, 0, &[0], (20_000, 26_000));
    cell.own(0, 1, 24_200);
    cell.believe(0, 1, 39_200);
    if let Some(until) = until {
        cell.revoke(0, 0, until, RevokeReason::SteppedDown);
    }
    cell
}

#[test]
fn a_leader_that_believes_on_after_another_one_owns_the_lead_has_not_survived() {
    let handovers = |until| {
        let handovers = cut_off(until).summary().handovers;
        (handovers.completed, handovers.survived)
    };
    assert_eq!(handovers(Some(22_000)), (1, 0));
    assert_eq!(handovers(None), (1, 0));
}

#[test]
fn a_leader_that_gives_up_by_itself_in_the_drain_is_unplanned() {
    let given_up = |at: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        cell.revoke(0, 0, at, RevokeReason::Resigned);
        cell.lead(0, 1, at + 5);
        cell.summary().handovers.unplanned
    };
    assert_eq!((given_up(60_000), given_up(76_000)), (1, 1));
}

#[test]
fn a_leader_that_gave_up_while_connected_is_not_explained_by_a_later_fault() {
    let unplanned = |connected: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Disconnect);
        let session = cell.session(0, 0);
        if !connected {
            cell.host(0).push(Event::State { t: ms(19_999), session, state: SessionState::Disconnected });
        }
        cell.revoke(0, 0, 20_000, RevokeReason::SteppedDown);
        cell.inject(FaultKind::Disconnect, 0, &[0], 20_300, None);
        cell.lead(0, 1, 20_600);
        let handovers = cell.summary().handovers;
        (handovers.unplanned, handovers.explained)
    };
    assert_eq!((unplanned(true), unplanned(false)), ((1, 0), (0, 1)));
}

#[test]
fn a_session_of_which_nobody_reports_a_connection_has_outlived_nothing() {
    let handovers = |reported: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
        cell.lasting(FaultKind::Partition, 0, &[0], (20_000, 21_000));
        cell.revoke(0, 0, 23_400, RevokeReason::SteppedDown);
        cell.lead(0, 1, 23_410);
        if !reported {
            cell.host(0).retain(|event| !matches!(event, Event::Session { .. } | Event::State { .. }));
        }
        let handovers = cell.summary().handovers;
        (handovers.survived, handovers.unplanned, handovers.completed)
    };
    assert_eq!((handovers(true), handovers(false)), ((1, 1, 0), (0, 0, 1)));
}

/// Host 0 was notified at 20 s that it lost the lead to host 1, and says so only 2 s later; it writes until then.
fn writes_on(writes: bool) -> CellSummary {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
    cell.inject(FaultKind::Expire, 0, &[0], 19_990, None);
    cell.lead(0, 1, 20_010);
    for at in (20_100..22_000).step_by(100).filter(|_| writes) {
        cell.write(0, 0, at);
    }
    cell.revoke(0, 0, 20_000, RevokeReason::SessionEnded);
    if let Some(Event::Revoke { to, .. }) = cell.host(0).last_mut() {
        *to = ms(22_000);
    }
    cell.info.expect.overlap = Expectation::Any;
    cell.info.expect.overlap_of_t_max = Some(0.1);
    cell.summary()
}

#[test]
fn a_leader_that_writes_until_the_end_of_its_revoke_believed_until_then() {
    let written = writes_on(true);
    assert_eq!((check(&written, "split-brain").verdict, written.split_brain.active.seen), (Fail, 1));
    let silent = writes_on(false);
    assert_eq!((check(&silent, "split-brain").verdict, silent.split_brain.possible), (Inconclusive, 1));
}

#[test]
fn short_stalls_excuse_a_leader_that_never_notices_for_no_longer_than_they_last() {
    let verdict = |believes_for: u64, stalls: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
        cell.inject(FaultKind::Expire, 0, &[0], 20_000, None);
        cell.lead(0, 1, 20_010);
        cell.revoke(0, 0, 20_010 + believes_for, RevokeReason::SessionEnded);
        for from in (0..stalls).map(|number| 20_050 + 450 * number) {
            cell.host(0).push(Event::Stall { from: ms(from), to: ms(from + 12), ran_ns: 0, program: false });
        }
        cell.verdict("ownership")
    };
    assert_eq!([verdict(5_000, 0), verdict(5_000, 11)], [Fail, Fail]);
}
