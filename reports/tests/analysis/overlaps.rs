//! Overlaps of several beliefs, and how a stall of the harness reduces them.

use crate::*;

/// Host 0 leads throughout; hosts 1 and 2 also lead from 20 s and 21 s on, until 30 s.
fn three_leaders() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 4, FaultKind::Partition);
    cell.lasting(FaultKind::Partition, 0, &[0], (15_000, 35_000));
    cell.lead(0, 1, 20_000);
    cell.lead(0, 2, 21_000);
    cell.revoke(0, 1, 30_000, RevokeReason::SteppedDown);
    cell.revoke(0, 2, 30_000, RevokeReason::SteppedDown);
    cell.revoke(0, 0, 31_000, RevokeReason::SteppedDown);
    cell.lead(0, 3, 32_000);
    cell
}

#[test]
fn three_leaders_at_once_are_three_pairs() {
    let split = three_leaders().summary().split_brain;
    assert_eq!((split.active.seen, split.lengths.unwrap().n), (3, 3));
    // r⁻ − a⁺ − ε, of each pair.
    assert_eq!(split.active_total_ns, ms(10_000 + 9_000 + 9_000) - 3 * 11_000);
}

#[test]
fn each_pair_of_three_is_latent_possible_and_excused_by_itself() {
    let stopped = |host: u16| {
        let mut cell = three_leaders();
        cell.lasting(FaultKind::Pause, host, &[0], (19_000, 34_000));
        let split = cell.summary().split_brain;
        (split.active.seen, split.latent)
    };
    assert_eq!(stopped(0), (1, 2));
    assert_eq!(stopped(3), (3, 0));
    // A term with a definite overlap may also have a possible one with another term.
    let mut cell = partition(25_600);
    cell.revoke(0, 1, 40_000, RevokeReason::SteppedDown);
    cell.lead(0, 2, 40_000);
    let split = cell.summary().split_brain;
    assert_eq!((split.active.seen, split.possible), (1, 1));
}

/// How long a leader that should have stepped down may go on after waking: T/5, and T/2 more behind a bad link.
const WOKEN: u64 = T / 5 + T / 2;

/// A partition of host 0, which leads beside host 1 from 24.2 s until `until`, while `host` stalled.
fn stalled(host: u16, stall: (u64, u64), until: u64) -> Cell {
    let mut cell = partition(until);
    cell.host(host).push(Event::Stall { from: ms(stall.0), to: ms(stall.1), ran_ns: 0, program: false });
    cell
}

#[test]
fn what_a_stall_leaves_of_an_overlap_is_judged() {
    for (host, stall, left) in [
        (0, (26_000, 26_500), 34_000 - 24_201 - 500 - WOKEN),
        (1, (26_000, 26_500), 34_000 - 24_201 - 500),
        (0, (23_000, 24_500), 34_000 - 24_500 - WOKEN),
        (2, (26_000, 26_500), 34_000 - 24_201),
    ] {
        let summary = stalled(host, stall, 34_000).summary();
        assert_eq!(check(&summary, "split-brain").verdict, Fail, "{host}");
        assert_eq!(summary.split_brain.active_max_ns / 1_000_000, left - 1, "{host}");
    }
}

#[test]
fn an_overlap_is_too_long_only_by_what_short_stalls_leave_of_it() {
    // From 24.2 s until 24.9 s; T/10 is 400 ms, and 600 ms are allowed.
    let verdict = |host: u16, stalls: &[(u64, u64)], ran_ms: u64| {
        let mut cell = partition(24_900);
        cell.info.expect.overlap = Expectation::Any;
        cell.info.expect.overlap_of_t_max = Some(0.15);
        for &(from, to) in stalls {
            cell.host(host).push(Event::Stall { from: ms(from), to: ms(to), ran_ns: ms(ran_ms), program: false });
        }
        let summary = cell.summary();
        assert_eq!(summary.split_brain.active_max_ns / 1_000_000, 698, "short stalls change no length");
        check(&summary, "split-brain").verdict
    };
    let short = [(24_300, 24_360), (24_500, 24_560)];
    assert_eq!(verdict(0, &[], 0), Fail);
    assert_eq!(verdict(0, &short[..1], 0), Fail);
    assert_eq!(verdict(0, &short, 0), Inconclusive);
    assert_eq!(verdict(0, &short, 50), Fail, "it was busy itself");
    assert_eq!(verdict(2, &short, 0), Fail, "of another host");
}

