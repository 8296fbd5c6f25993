//! The observer's gaps: the owner is unknown then, and not taken for absent.

use crate::*;

const NAME: &str = "ownership";

/// The lead changes hands at 20 s. The observer's request gets no answer, and it knows the owner from `told` on.
fn missed(told: u64) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    cell.observer.push(Event::ObserverState { t: ms(900), connected: true });
    cell.revoke(0, 0, 20_000, RevokeReason::SessionEnded);
    cell.believe(0, 1, 20_001);
    cell.observer.push(Event::ObserverMissed { t: ms(20_002), group: Some(0), why: "lost".into() });
    cell.own(0, 1, told);
    if let Some(Event::Owner(owner)) = cell.observer.last_mut() {
        owner.from = ms(19_990);
    }
    cell
}

#[test]
fn an_owner_that_was_asked_for_in_vain_is_unknown_until_it_is_told() {
    let summary = missed(20_100).summary();
    assert_eq!((check(&summary, NAME).verdict, summary.ownership.missed), (Pass, 1));
    let summary = missed(60_000).summary();
    assert_eq!(check(&summary, NAME).verdict, Inconclusive);
    assert_eq!((summary.ownership.zombies, summary.ownership.dead_owners), (0, 0), "nothing is compared with anybody");
}

#[test]
fn a_short_lead_between_those_of_others_is_no_belief_without_owning() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    // It is seen to own 3 ms after it began to believe, and another one 1 ms before it ceased to.
    for (host, at, owned) in [(1, 20_001, 20_004), (2, 20_101, 20_099)] {
        cell.revoke(0, host - 1, at - 1, RevokeReason::Resigned);
        cell.believe(0, host, at);
        cell.own(0, host, owned);
    }
    let longest = cell.summary().ownership.zombie_max_ns;
    assert!(longest > 0 && longest < ms(10), "{longest}");
}

/// The observer has no connection for 20 s, and then sees this owner: host 0, which led before, or host 1.
fn gap(host: u16) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    for (t, connected) in [(900, true), (30_000, false), (50_000, true)] {
        cell.observer.push(Event::ObserverState { t: ms(t), connected });
    }
    cell.own(0, host, 49_999);
    if let Some(Event::Owner(owner)) = cell.observer.last_mut() {
        owner.from = ms(29_990);
    }
    cell
}

#[test]
fn a_znode_that_is_there_after_a_gap_was_there_all_along() {
    let summary = gap(0).summary();
    assert_eq!((check(&summary, NAME).verdict, summary.ownership.blind_ns), (Pass, ms(20_000)));
    let details = &check(&summary, NAME).details;
    assert!(details.iter().any(|line| line.contains("saw nothing for 20")), "{details:?}");
    let mut handed_over = gap(1);
    handed_over.revoke(0, 0, 35_000, RevokeReason::SessionEnded);
    handed_over.believe(0, 1, 35_001);
    assert_eq!(handed_over.verdict(NAME), Inconclusive);
}

#[test]
fn whoever_stops_believing_in_a_gap_that_is_bridged_is_a_dead_owner_still() {
    let mut cell = gap(0);
    cell.revoke(0, 0, 31_000, RevokeReason::SessionEnded);
    let summary = cell.summary();
    assert!(summary.ownership.dead_owner_max_ns > ms(60_000), "{:?}", summary.ownership);
}

/// The owner changes within this many milliseconds, at some time or at the last moment, while a server is cut off or
/// without any fault. The next owner believes from the beginning of that interval on.
fn changed_within(long: u64, cut: bool, at_last: bool) -> Cell {
    changed_before(20_001, long, cut, at_last)
}

/// The same, with a belief of the next owner from `believes` on.
fn changed_before(believes: u64, long: u64, cut: bool, at_last: bool) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    if cut {
        let id = cell.fault(FaultKind::ServerPartition, 0, &[], 19_995, Some(long - 100));
        if let Some(Event::Fault(order)) = cell.coordinator.last_mut() {
            (order.hosts, order.servers) = (Vec::new(), vec![2]);
        }
        cell.injected(id, 20_000);
        cell.healed(id, 19_900 + long);
    }
    cell.revoke(0, 0, 20_000, RevokeReason::SessionEnded);
    cell.own(0, 1, 19_990 + long);
    cell.believe(0, 1, believes);
    if let Some(Event::Owner(owner)) = cell.observer.last_mut() {
        owner.from = ms(19_990 + if at_last { long } else { 0 });
    }
    cell
}

