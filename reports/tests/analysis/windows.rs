//! Events outside the measured window are in none of its figures, and in a note at most.

use crate::builder::MEASURE;
use crate::*;

fn owner(cell: &mut Cell, at: u64, owns: Option<i64>) {
    let (from, to, group) = (ms(at) - 1_000, ms(at), 0);
    cell.observer.push(Event::Owner(Box::new(LeadOwner { from, to, group, session: owns, node: None, czxid: owns })));
}

/// Between these times an unknown session owns the lead, whichever candidate believes.
fn owned_by_nobody_known(from: u64, to: u64) -> CellSummary {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    owner(&mut cell, from, Some(0x77));
    cell.own(0, 0, to);
    cell.summary()
}

#[test]
fn who_owns_or_believes_during_the_enrolment_is_in_no_figure() {
    let early = owned_by_nobody_known(3_500, 8_500).ownership;
    assert_eq!((early.dead_owners, early.dead_owner_max_ns, early.zombies, early.zombie_max_ns), (0, 0, 0, 0));
    let within = owned_by_nobody_known(20_000, 22_500).ownership;
    assert_eq!((within.dead_owners, within.zombies), (1, 1));
    assert!(within.dead_owner_max_ns > ms(2_400) && within.zombie_max_ns > ms(2_400));
}

#[test]
fn of_what_reaches_into_the_window_only_the_part_within_counts() {
    let from_before = owned_by_nobody_known(MEASURE - 5_000, MEASURE + 500).ownership;
    assert_eq!((from_before.dead_owners, from_before.zombies), (0, 0), "half a tick of it is within");
    assert_eq!((from_before.dead_owner_max_ns, from_before.zombie_max_ns), (ms(500) - 1_000, ms(500) - 1_000));
}

#[test]
fn a_gap_of_the_observer_counts_where_it_is_measured() {
    let blind = |from: u64, to: u64| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
        for (t, connected) in [(900, true), (from, false), (to, true)] {
            cell.observer.push(Event::ObserverState { t: ms(t), connected });
        }
        let summary = cell.summary();
        (check(&summary, "ownership").verdict, summary.ownership.blind_ns)
    };
    assert_eq!(blind(30_000, 33_000), (Inconclusive, ms(3_000)));
    assert_eq!(blind(4_000, 9_000), (Pass, 0));
    assert_eq!(blind(TEAR_DOWN + 100, TEAR_DOWN + 800), (Pass, 0));
}

#[test]
fn an_owner_that_is_not_known_for_stalls_of_the_coordinator_would_be_known_without_them() {
    let by_stalls = |host: Option<u16>, stalls: &[(u64, u64)]| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
        for (t, connected) in [(900, true), (30_000, false), (33_000, true)] {
            cell.observer.push(Event::ObserverState { t: ms(t), connected });
        }
        for &(from, to) in stalls {
            let stall = Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false };
            match host {
                Some(host) => cell.host(host).push(stall),
                None => cell.coordinator.push(stall),
            }
        }
        let summary = cell.summary();
        let check = check(&summary, "ownership");
        assert_eq!(check.verdict, Inconclusive);
        check.by_stalls
    };
    // T/10 is 400 ms.
    assert!(!by_stalls(None, &[]));
    assert!(!by_stalls(None, &[(30_100, 30_400)]), "too little");
    assert!(by_stalls(None, &[(30_100, 30_400), (31_000, 31_200)]), "short ones add up");
    assert!(!by_stalls(None, &[(28_000, 29_900)]), "over by then");
    assert!(!by_stalls(Some(0), &[(30_100, 31_400)]), "the observer does not run there");
}

#[test]
fn a_stall_counts_where_it_is_measured() {
    let stalled = |from: u64, to: u64| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
        cell.host(1).push(Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false });
        let summary = cell.summary();
        let told = check(&summary, "stalls").details.iter().any(|line| line.contains("host-1 did not run"));
        (summary.stalls.count, summary.stalls.over_limit, summary.stalls.longest_ns, told)
    };
    assert_eq!(stalled(20_000, 21_000), (1, 1, ms(1_000), true));
    assert_eq!(stalled(1_500, 2_500), (0, 0, 0, true), "set-up: told, and in no figure");
    assert_eq!(stalled(TEAR_DOWN + 10, TEAR_DOWN + 900), (0, 0, 0, true));
    assert_eq!(stalled(MEASURE - 500, MEASURE + 500), (1, 1, ms(1_000), true), "it reaches into the window");
}

#[test]
fn questions_of_the_observer_outside_the_window_are_in_no_figure() {
    let missed = |at: u64| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
        cell.observer.push(Event::ObserverMissed { t: ms(at), group: None, why: "no answer".into() });
        cell.summary().ownership.missed
    };
    assert_eq!((missed(5_000), missed(20_000), missed(TEAR_DOWN + 100)), (0, 1, 0));
}

#[test]
fn sessions_are_those_of_the_enrolment_or_those_that_were_there_in_the_window() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
    let state = |t: u64, session: i64, state: SessionState| Event::State { t: ms(t), session, state };
    let [stays, goes] = [cell.session(0, 1), cell.session(0, 2)];
    cell.host(2).push(state(6_000, goes, SessionState::Ended(SessionEnd::Closed)));
    cell.join(0, 2, 7_000);
    cell.host(1).push(state(20_000, stays, SessionState::Disconnected));
    cell.host(1).push(state(20_100, stays, SessionState::Connected));
    let summary = cell.summary();
    assert_eq!((summary.enrolment.sessions, summary.enrolment.connect_anew.map(|d| d.n)), (3, Some(1)));
    assert_eq!((summary.sessions.established, summary.sessions.disconnected), (3, 1), "one was over before it began");
}
