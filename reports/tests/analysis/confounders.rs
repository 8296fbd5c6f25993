//! A confounder explains only its own effects: nothing before it, and nothing unrelated to it.

use crate::effect::writing_all_along;
use crate::outages::owns_until;
use crate::participation::{cut_off, dropped_out, ends};
use crate::promptness::{believes_again, deciding, releasing};
use crate::wake_ups::follower_resigns;
use crate::*;

fn stall(from: u64, to: u64) -> Event {
    Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false }
}

#[test]
fn slow_links_hold_up_the_groups_that_are_behind_them_alone() {
    let slow = |group: u32| {
        let mut cell = deciding(&[3_000, 3]);
        cell.lasting(FaultKind::Slow, 1, &[group], (19_000, 60_000));
        cell.verdict("promptness")
    };
    assert_eq!((slow(0), slow(1)), (Pass, Fail));
}

#[test]
fn what_hits_when_all_that_was_allowed_is_over_voids_nothing() {
    let hit = |at: u64| {
        let mut cell = deciding(&[3_000]);
        cell.lasting(FaultKind::ServerPartition, 0, &[], (at, at + 100));
        cell.verdict("promptness")
    };
    assert_eq!((hit(20_500), hit(21_200)), (Pass, Fail));
}

/// A leader that stops believing for a second.
fn flapping(unplanned: Expectation) -> Cell {
    let mut cell = believes_again(31_000);
    cell.info.expect.unplanned = unplanned;
    cell
}

#[test]
fn a_belief_that_ends_for_nothing_is_no_more_allowed_where_forced_handovers_are() {
    let verdict = |unplanned| flapping(unplanned).verdict("liveness");
    assert_eq!([Expectation::None, Expectation::Excused, Expectation::Any].map(verdict), [Fail, Fail, Pass]);
}

#[test]
fn a_belief_does_not_end_of_what_hits_afterwards_nor_of_what_takes_nothing_away() {
    let hit = |kind, hit: &[u32], span| {
        let mut cell = flapping(Expectation::None);
        cell.lasting(kind, 0, hit, span);
        cell.verdict("liveness")
    };
    assert_eq!(hit(FaultKind::ServerPartition, &[], (29_990, 30_900)), Pass);
    assert_eq!(hit(FaultKind::ServerPartition, &[], (30_500, 30_900)), Fail);
    assert_eq!(hit(FaultKind::Hang, &[0], (29_990, 30_900)), Fail);
}

#[test]
fn a_leader_is_not_mute_because_of_stalls_of_others() {
    let stalled = |host: u16| {
        let mut cell = writing_all_along();
        cell.coordinator.retain(|event| !matches!(event, Event::Write { .. }));
        (3_000..100_000).step_by(1_000).for_each(|at| cell.host(host).push(stall(at, at + 995)));
        cell.verdict("effect")
    };
    assert_eq!((stalled(1), stalled(0) == Fail), (Fail, false));
}

#[test]
fn a_stall_that_no_session_ends_of_costs_an_owner_its_length_and_those_at_once_cost_it_once() {
    let allowed = 2 * T + 2 * TICK + 1_000;
    let stalled = |owned: u64, stalls: &[(&str, u64, u64)]| {
        let mut cell = owns_until(owned);
        let outage =
            |&(who, from, to): &(&str, u64, u64)| Event::Outage { from: ms(from), to: Some(ms(to)), who: who.into() };
        cell.coordinator.extend(stalls.iter().map(outage));
        cell.verdict("ownership")
    };
    let one = [("server 1", 22_000, 22_600)];
    assert_eq!((stalled(20_500 + allowed, &one), stalled(20_700 + allowed, &one)), (Inconclusive, Fail));
    let at_once = [("server 1", 22_000, 22_300), ("server 2", 22_000, 22_300), ("server 3", 22_100, 22_350)];
    assert_eq!((stalled(20_250 + allowed, &at_once), stalled(20_450 + allowed, &at_once)), (Inconclusive, Fail));
}