#[test]
fn an_overlap_is_too_long_only_by_the_part_in_which_the_servers_ran() {
    // From 24.201 s until 24.332 s, and 100 ms are allowed.
    let judged = |expected: Expectation, event: Event| {
        let mut cell = partition(24_332);
        cell.info.expect.overlap = expected;
        cell.info.expect.overlap_of_t_max = Some(0.025);
        cell.coordinator.push(event);
        let summary = cell.summary();
        assert_eq!(summary.split_brain.active_max_ns / 1_000_000, 130, "servers change no length");
        let check = check(&summary, "split-brain");
        (check.verdict, check.by_stalls)
    };
    let wait = |from: u64, to: u64| Event::ServerWait { from: ms(from), to: ms(to), server: 2 };
    let pause =
        |logged: u64, long: u64| Event::ServerLog { t: ms(logged), server: 2, line: ServerLine::Paused { ms: long } };
    let (spoilt, failed) = ((Inconclusive, true), (Fail, false));
    for inside in [wait(24_205, 24_325), wait(24_205, 24_240), pause(24_325, 120), pause(24_240, 35)] {
        assert_eq!(judged(Expectation::Any, inside.clone()), spoilt, "{inside:?}");
        assert_eq!(judged(Expectation::None, inside.clone()), failed, "none is allowed: {inside:?}");
    }
    for other in [wait(24_000, 24_120), wait(24_340, 24_460), wait(24_205, 24_225), pause(24_205, 120)] {
        assert_eq!(judged(Expectation::Any, other.clone()), failed, "elsewhere, or too short: {other:?}");
    }
}

#[test]
fn an_overlap_of_which_a_stall_leaves_nothing_is_inconclusive() {
    for (host, stall) in [(0, (24_000, 25_000)), (0, (22_000, 24_190)), (1, (24_200, 25_600))] {
        let summary = stalled(host, stall, 24_900).summary();
        assert_eq!(check(&summary, "split-brain").verdict, Inconclusive, "{host}");
        assert_eq!(summary.split_brain.active.seen, 0, "{host}");
    }
    let long_before = stalled(0, (20_000, 24_201 - WOKEN - 300), 24_900).summary();
    assert_eq!(check(&long_before, "split-brain").verdict, Fail);
}

#[test]
fn who_has_died_could_not_believe_beside_its_successor() {
    let crash = || {
        let mut cell = Cell::new("predecessor-watch", 3, 3, FaultKind::Crash);
        cell.crash(20_000, 200);
        cell
    };
    let summary = crash().summary();
    assert_eq!((summary.handovers.completed, summary.split_brain.active.n), (3, 0));
    let check_of = |summary: &hustings_reports::summary::CellSummary| check(summary, "split-brain").verdict;
    assert_eq!(check_of(&summary), Pass, "nobody need be seen to overlap, and nothing stands behind it");
    let mut expected = crash();
    expected.info.expect.overlap = Expectation::Some;
    assert_eq!(check_of(&expected.summary()), Inconclusive);
}

#[test]
fn a_handover_counts_where_both_ran_when_the_lead_was_granted() {
    let counted = |host: u16, stall: (u64, u64), until: u64| {
        let mut cell = partition(until);
        cell.host(host).push(Event::Stall { from: ms(stall.0), to: ms(stall.1), ran_ns: 0, program: false });
        cell.summary().split_brain.active.n
    };
    assert_eq!(counted(0, (20_500, 21_000), 24_150), 1, "the loser's, long before the grant");
    assert_eq!(counted(0, (23_000, 24_000), 24_150), 0, "the loser's, until just before it");
    assert_eq!(counted(0, (24_100, 24_900), 24_150), 0, "the loser's, at the grant");
    assert_eq!(counted(0, (24_100, 24_900), 22_000), 1, "the loser's, once it had stepped down");
    assert_eq!(counted(1, (21_000, 21_500), 24_150), 0, "the winner's may have made the grant late");
    assert_eq!(counted(2, (24_000, 24_500), 24_150), 1, "somebody else's");
}