#[test]
fn an_owner_that_changed_at_an_unknown_time_is_inconclusive_where_the_worst_moment_would_fail() {
    let verdicts = |long: u64| [false, true].map(|at_last| changed_within(long, false, at_last).verdict(NAME));
    let all: Vec<_> = (1..16).map(|times| verdicts(300 * times)).collect();
    assert!(all.contains(&[Pass, Pass]) && all.contains(&[Inconclusive, Fail]), "{all:?}");
    assert!(all.iter().all(|one| [[Pass, Pass], [Inconclusive, Fail]].contains(one)), "{all:?}");
    let cut = |long: u64| changed_within(long, true, false).verdict(NAME);
    assert_eq!((cut(4_600), cut(9_000)), (Pass, Inconclusive), "who is not told may believe for 3/2 T and a second");
}

#[test]
fn an_unknown_owner_counts_as_one_by_stalls_if_the_harness_or_a_server_did_not_run_for_half_of_that_time_or_a_tenth_of_t()
 {
    let by_stalls = |event: Event| {
        let mut cell = changed_within(9_000, true, false);
        cell.coordinator.push(event);
        let summary = cell.summary();
        let check = check(&summary, NAME);
        assert_eq!(check.verdict, Inconclusive);
        check.by_stalls
    };
    let stall = |long: u64| Event::Stall { from: ms(22_000), to: ms(22_000 + long), program: false, ran_ns: 0 };
    let wait = |long: u64| Event::ServerWait { from: ms(22_000), to: ms(22_000 + long), server: 2 };
    assert_eq!([stall(390), wait(390)].map(by_stalls), [false; 2], "T is 4 s");
    assert_eq!([stall(410), wait(410)].map(by_stalls), [true; 2]);
}

#[test]
fn an_owner_that_may_have_been_dead_for_too_long_is_inconclusive() {
    let verdict = |long: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        cell.revoke(0, 0, 20_000, RevokeReason::SessionEnded);
        cell.own(0, 1, 19_990 + long);
        if let Some(Event::Owner(owner)) = cell.observer.last_mut() {
            owner.from = ms(19_990);
        }
        cell.believe(0, 1, 20_000 + long);
        cell.verdict(NAME)
    };
    assert_eq!((verdict(1_000), verdict(12_000)), (Pass, Inconclusive), "it may own for 2 T and two ticks and 1 s");
}

#[test]
fn a_time_without_a_known_owner_counts_with_what_adjoins_it_and_a_server_fault_excuses_none_of_it() {
    let verdict = |unknown: u64, silent: u64, cut: bool| {
        changed_before(20_000 + unknown + silent, unknown, cut, false).verdict(NAME)
    };
    for cut in [false, true] {
        assert_eq!(verdict(3_000, 3_000, cut), Pass, "{cut}");
        assert_eq!(verdict(3_000, 8_000, cut), Inconclusive, "{cut}: each is less than is allowed, both are not");
    }
}

/// The lead leaves host 0 at 20 s, which believes on for almost three seconds. Then the lead moves from one host to the
/// next, and the observer sees each change 300 ms late.
fn goes_on_among_others() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 6, FaultKind::None);
    for (host, at) in (1..6).zip((20_000_u64..).step_by(600)) {
        cell.own(0, host, at);
        if let (2.., Some(Event::Owner(owner))) = (host, cell.observer.last_mut()) {
            owner.from = ms(at - 300);
        }
    }
    cell.revoke(0, 0, 22_800, RevokeReason::SessionEnded);
    cell.believe(0, 5, 22_801);
    cell
}

#[test]
fn late_sightings_of_others_do_not_divide_a_belief_whose_znode_has_gone() {
    let summary = goes_on_among_others().summary();
    assert_eq!((check(&summary, NAME).verdict, summary.ownership.zombie_max_ns), (Fail, ms(2_800)));
    let mut never_seen = goes_on_among_others();
    never_seen.observer.retain(|event| matches!(event, Event::Owner(owner) if owner.to >= ms(20_000)));
    let summary = never_seen.summary();
    assert_eq!(check(&summary, NAME).verdict, Inconclusive, "its znode may have owned in between");
    assert!(summary.ownership.zombie_max_ns < ms(1_000), "{:?}", summary.ownership);
}
