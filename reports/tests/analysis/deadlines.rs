//! How long a fault explains an observation, what a stalled process explains, and where a verification is needed.

use crate::sessions::crashed_as_leader_was_lost;
use crate::*;

/// The time after a fault's end by which sessions that it hit have expired, plus a busy machine's second and a poll.
const EXPIRED: u64 = T + 3 * TICK / 2 + 1_000 + 200;

/// The leader is partitioned for 2 s, has no connection from then on, and loses the lead to host 1 at `lost`.
fn lost_after_a_short_partition(lost: u64, verified: bool) -> CellSummary {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    let (session, state) = (cell.session(0, 0), SessionState::Disconnected);
    cell.host(0).push(Event::State { t: ms(21_700), session, state });
    let id = cell.fault(FaultKind::Partition, 0, &[0], 20_000, Some(2_000));
    cell.verification(id, VerificationStage::Injected, 20_000, verified, Vec::new());
    cell.healed(id, 22_000);
    cell.revoke(0, 0, lost, RevokeReason::SessionEnded);
    cell.lead(0, 1, lost + 5);
    cell.summary()
}

#[test]
fn a_partition_explains_lost_leads_until_its_sessions_can_have_expired() {
    let counts = |summary: &CellSummary| {
        let handovers = &summary.handovers;
        (handovers.planned, handovers.survived, handovers.unplanned)
    };
    let within = lost_after_a_short_partition(22_000 + EXPIRED - 100, true);
    assert_eq!((counts(&within), check(&within, "handovers").verdict), ((1, 0, 0), Pass));
    let beyond = lost_after_a_short_partition(22_000 + EXPIRED + 200, true);
    assert_eq!((counts(&beyond), check(&beyond, "handovers").verdict), ((0, 1, 1), Fail));
}

#[test]
fn who_leads_until_candidates_leave_by_order_has_lost_nothing_to_a_fault_that_lately_ended() {
    let hang = |seen_until: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Hang);
        cell.lasting(FaultKind::Hang, 0, &[0], (96_000, 97_000));
        cell.revoke(0, 0, seen_until, RevokeReason::Resigned);
        cell.lead(0, 1, seen_until + 5);
        cell.revoke(0, 1, TEAR_DOWN + 200, RevokeReason::Resigned);
        let handovers = cell.summary().handovers;
        (handovers.survived, handovers.completed)
    };
    assert_eq!(hang(TEAR_DOWN + 100), (1, 0));
    assert_eq!(hang(TEAR_DOWN - 1_500), (0, 1));
}

#[test]
fn a_successor_that_comes_as_candidates_leave_by_order_was_still_missing() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    cell.inject(FaultKind::Crash, 0, &[0], 99_000, None);
    cell.kill(0, 99_000);
    cell.lead(0, 1, TEAR_DOWN + 50);
    cell.revoke(0, 1, TEAR_DOWN + 200, RevokeReason::Resigned);
    let handovers = cell.summary().handovers;
    assert_eq!((handovers.censored, handovers.completed), (1, 0));
}

#[test]
fn a_crash_does_not_explain_what_its_host_does_long_after_it_came_back() {
    let lost = |at: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
        cell.inject(FaultKind::Crash, 1, &[0], 20_000, Some(1_000));
        cell.resign(0, 22_000);
        cell.revoke(0, 1, at, RevokeReason::SessionEnded);
        cell.lead(0, 2, at + 5);
        let summary = cell.summary();
        (summary.handovers.explained, summary.handovers.unplanned, check(&summary, "handovers").verdict)
    };
    assert_eq!(lost(20_000 + EXPIRED - 100), (1, 0, Pass));
    assert_eq!(lost(60_000), (0, 1, Fail));
}

/// A resignation, and a handover beside a partition that was not seen to take effect.
fn handover_beside_an_unverified_partition() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    let id = cell.fault(FaultKind::Partition, 0, &[1], 30_000, Some(2_000));
    cell.verification(id, VerificationStage::Injected, 30_000, false, Vec::new());
    cell.healed(id, 32_000);
    cell.revoke(1, 0, 32_500, RevokeReason::SessionEnded);
    cell.lead(1, 1, 32_510);
    cell
}

#[test]
fn what_only_an_unverified_fault_could_explain_is_neither_planned_nor_unplanned() {
    let summary = handover_beside_an_unverified_partition().summary();
    let handovers = &summary.handovers;
    assert_eq!((handovers.planned, handovers.unplanned, handovers.unverified), (1, 0, 1));
    assert_eq!(check(&summary, "handovers").verdict, Inconclusive);
    assert_eq!(
        (summary.split_brain.active.n, summary.split_brain.active.injections),
        (1, 1),
        "no verification, no sample"
    );
}

