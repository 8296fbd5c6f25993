//! Writes outside their senders' terms.

use crate::foreign::introduce;
use crate::*;
use hustings_reports::summary::StrayWrites;

/// A whole planned handover, and one more write of this host's candidate, sent at `sent` and accepted at `t`.
fn with_write(host: u16, (sent, t): (Option<u64>, u64)) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    let (czxid, session) = (cell.czxid(0, host), cell.session(0, host));
    cell.resign(0, 20_000);
    cell.write(0, 1, t);
    let Some(Event::Write { sent: stamp, czxid: token, session: of, cand, host: on, .. }) = cell.coordinator.last_mut()
    else {
        unreachable!("a write was just made")
    };
    (*stamp, *token, *of, *cand, *on) = (sent.map(ms), czxid, session, u32::from(host), host);
    cell
}

fn judged(cell: Cell) -> (Verdict, StrayWrites) {
    let summary = cell.summary();
    (check(&summary, "stray-writes").verdict, summary.stray_writes)
}

#[test]
fn a_write_inside_its_term_is_none_however_long_it_was_on_its_way() {
    let (verdict, found) = judged(with_write(0, (Some(19_000), 19_900)));
    assert_eq!((verdict, found.outside, found.recorded, found.slowest_ns), (Pass, 0, 3, ms(900)));
}

/// The first leads from 3 s to 20.001 s, the second one from 20.005 s on, and its lead is fenced.
#[test]
fn a_write_before_the_grant_or_after_the_revoke_fails_whoever_leads_and_whatever_the_fence_does() {
    let (verdict, found) = judged(with_write(1, (Some(19_000), 19_001)));
    assert_eq!((verdict, found.before_grant, found.earliest_ns), (Fail, 1, ms(1_005)));
    let late = with_write(0, (Some(25_000), 25_001));
    assert_eq!(late.info.fencing, Fencing::Fenced);
    let summary = late.summary();
    assert_eq!(check(&summary, "stale-writes").verdict, Pass, "the fence stops it");
    let found = &summary.stray_writes;
    assert_eq!(check(&summary, "stray-writes").verdict, Fail);
    assert_eq!((found.after_revoke, found.latest_ns), (1, ms(25_000) - ms(20_001) - 10_000));
    assert_eq!(summary.verdict, Fail);
}

#[test]
fn a_write_by_a_token_that_was_never_granted_fails() {
    let (verdict, found) = judged(with_write(2, (Some(30_000), 30_001)));
    assert_eq!((verdict, found.without_term), (Fail, 1));
    let mut twice = with_write(0, (Some(19_000), 19_001));
    let Some(Event::Write { session, .. }) = twice.coordinator.last_mut() else { unreachable!() };
    *session += 1;
    assert_eq!(judged(twice).1.without_term, 1, "another session's");
}

#[test]
fn what_the_clock_may_be_off_by_is_no_finding() {
    let at = |past_ns: u64| {
        let mut cell = with_write(0, (Some(20_001), 20_001));
        let Some(Event::Write { sent, .. }) = cell.coordinator.last_mut() else { unreachable!() };
        *sent = Some(ms(20_001) + 10_000 + past_ns);
        judged(cell)
    };
    assert_eq!(at(1_000).0, Pass);
    assert_eq!(at(1_001).0, Fail);
}

/// Its deletion is sent at 20.002 s. A write of its term that the resource accepts later cannot have overtaken another,
/// but the candidate did not wait for it.
#[test]
fn who_gives_its_znode_back_with_a_write_under_way_fails() {
    let (verdict, found) = judged(with_write(0, (Some(20_000), 20_003)));
    assert_eq!((verdict, found.under_release, found.outside), (Fail, 1, 0));
    assert_eq!(judged(with_write(0, (Some(20_000), 20_002))).0, Pass);
}

#[test]
fn between_two_terms_of_one_token_nobody_may_write() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    cell.revoke(0, 0, 30_000, RevokeReason::SteppedDown);
    cell.believe(0, 0, 31_000);
    [29_999, 30_500, 31_001].into_iter().for_each(|at| cell.write(0, 0, at));
    let (verdict, found) = judged(cell);
    assert_eq!((verdict, found.after_revoke, found.before_grant), (Fail, 1, 0));
}

