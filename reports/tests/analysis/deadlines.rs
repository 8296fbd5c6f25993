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
    assert_eq!(lost(20_000 + EXPIRED - 100), (0, 1, Fail));
    assert_eq!(lost(60_000), (0, 1, Fail));
}

/// Host 1 resigns, and host 0 leads from 5 ms after that until `lost`, when host 2 takes over for nothing. The numbers of
/// explained and of unplanned handovers.
fn won_back_and_lost(mut cell: Cell, at: u64, lost: u64) -> (u64, u64) {
    cell.inject(FaultKind::Resign, 1, &[0], at, None);
    cell.revoke(0, 1, at + 1, RevokeReason::Resigned);
    cell.left(0, 1, at + 4, Departure::Resigned { delete: Some((ms(at + 2), ms(at + 3))) });
    cell.lead(0, 0, at + 5);
    cell.revoke(0, 0, lost, RevokeReason::Deposed);
    cell.lead(0, 2, lost + 5);
    let handovers = cell.summary().handovers;
    (handovers.explained, handovers.unplanned)
}

#[test]
fn a_resignation_explains_no_loss_of_a_lead_that_its_candidate_won_after_it() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    assert_eq!(won_back_and_lost(cell, 21_000, 21_500), (0, 1));
}

#[test]
fn a_crash_explains_the_loss_of_a_lead_that_its_candidate_won_before_its_host_was_seen_to_be_back() {
    let lost = |back: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
        let id = cell.inject(FaultKind::Crash, 1, &[0], 20_000, Some(1_000));
        cell.healed(id, back);
        cell.resign(0, 22_000);
        cell.revoke(0, 1, 22_500, RevokeReason::Deposed);
        cell.lead(0, 2, 22_505);
        let handovers = cell.summary().handovers;
        (handovers.explained, handovers.unplanned)
    };
    assert_eq!((lost(21_000), lost(22_100)), ((0, 1), (1, 0)));
}

#[test]
fn a_forced_expiry_explains_no_loss_of_a_lead_under_a_session_that_was_established_after_it() {
    // The expiry is verified a moment after 20 s.
    let lost = |anew: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
        cell.inject(FaultKind::Expire, 0, &[0], 20_000, None);
        cell.revoke(0, 0, 20_003, RevokeReason::SessionEnded);
        cell.lead(0, 1, 20_005);
        cell.left(0, 0, 20_006, Departure::SessionEnded(SessionEnd::Expired));
        cell.join(0, 0, anew);
        won_back_and_lost(cell, 21_000, 21_500)
    };
    assert_eq!((lost(20_050), lost(20_000)), ((0, 1), (1, 0)));
}

#[test]
fn a_partition_explains_no_loss_of_a_lead_under_a_session_that_was_established_after_its_heal() {
    let lost = |anew: u64, is_healed: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
        let id = cell.inject(FaultKind::Partition, 0, &[0], 20_000, Some(6_000));
        cell.verification(id, VerificationStage::Healed, 26_000, is_healed, Vec::new());
        cell.revoke(0, 0, 22_000, RevokeReason::SteppedDown);
        cell.lead(0, 1, 24_500);
        cell.left(0, 0, anew - 50, Departure::SessionEnded(SessionEnd::Expired));
        cell.join(0, 0, anew);
        won_back_and_lost(cell, 27_000, 27_500)
    };
    assert_eq!(lost(26_100, true), (0, 1));
    assert_eq!((lost(25_900, true), lost(26_100, false)), ((1, 0), (1, 0)), "before it, and one that nobody saw");
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
    let summary = with_stalled(cut_off_failover(), "proxy-0", 1_500);
    let found = check(&summary, "handovers");
    assert_eq!((found.verdict, summary.handovers.unplanned), (Inconclusive, 1));
    assert!(found.details.iter().any(|line| line.contains("proxy-0 did not run for 1.50 s")), "{:?}", found.details);
    let short = with_stalled(cut_off_failover(), "proxy-0", T / 10 - 50);
    assert_eq!(check(&short, "handovers").verdict, Fail);
}

/// A client on host 0 notices that its session has ended.
fn ends(cell: &mut Cell, session: i64, t: u64, how: SessionEnd) {
    cell.host(0).push(Event::State { t: ms(t), session, state: SessionState::Ended(how) });
}