#[test]
fn what_only_an_unverified_fault_could_explain_is_inconclusive_by_stalls_where_its_target_stalled() {
    let by_stalls = |host: Option<u16>| {
        let mut cell = handover_beside_an_unverified_partition();
        let stall = Event::Stall { from: ms(29_400), to: ms(29_900), ran_ns: 0, program: false };
        host.into_iter().for_each(|host| cell.host(host).push(stall.clone()));
        let summary = cell.summary();
        let check = check(&summary, "handovers");
        assert_eq!(check.verdict, Inconclusive);
        check.by_stalls
    };
    assert_eq!([None, Some(2), Some(0)].map(by_stalls), [false, false, true]);
}

#[test]
fn a_new_leader_of_the_ensemble_prolongs_what_a_crash_explains() {
    // Expired 4.7 s after the crash, about a second beyond T: its clock restarted.
    let summary = crashed_as_leader_was_lost(2_000).summary();
    assert_eq!((summary.handovers.planned, summary.handovers.late, summary.handovers.unplanned), (1, 0, 0));
}

#[test]
fn a_handover_later_than_sessions_can_have_expired_is_told_and_stays_in_the_statistics() {
    let late = |over: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
        cell.crash(20_000, over);
        let summary = cell.summary();
        assert_eq!(summary.failover.whole.as_ref().map(|whole| whole.n), Some(1));
        (summary.handovers.late, check(&summary, "handovers").verdict)
    };
    assert_eq!(late(300), (0, Pass));
    assert_eq!(late(EXPIRED - T + 700), (1, Inconclusive));
    // Without another candidate to lead, the delay is not a fault of the recipe.
    let mut alone = Cell::new("predecessor-watch", 1, 1, FaultKind::Partition);
    alone.lasting(FaultKind::Partition, 0, &[0], (20_000, 22_000));
    alone.revoke(0, 0, 21_000, RevokeReason::SessionEnded);
    alone.join(0, 0, 59_000);
    alone.lead(0, 0, 60_000);
    assert_eq!(alone.summary().handovers.late, 0);
}

/// Adds a process of this name that stalled for this long from 28 s on.
pub(crate) fn with_stalled(cell: Cell, writer: &str, long: u64) -> CellSummary {
    let mut record = cell.record();
    let mut proxy = record.cells[0].segments[1].clone();
    (proxy.writer, proxy.file) = (writer.to_owned(), format!("events/{writer}"));
    proxy.events = vec![
        proxy.events[0].clone(),
        Event::Stall { from: ms(28_000), to: ms(28_000 + long), ran_ns: 0, program: false },
        Event::End { t: ms(101_000) },
    ];
    record.cells[0].segments.push(proxy);
    summarise(&record).cells.remove(0)
}

#[test]
fn an_unplanned_handover_that_a_stalled_proxy_explains_says_so() {
    let summary = with_stalled(false_failover(), "proxy-0", 1_500);
    let found = check(&summary, "handovers");
    assert_eq!((found.verdict, summary.handovers.unplanned), (Inconclusive, 1));
    assert!(found.details.iter().any(|line| line.contains("proxy-0 did not run for 1.50 s")), "{:?}", found.details);
    let short = with_stalled(false_failover(), "proxy-0", T / 10 - 50);
    assert_eq!(check(&short, "handovers").verdict, Fail);
}

#[test]
fn short_stalls_explain_an_unplanned_handover_where_they_take_half_of_the_time_after_which_a_client_may_give_up() {
    let verdict = |stall: fn(u64, u64) -> Event, host: Option<u16>, share: u64| {
        let mut cell = false_failover();
        // Each is shorter than T/10, and the lead is lost at 30 s.
        let pieces = (1..=20).map(|piece| 30_000 - 100 * piece).map(|from| stall(from, from + share));
        match host {
            Some(host) => cell.host(host).extend(pieces),
            None => cell.coordinator.extend(pieces),
        }
        cell.verdict("handovers")
    };
    let stall = |from, to| Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false };
    let wait = |from, to| Event::ServerWait { from: ms(from), to: ms(to), server: 1 };
    assert_eq!([40, 60].map(|share| verdict(stall, Some(0), share)), [Fail, Inconclusive]);
    assert_eq!([40, 60].map(|share| verdict(wait, None, share)), [Fail, Inconclusive]);
    assert_eq!(verdict(stall, Some(2), 60), Fail, "of a host that has no part in it");
}

#[test]
fn a_stall_of_another_host_explains_no_unplanned_handover() {
    let verdict = |host: u16| {
        let mut cell = false_failover();
        cell.host(host).push(Event::Stall { from: ms(28_000), to: ms(29_500), ran_ns: 0, program: false });
        cell.verdict("handovers")
    };
    assert_eq!((verdict(0), verdict(2)), (Inconclusive, Fail));
}