#[test]
fn where_the_sending_is_not_recorded_that_is_said_and_only_what_is_certain_all_the_same_is_found() {
    let summary = with_write(0, (None, 20_101)).summary();
    let found = check(&summary, "stray-writes");
    assert_eq!((found.verdict, summary.stray_writes.not_recorded, summary.stray_writes.recorded), (Pass, 1, 2));
    assert!(found.headline.contains("not recorded") && found.details[0].contains("not recorded"), "{found:?}");
    let late = judged(with_write(0, (None, 20_301)));
    assert_eq!((late.0, late.1.late_unknown), (Inconclusive, 1), "no write is on its way for T/20");
    assert_eq!(judged(with_write(1, (None, 19_000))).1.before_grant, 1, "it was sent before it arrived");
    assert_eq!(judged(with_write(2, (None, 30_000))).0, Fail);
}

/// Host 0 steps down at 20 s. So many more writes of its term are dated to `sent` and arrive at `t`.
fn dated_writes(count: usize, sent: u64, t: u64, is_program: bool) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    if is_program {
        introduce(&mut cell, 0, EvidenceSource::Report);
    }
    cell.revoke(0, 0, 20_000, RevokeReason::SteppedDown);
    for _ in 0..count {
        cell.write(0, 0, t);
        let Some(Event::Write { sent: stamp, .. }) = cell.coordinator.last_mut() else { unreachable!("a write") };
        *stamp = Some(ms(sent));
    }
    cell
}

/// Two of them.
fn dated(sent: u64, t: u64, is_program: bool) -> Cell {
    dated_writes(2, sent, t, is_program)
}

#[test]
fn a_single_late_write_that_harms_nobody_may_be_one_that_a_collection_delayed() {
    let verdict = |count, led_from: Option<u64>| {
        let mut cell = dated_writes(count, 19_999, 20_352, true);
        led_from.into_iter().for_each(|from| cell.lead(0, 1, from));
        let (verdict, found) = judged(cell);
        assert_eq!(found.late_unknown, count as u64);
        verdict
    };
    assert_eq!(verdict(1, None), Pass);
    assert_eq!(verdict(2, None), Inconclusive);
    assert_eq!(verdict(1, Some(20_300)), Inconclusive, "its successor led already");
    assert_eq!(verdict(1, Some(20_400)), Pass, "nobody led yet");
}

fn stall(from: u64, to: u64, program: bool) -> Event {
    Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program }
}

#[test]
fn a_program_s_write_that_came_long_after_the_revoke_is_not_in_time_because_it_is_dated_back() {
    let found = |sent, t, is_program| {
        let (verdict, found) = judged(dated(sent, t, is_program));
        assert_eq!((found.outside, found.under_release, found.not_recorded), (0, 0, 0));
        (verdict, found.late_unknown)
    };
    // T/20 is 200 ms.
    for (sent, t) in [(19_999, 20_201), (10_000, 20_201), (19_999, 25_000), (20_000, 90_000)] {
        assert_eq!(found(sent, t, true), (Inconclusive, 2), "{sent} to {t}");
        assert_eq!(found(sent, t, false), (Pass, 0), "recipes of the harness stamp truthfully");
    }
    for (sent, t) in [(19_999, 20_200), (10_000, 20_000), (20_000, 20_150)] {
        assert_eq!(found(sent, t, true), (Pass, 0), "{sent} to {t}: a write may be under way at the revoke");
    }
    let summary = dated(19_000, 25_000, true).summary();
    let check = check(&summary, "stray-writes");
    assert!(check.details[0].contains("came 6.00 s after its timestamp") && !check.by_stalls, "{check:?}");
}