#[test]
fn one_slow_request_on_the_floor_gives_a_long_queue_no_hours() {
    let slowest = |listed: u64| {
        let mut cell = Cell::new("predecessor-watch", 200, 3, FaultKind::Crash);
        for sample in 0..10 {
            let deleted = ms(6_000 + sample * 10);
            let listed = deleted + if sample == 9 { ms(listed) } else { 1_200_000 };
            cell.coordinator.push(Event::Floor { deleted, notified: deleted + 600_000, listed, sessions: None });
        }
        cell.crash(20_000, 15_000);
        cell.verdict("liveness")
    };
    assert_eq!((slowest(1), slowest(2_400)), (Fail, Fail));
}

#[test]
fn a_group_that_is_made_anew_later_is_judged_until_then() {
    let woken = |anew_at: u64| {
        let mut cell = follower_resigns("predecessor-watch", 2, &[3, 4]);
        cell.inject(FaultKind::ParentDelete, 0, &[0], anew_at, None);
        cell.verdict("fan-out")
    };
    assert_eq!((woken(60_000), woken(20_001) == Fail), (Fail, false));
}

#[test]
fn nobody_is_away_because_its_work_hangs_or_its_clock_jumps() {
    let hit = |kind| {
        let mut cell = dropped_out();
        cell.lasting(kind, 1, &[0], (31_000, 99_000));
        cell.verdict("participation")
    };
    assert_eq!((hit(FaultKind::Hang), hit(FaultKind::Partition) == Fail), (Fail, false));
}

#[test]
fn whoever_resigns_by_letting_its_connection_go_is_late_all_the_same() {
    let resigns = |lets_go: bool| {
        let mut cell = releasing(&[3_500, 3_500, 3_500]);
        let session = cell.session(1, 0);
        if lets_go {
            cell.host(0).push(Event::State { t: ms(25_100), session, state: SessionState::Disconnected });
        }
        cell.summary().promptness.release
    };
    assert_eq!((resigns(false).late, resigns(true).late), (3, 3));
}

#[test]
fn a_stall_counts_as_the_only_reason_if_without_the_wait_for_a_processor_it_would_have_been_a_short_one() {
    let by_stalls = |long: u64, ran: u64| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::Partition);
        cell.lasting(FaultKind::Partition, 2, &[], (20_000, 26_000));
        let stall = Event::Stall { from: ms(22_000), to: ms(22_000 + long), ran_ns: ms(ran), program: false };
        cell.host(1).push(stall);
        let summary = cell.summary();
        let stalls = check(&summary, "stalls");
        assert_eq!(stalls.verdict, Inconclusive, "{stalls:?}");
        stalls.by_stalls
    };
    assert_eq!([(500, 150), (500, 420), (1_000, 450)].map(|(long, ran)| by_stalls(long, ran)), [true, false, false]);
}

#[test]
fn an_absence_and_a_task_that_only_a_stall_lengthened_are_inconclusive_by_stalls_alone() {
    let judged = |cell: Cell| {
        let summary = cell.summary();
        let check = check(&summary, "participation");
        (check.verdict, check.by_stalls)
    };
    let back = |stall: Option<Event>| {
        let mut cell = cut_off();
        ends(&mut cell, 1, 24_000, Departure::SessionEnded(SessionEnd::Expired));
        cell.join(0, 1, 50_000);
        cell.host(1).extend(stall);
        judged(cell)
    };
    assert_eq!((back(Some(stall(31_000, 49_900))), back(None)), ((Inconclusive, true), (Fail, false)));
    let done = |stall: Option<Event>| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        let (cand, session, node) = (cell.cand(0, 2), cell.session(0, 2), cell.node(0, 1));
        cell.host(2).push(Event::Notified { t: ms(30_000), cand, session, node, kind: WatchEvent::Deleted });
        cell.host(2).push(Event::Settled { t: ms(96_000), cand, session, requests: 2 });
        cell.host(2).extend(stall);
        judged(cell)
    };
    assert_eq!((done(Some(stall(31_000, 95_000))), done(None)), ((Inconclusive, true), (Fail, false)));
    let mut unfinished = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
    unfinished.inject(FaultKind::Expire, 1, &[0], 99_000, None);
    ends(&mut unfinished, 1, 99_001, Departure::SessionEnded(SessionEnd::Expired));
    assert_eq!(judged(unfinished), (Inconclusive, false), "no stall is the cause");
}