#[test]
fn a_stall_explains_no_handover_of_a_leader_whose_client_kept_its_connection_and_its_session() {
    let judged = |change: fn(&mut Cell, i64)| {
        let mut cell = false_failover();
        let session = cell.session(0, 0);
        change(&mut cell, session);
        let summary = with_stalled(cell, "proxy-0", 1_500);
        let found = check(&summary, "handovers");
        (found.verdict, found.by_stalls)
    };
    let (failed, by_stalls) = ((Fail, false), (Inconclusive, true));
    assert_eq!(judged(|_, _| {}), failed);
    assert_eq!(judged(|cell, session| cell.reconnects(0, session, (22_100, 22_200))), by_stalls);
    assert_eq!(judged(|cell, session| cell.reconnects(0, session, (21_000, 22_100))), by_stalls, "it had none then");
    assert_eq!(judged(|cell, session| cell.reconnects(0, session, (21_800, 21_900))), failed, "long before");
    assert_eq!(judged(|cell, session| cell.reconnects(0, session, (30_100, 30_200))), failed, "after the next grant");
    assert_eq!(judged(|cell, session| ends(cell, session, 31_000, SessionEnd::Expired)), by_stalls, "notified late");
    assert_eq!(
        judged(|cell, session| ends(cell, session, 31_000, SessionEnd::Closed)),
        failed,
        "by itself, afterwards"
    );
    assert_eq!(judged(|cell, session| ends(cell, session, 29_990, SessionEnd::Closed)), failed, "by itself, before");
    assert_eq!(judged(|cell, session| ends(cell, session, 29_990, SessionEnd::Expired)), by_stalls);
}

#[test]
fn a_stall_explains_a_handover_where_nobody_reports_the_loser_s_connections_to_their_end() {
    let verdict = |change: fn(&mut Cell)| {
        let mut cell = false_failover();
        change(&mut cell);
        check(&with_stalled(cell, "proxy-0", 1_500), "handovers").verdict
    };
    assert_eq!(verdict(|cell| cell.host(0).retain(|event| !matches!(event, Event::Session { .. }))), Inconclusive);
    let undecoded = |cell: &mut Cell| cell.host(0).push(Event::Unwitnessed { t: ms(31_000), lost: 0, unsound: 1 });
    assert_eq!(verdict(undecoded), Inconclusive);
    let of_another = |cell: &mut Cell| cell.host(2).push(Event::Unwitnessed { t: ms(31_000), lost: 0, unsound: 1 });
    assert_eq!(verdict(of_another), Fail);
}

/// An event in the first `share` of each 100 ms of the 2 s before 30 s: each is shorter than T/10.
fn in_pieces(event: fn(u64, u64) -> Event, share: u64) -> impl Iterator<Item = Event> {
    (1..=20).map(|piece| 30_000 - 100 * piece).map(move |from| event(from, from + share))
}

fn stall(from: u64, to: u64) -> Event {
    Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false }
}

#[test]
fn short_stalls_explain_an_unplanned_handover_where_they_take_half_of_the_time_after_which_a_client_may_give_up() {
    let verdict = |stall: fn(u64, u64) -> Event, host: Option<u16>, share: u64| {
        let mut cell = cut_off_failover();
        let pieces = in_pieces(stall, share);
        match host {
            Some(host) => cell.host(host).extend(pieces),
            None => cell.coordinator.extend(pieces),
        }
        cell.verdict("handovers")
    };
    let wait = |from, to| Event::ServerWait { from: ms(from), to: ms(to), server: 1 };
    assert_eq!([40, 60].map(|share| verdict(stall, Some(0), share)), [Fail, Inconclusive]);
    assert_eq!([40, 60].map(|share| verdict(wait, None, share)), [Fail, Inconclusive]);
    assert_eq!(verdict(stall, Some(2), 60), Fail, "of a host that has no part in it");
}

#[test]
fn short_stalls_explain_that_a_follower_s_session_ends_as_they_explain_it_of_a_leader_s() {
    let judged = |share: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        let (session, state) = (cell.session(0, 1), SessionState::Ended(SessionEnd::Expired));
        cell.host(1).push(Event::State { t: ms(30_000), session, state });
        cell.left(0, 1, 30_000, Departure::SessionEnded(SessionEnd::Expired));
        cell.join(0, 1, 30_100);
        cell.host(1).extend(in_pieces(stall, share));
        let summary = cell.summary();
        let found = check(&summary, "participation");
        (found.verdict, found.by_stalls, summary.standing.sessions_lost)
    };
    assert_eq!([40, 60].map(judged), [(Fail, false, 1), (Inconclusive, true, 1)]);
}

#[test]
fn a_stall_of_another_host_explains_no_unplanned_handover() {
    let verdict = |host: u16| {
        let mut cell = cut_off_failover();
        cell.host(host).push(stall(28_000, 29_500));
        cell.verdict("handovers")
    };
    assert_eq!((verdict(0), verdict(2)), (Inconclusive, Fail));
}