#[test]
fn no_delay_of_a_program_s_write_by_faults_and_stalls_counts_against_it_and_nothing_else_explains_one() {
    type Disturbance = fn(&mut Cell);
    let paused: Disturbance = |cell| cell.lasting(FaultKind::Pause, 0, &[0], (20_001, 23_000));
    let hung: Disturbance = |cell| cell.lasting(FaultKind::Hang, 0, &[0], (19_998, 26_000));
    let cut_off: Disturbance = |cell| cell.lasting(FaultKind::Partition, 0, &[0], (19_000, 26_000));
    let server_stood_still: Disturbance = |cell| {
        let (from, to, who) = (ms(20_000), Some(ms(21_000)), "server 1".to_owned());
        cell.coordinator.push(Event::Outage { from, to, who });
    };
    let cases: [(u64, Disturbance, Verdict, &str); 17] = [
        (23_050, paused, Pass, "it was stopped right after it had decided to write"),
        (23_400, paused, Inconclusive, "it was sent long after the program went on"),
        (26_000, hung, Pass, "the resource withheld it"),
        (26_300, hung, Inconclusive, "the resource withheld it no longer"),
        (20_050, cut_off, Pass, "no link is between a program and the resource"),
        (21_000, cut_off, Inconclusive, "no link is between a program and the resource"),
        (21_100, |cell| cell.host(0).push(stall(20_000, 21_000, true)), Pass, "the program did not run"),
        (21_100, |cell| cell.host(0).push(stall(20_000, 21_000, false)), Pass, "the process beside it did not run"),
        (21_100, |cell| cell.coordinator.push(stall(20_000, 21_000, false)), Pass, "the coordinator did not run"),
        (
            21_100,
            |cell| cell.host(0).extend((0..20).map(|n| stall(20_000 + 50 * n, 20_048 + 50 * n, true))),
            Pass,
            "a slow machine: short stalls add up",
        ),
        (21_300, |cell| cell.host(0).push(stall(20_000, 21_000, true)), Inconclusive, "the stall was over"),
        (21_100, |cell| cell.host(1).push(stall(20_000, 21_000, true)), Inconclusive, "another host stalled"),
        (21_100, |cell| cell.observer.push(stall(20_000, 21_000, false)), Inconclusive, "it carries no writes"),
        (21_100, server_stood_still, Inconclusive, "servers carry no writes"),
        (25_000, |cell| cell.lasting(FaultKind::Pause, 0, &[0], (15_000, 19_000)), Inconclusive, "that was before"),
        (25_000, |cell| cell.lasting(FaultKind::Pause, 1, &[0], (20_001, 24_990)), Inconclusive, "another host's"),
        (25_000, |cell| cell.believe(0, 0, 24_000), Pass, "it leads again by the same znode"),
    ];
    for (t, disturb, expected, why) in cases {
        let mut cell = dated(19_999, t, true);
        disturb(&mut cell);
        assert_eq!(judged(cell).0, expected, "{t}: {why}");
    }
}

#[test]
fn a_program_s_own_timestamp_outside_its_terms_still_fails_however_late_the_write_came() {
    let (verdict, found) = judged(dated_writes(1, 20_100, 25_000, true));
    assert_eq!((verdict, found.after_revoke, found.late_unknown), (Fail, 1, 0));
    let (verdict, found) = judged(dated_writes(1, 2_900, 25_000, true));
    assert_eq!((verdict, found.before_grant, found.late_unknown), (Fail, 1, 0));
    let mut resigned = with_write(0, (Some(20_000), 25_000));
    introduce(&mut resigned, 0, EvidenceSource::Report);
    let (verdict, found) = judged(resigned);
    assert_eq!((verdict, found.under_release, found.late_unknown), (Fail, 1, 0));
}

#[test]
fn a_torn_segment_may_have_lost_the_grant() {
    let mut record = with_write(2, (Some(30_000), 30_001)).record();
    record.cells[0].segments[4].torn = Some(TornTail { block: 3, offset: 900, bytes: 7 });
    let summary = hustings_reports::analysis::summarise(&record).cells.remove(0);
    assert_eq!(check(&summary, "stray-writes").verdict, Inconclusive);
}

/// For the table of failing records.
pub(crate) fn late() -> Cell {
    with_write(0, (Some(25_000), 25_001))
}
