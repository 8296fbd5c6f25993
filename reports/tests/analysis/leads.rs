//! Overlaps, unplanned handovers, groups without a leader, owners without a belief.

use crate::*;

/// A partition of host 0 from 20 s to 30 s; host 1 leads from 24.2 s; host 0 believes until `until`.
pub(crate) fn partition(until: u64) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    let id = cell.inject(FaultKind::Partition, 0, &[0], 20_000, Some(10_000));
    let node = cell.node(0, 0);
    cell.notify(0, 1, &node, 24_200);
    cell.lead(0, 1, 24_201);
    cell.revoke(0, 0, until, RevokeReason::SteppedDown);
    cell.healed(id, 30_000);
    cell
}

#[test]
fn stepping_down_in_time_is_no_overlap() {
    let summary = partition(22_000).summary();
    assert_eq!(check(&summary, "split-brain").verdict, Pass);
    assert_eq!((summary.split_brain.active.seen, summary.split_brain.active.n), (0, 1));
    assert_eq!(summary.verdict, Pass, "{:#?}", summary.checks);
}

#[test]
fn a_lead_that_is_lost_where_none_may_be_is_a_failure_whatever_explains_it() {
    let expecting = |handovers| {
        let mut cell = partition(22_000);
        cell.info.expect.handovers = handovers;
        cell.summary()
    };
    assert_eq!(check(&expecting(None), "handovers").verdict, Pass);
    assert_eq!(check(&expecting(Some(Expectation::Some)), "handovers").verdict, Pass);
    let summary = expecting(Some(Expectation::None));
    let found = check(&summary, "handovers");
    assert_eq!(found.verdict, Fail);
    assert!(found.details[0].contains("1 lost leads") && found.details[1].contains("partition number 0"), "{found:?}");
}

/// A partition of host 0 from these of three servers, under which its candidate goes on leading.
fn cut_off_from(servers: Vec<u32>) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    cell.lasting(FaultKind::Partition, 0, &[0], (20_000, 30_000));
    cell.info.servers = 3;
    for event in &mut cell.coordinator {
        if let Event::Fault(fault) = event {
            fault.servers.clone_from(&servers);
        }
    }
    cell
}

#[test]
fn whoever_is_cut_off_from_some_servers_alone_need_not_lose_the_lead() {
    assert_eq!(cut_off_from(vec![]).verdict("handovers"), Inconclusive);
    assert_eq!(cut_off_from(vec![1, 2, 3]).verdict("handovers"), Inconclusive);
    assert_eq!(cut_off_from(vec![2]).verdict("handovers"), Pass);
}

#[test]
fn two_leaders_at_once_are_a_failure() {
    let summary = partition(25_600).summary();
    assert_eq!(check(&summary, "split-brain").verdict, Fail);
    // A definite overlap is not also counted as possible.
    assert_eq!((summary.split_brain.active.seen, summary.split_brain.possible), (1, 0));
    // r⁻ − a⁺ − ε.
    assert_eq!(summary.split_brain.active_max_ns, ms(25_600) - ms(24_201) - 10_000 - 1_000);
    assert!(summary.timelines[0].terms.iter().any(|t| !t.overlap.is_empty()));
    assert_eq!(summary.timelines[0].because, "the longest overlap of beliefs");
}

#[test]
fn an_expected_overlap_is_unsafe_as_expected_and_its_absence_a_failure() {
    let expecting = |until, max| {
        let mut cell = partition(until);
        cell.info.expect.overlap = Expectation::Some;
        cell.info.expect.overlap_of_t_max = Some(max);
        cell.summary()
    };
    let seen = expecting(25_600, 0.45);
    assert_eq!((check(&seen, "split-brain").verdict, seen.unsafe_as_expected), (Pass, true));
    assert_eq!(check(&expecting(25_600, 0.3), "split-brain").verdict, Fail);
    let absent = expecting(22_000, 0.45);
    assert_eq!(check(&absent, "split-brain").verdict, Fail);
    assert!(check(&absent, "split-brain").details[0].contains("theory says"));
}

#[test]
fn touching_brackets_are_only_possible() {
    // r⁻ = a⁻, r⁺ = a⁺.
    let summary = partition(24_201).summary();
    assert_eq!(check(&summary, "split-brain").verdict, Inconclusive);
    assert_eq!((summary.split_brain.active.seen, summary.split_brain.possible), (0, 1));
}

#[test]
fn an_overlap_in_a_stall_of_the_harness_is_inconclusive() {
    let mut cell = partition(25_600);
    cell.host(0).push(Event::Stall { from: ms(24_000), to: ms(25_000), ran_ns: 0, program: false });
    let summary = cell.summary();
    assert_eq!(check(&summary, "split-brain").verdict, Inconclusive);
    assert_eq!(check(&summary, "stalls").verdict, Inconclusive);
    assert_eq!(summary.stalls.over_limit, 1);
}

#[test]
fn a_zero_without_a_verified_fault_is_inconclusive() {
    let cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    assert_eq!(cell.verdict("split-brain"), Inconclusive);
    let control = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    assert_eq!(control.verdict("split-brain"), Pass);
}

/// Host 0 is paused from 20 s to 30 s. Host 1 leads from 24.2 s; host 0 steps down at `until` and writes at `writes`.
pub(crate) fn pause(until: u64, writes: &[u64]) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Pause);
    let id = cell.inject(FaultKind::Pause, 0, &[0], 20_000, Some(10_000));
    let node = cell.node(0, 0);
    cell.notify(0, 1, &node, 24_200);
    cell.lead(0, 1, 24_201);
    cell.healed(id, 30_000);
    writes.iter().for_each(|&at| cell.write(0, 0, at));
    cell.host(0).push(Event::Stall { from: ms(20_000), to: ms(30_000), ran_ns: 0, program: false });
    cell.revoke(0, 0, until, RevokeReason::SteppedDown);
    cell
}

#[test]
fn belief_while_stopped_is_latent_and_apart_from_what_follows() {
    let summary = pause(30_005, &[30_002, 30_004]).summary();
    let split = &summary.split_brain;
    assert_eq!(split.latent, 1);
    assert_eq!(split.latent_max_ns, ms(30_000) + 100_000 - ms(24_201) - 10_000);
    // After waking it believed for 5 ms, less the heal's bracket and ε.
    assert_eq!((split.active.seen, split.active_max_ns), (1, ms(5) - 100_000 - 1_000));
    assert_eq!(summary.writes.on_waking, 2);
    // The pause is not a stall of the harness.
    assert_eq!(summary.stalls.over_limit, 0);
}

#[test]
fn the_time_for_which_a_fault_stopped_a_leader_is_no_stall_that_explains_why_it_lost_the_lead() {
    let mut cell = pause(30_005, &[]);
    // It is seen to stand still a little longer than it was stopped.
    cell.host(0).push(Event::Stall { from: ms(20_000), to: ms(30_004), ran_ns: 0, program: false });
    cell.info.expect.handovers = Some(Expectation::None);
    assert_eq!(cell.verdict("handovers"), Fail);
}

/// The overlaps excused by waking, and those excused by a forced expiry.
fn excused(cell: Cell) -> (u64, u64) {
    let split = cell.summary().split_brain;
    assert_eq!(split.active.seen, 1);
    (split.excused.waking, split.excused.forced)
}

#[test]
fn a_short_overlap_on_waking_is_excused_and_a_long_one_is_not() {
    assert_eq!(excused(pause(30_000 + T / 5 - 5, &[])), (1, 0));
    assert_eq!(excused(pause(30_000 + T / 5 + 5, &[])), (0, 0));
}

#[test]
fn what_a_stopped_process_believes_on_waking_may_be_from_before_the_stop() {
    let woken = |lasts: u64, session_began: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Pause);
        cell.lasting(FaultKind::Pause, 1, &[0], (20_000, 30_000));
        let (cand, began) = (cell.cand(0, 1), ms(session_began));
        for event in cell.host(1) {
            match event {
                Event::Incarnation { t, cand: of, .. } if *of == cand => *t = began,
                _ => {}
            }
        }
        // The overlap is with a process that was stopped before it believed, and that ZooKeeper never named.
        cell.believe(0, 1, 30_001);
        cell.revoke(0, 1, 30_000 + lasts, RevokeReason::SessionEnded);
        excused(cell)
    };
    assert_eq!(woken(T / 5 - 5, 1_000), (1, 0));
    assert_eq!(woken(T / 5 + 5, 1_000), (0, 0));
    assert_eq!(woken(T / 5 - 5, 29_000), (0, 0), "a session of after the stop");
}

#[test]
fn a_waking_excuses_nothing_that_comes_much_later() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Pause);
    cell.lasting(FaultKind::Pause, 0, &[0], (10_000, 11_000));
    cell.lead(0, 1, 24_201);
    cell.revoke(0, 0, 24_201 + T / 20, RevokeReason::SteppedDown);
    assert_eq!(excused(cell), (0, 0));
    // Nor does a stop of a process that never led before it.
    let mut other = partition(24_300);
    let id = other.inject(FaultKind::Pause, 2, &[0], 23_000, Some(1_000));
    other.healed(id, 24_200);
    assert_eq!(excused(other), (0, 0));
}

#[test]
fn a_forced_expiry_excuses_nothing_that_comes_much_later() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
    cell.inject(FaultKind::Expire, 0, &[0], 10_000, None);
    cell.lead(0, 1, 24_201);
    cell.revoke(0, 0, 24_201 + T / 20, RevokeReason::SteppedDown);
    assert_eq!(excused(cell), (0, 0));
}

#[test]
fn what_is_excused_is_let_pass_where_the_scenario_says_so_and_nothing_else_is() {
    let verdict = |until, expected| {
        let mut cell = pause(until, &[]);
        cell.info.expect.overlap = expected;
        cell.verdict("split-brain")
    };
    let (short, long) = (30_000 + T / 5 - 5, 30_000 + T / 5 + 5);
    assert_eq!(verdict(short, Expectation::Excused), Pass);
    assert_eq!(verdict(long, Expectation::Excused), Fail);
    assert_eq!(verdict(short, Expectation::None), Fail);
}

#[test]
fn an_overlap_after_a_forced_expiry_is_excused_as_long_as_the_client_cannot_have_heard_of_it() {
    let expired = |lasts: u64, bad_link: Option<(FaultKind, u16)>| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
        if let Some((kind, host)) = bad_link {
            cell.lasting(kind, host, &[0], (19_000, 28_000));
        }
        cell.inject(FaultKind::Expire, 0, &[0], 20_000, None);
        cell.lead(0, 1, 20_010);
        cell.revoke(0, 0, 20_000 + lasts, RevokeReason::SteppedDown);
        excused(cell)
    };
    assert_eq!(expired(T / 5 - 5, None), (0, 1));
    assert_eq!(expired(T / 5 + 5, None), (0, 0));
    for kind in [FaultKind::Partition, FaultKind::PartitionUp, FaultKind::PartitionDown, FaultKind::Slow] {
        assert_eq!(expired(T / 2 + T / 5 - 5, Some((kind, 0))), (0, 1), "{kind}");
        assert_eq!(expired(T / 2 + T / 5 + 5, Some((kind, 0))), (0, 0), "{kind}");
        assert_eq!(expired(T / 2 - 5, Some((kind, 2))), (0, 0), "{kind} of another host");
    }
    // Without a forced expiry nothing is excused.
    assert_eq!(excused(partition(24_300)), (0, 0));
}

pub(crate) fn false_failover() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    let node = cell.node(0, 0);
    cell.revoke(0, 0, 30_000, RevokeReason::SessionEnded);
    cell.wake(0, &node, 30_008);
    cell.lead(0, 1, 30_010);
    cell
}

/// The same, and its client had lost its connection just before.
pub(crate) fn cut_off_failover() -> Cell {
    let mut cell = false_failover();
    let session = cell.session(0, 0);
    cell.reconnects(0, session, (29_900, 30_005));
    cell
}

#[test]
fn a_change_of_leader_without_a_fault_is_unplanned() {
    let summary = false_failover().summary();
    assert_eq!((summary.handovers.unplanned, summary.handovers.completed), (1, 0));
    assert_eq!(check(&summary, "handovers").verdict, Fail);
}

#[test]
fn a_change_of_leader_after_a_stall_of_the_harness_is_compared_with_nobody() {
    let verdict = |stall: (u64, u64)| {
        let mut cell = cut_off_failover();
        cell.host(0).push(Event::Stall { from: ms(stall.0), to: ms(stall.1), ran_ns: 0, program: false });
        let summary = cell.summary();
        assert_eq!(summary.handovers.unplanned, 1);
        check(&summary, "handovers").verdict
    };
    assert_eq!(verdict((28_000, 29_500)), Inconclusive);
    assert_eq!(verdict((12_000, 13_000)), Fail, "long before");
    assert_eq!(verdict((31_000, 32_000)), Fail, "afterwards");
    assert_eq!(verdict((29_900, 29_950)), Fail, "too short to matter");
}

#[test]
fn the_same_incarnation_taking_the_lead_back_has_survived() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Disconnect);
    cell.inject(FaultKind::Disconnect, 0, &[0], 20_000, None);
    cell.revoke(0, 0, 20_001, RevokeReason::SteppedDown);
    cell.believe(0, 0, 20_100);
    cell.write(0, 0, 20_200);
    let summary = cell.summary();
    assert_eq!((summary.handovers.survived, summary.handovers.planned), (1, 0));
    assert_eq!(summary.verdict, Pass, "{:#?}", summary.checks);
}

#[test]
fn the_same_candidate_under_a_new_session_is_a_handover() {
    let mut cell = Cell::new("predecessor-watch", 1, 1, FaultKind::Expire);
    cell.inject(FaultKind::Expire, 0, &[0], 20_000, None);
    cell.revoke(0, 0, 20_003, RevokeReason::SessionEnded);
    cell.left(0, 0, 20_004, Departure::SessionEnded(SessionEnd::Expired));
    cell.join(0, 0, 20_010);
    cell.lead(0, 0, 20_012);
    let summary = cell.summary();
    assert_eq!((summary.handovers.completed, summary.handovers.unplanned), (1, 0));
}

#[test]
fn an_incarnation_that_leads_once_more_while_its_session_is_being_ended_has_not_survived() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
    let id = cell.fault(FaultKind::Expire, 0, &[0], 20_000, None);
    // The second connection costs it the first one; it comes back before the close takes effect.
    cell.revoke(0, 0, 20_003, RevokeReason::SteppedDown);
    cell.believe(0, 0, 20_014);
    cell.revoke(0, 0, 20_016, RevokeReason::Deposed);
    cell.injected(id, 20_001);
    cell.left(0, 0, 20_017, Departure::SessionEnded(SessionEnd::Expired));
    cell.lead(0, 1, 20_018);
    let summary = cell.summary();
    assert_eq!((summary.handovers.completed, summary.handovers.survived, summary.handovers.unplanned), (1, 0, 0));
    assert_eq!(summary.failover.whole.expect("a failover").max, ms(17) + 10_000);
}

#[test]
fn a_leader_that_ignores_the_end_of_its_session_has_not_survived_however_late_the_next_one_comes() {
    let expired = |next: Option<u64>| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
        cell.inject(FaultKind::Expire, 0, &[0], 20_000, None);
        next.into_iter().for_each(|at| cell.lead(0, 1, at));
        cell.summary()
    };
    let late = expired(Some(20_000 + 2 * T));
    assert_eq!((late.handovers.completed, late.handovers.survived), (1, 0));
    assert_eq!(check(&late, "promptness").verdict, Fail);
    let handovers = expired(None).handovers;
    assert_eq!((handovers.censored, handovers.survived), (1, 0));
}

#[test]
fn a_group_that_nobody_leads_again_fails_liveness_and_stays_in_the_statistics() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    cell.inject(FaultKind::Crash, 0, &[0], 20_000, None);
    cell.kill(0, 20_000);
    let summary = cell.summary();
    assert_eq!(check(&summary, "liveness").verdict, Fail);
    assert_eq!((summary.leaderless.groups_at_end, summary.handovers.censored), (1, 1));
    let failover = summary.failover.whole.unwrap();
    assert_eq!((failover.n, failover.censored, failover.p50), (0, 1, None));
    assert!((summary.leaderless.share - 80.0 / 90.0).abs() < 0.001);
}

#[test]
fn a_lead_that_is_lost_as_the_drain_ends_is_inconclusive() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    cell.inject(FaultKind::Crash, 0, &[0], 99_000, None);
    cell.kill(0, 99_000);
    let summary = cell.summary();
    assert_eq!((check(&summary, "liveness").verdict, summary.leaderless.groups_at_end), (Inconclusive, 1));
}

pub(crate) fn late_successor() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    cell.crash(20_000, 15_000);
    cell
}

#[test]
fn a_late_successor_fails_liveness() {
    assert_eq!(late_successor().verdict("liveness"), Fail);
    let mut of_any_number = late_successor();
    if let Some(declared) = &mut of_any_number.info.declared {
        declared.requests_per_wake_max = None;
    }
    assert_eq!(
        of_any_number.verdict("liveness"),
        Fail,
        "whoever declares no number of requests has no time without end"
    );
}

#[test]
fn liveness_is_not_judged_before_the_drain_has_ended() {
    let mut record = Cell::new("naive", 1, 3, FaultKind::None).record();
    let events = &mut record.cells[0].segments[0].events;
    events.retain(|e| !matches!(e, Event::Phase { phase: Phase::TearDown, .. }));
    let summary = hustings_reports::analysis::summarise(&record);
    assert_eq!(check(&summary.cells[0], "liveness").verdict, Inconclusive);
}

pub(crate) fn orphan() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    let (from, to) = (ms(20_000), ms(20_001));
    let (session, node, czxid) = (Some(0x77), Some("n_1".to_owned()), Some(1));
    cell.observer.push(Event::Owner(Box::new(LeadOwner { from, to, group: 0, session, node, czxid })));
    cell.revoke(0, 0, 20_000, RevokeReason::Deposed);
    cell
}

#[test]
fn an_orphaned_znode_at_the_head_fails_ownership() {
    let summary = orphan().summary();
    assert_eq!(check(&summary, "ownership").verdict, Fail);
    assert!(summary.ownership.dead_owner_max_ns > ms(70_000));
}

#[test]
fn a_believer_that_owns_nothing_fails_ownership_unless_it_was_cut_off() {
    let zombie = |faulty: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
        if faulty {
            cell.lasting(FaultKind::Partition, 0, &[0], (20_000, 40_000));
        }
        cell.lead(0, 1, 24_000);
        cell.revoke(0, 0, 35_000, RevokeReason::SessionEnded);
        cell.summary()
    };
    assert_eq!(check(&zombie(false), "ownership").verdict, Fail);
    assert_eq!(check(&zombie(true), "ownership").verdict, Pass);
    assert_eq!(zombie(true).ownership.zombies, 1);
}

#[test]
fn a_believer_is_a_zombie_before_the_first_owner_is_seen_and_whatever_is_expected() {
    let early = |owned: u64, expected: Expectation| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        cell.info.expect.overlap = expected;
        cell.observer = vec![Event::ObserverState { t: ms(900), connected: true }];
        cell.own(0, 0, owned);
        cell.verdict("ownership")
    };
    assert_eq!(early(3_000, Expectation::None), Pass);
    assert_eq!(early(40_000, Expectation::None), Fail);
    assert_eq!(early(40_000, Expectation::Some), Fail);
}

#[test]
fn a_blind_observer_is_inconclusive() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
    for (t, connected) in [(900, true), (30_000, false), (33_000, true)] {
        cell.observer.push(Event::ObserverState { t: ms(t), connected });
    }
    let summary = cell.summary();
    assert_eq!((check(&summary, "ownership").verdict, summary.ownership.blind_ns), (Inconclusive, ms(3_000)));
    let mut unwatched = Cell::new("naive", 1, 3, FaultKind::None);
    unwatched.observer.clear();
    assert_eq!(unwatched.verdict("ownership"), Inconclusive);
}

#[test]
fn a_short_overlap_is_told_whatever_the_scenario_allows() {
    let mut cell = partition(25_600);
    cell.info.expect.overlap = Expectation::Any;
    let summary = cell.summary();
    assert_eq!((check(&summary, "split-brain").verdict, summary.unsafe_as_expected), (Pass, true));
    let mut cell = partition(25_600);
    cell.info.expect.overlap = Expectation::Any;
    cell.info.expect.overlap_of_t_max = Some(0.01);
    let summary = cell.summary();
    assert_eq!((check(&summary, "split-brain").verdict, summary.unsafe_as_expected), (Fail, false));
}

#[test]
fn who_believes_by_another_znode_than_its_sessions_that_owns_does_not_own() {
    let owned_by_other = |sessions| {
        let mut cell = Cell::new("predecessor-watch", 1, 2, FaultKind::None);
        cell.info.sessions = sessions;
        let session = Some(cell.session(0, 0));
        let (from, to, node) = (ms(20_000), ms(20_001), Some("n_9".to_owned()));
        cell.observer.push(Event::Owner(Box::new(LeadOwner { from, to, group: 0, session, node, czxid: Some(9) })));
        cell.verdict("ownership")
    };
    assert_eq!(owned_by_other(SessionUse::PerCandidate), Fail, "an old one of its own");
    assert_eq!(owned_by_other(SessionUse::PerHost), Fail, "that of another candidate of its host");
}

#[test]
fn a_grant_that_was_never_confirmed_is_no_definite_belief() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    let (cand, session, czxid) = (cell.cand(0, 1), cell.session(0, 1), cell.czxid(0, 1));
    let node = cell.node(0, 1);
    cell.host(1).push(Event::Grant { t: ms(20_000), cand, session, term: 9, czxid, node });
    let summary = cell.summary();
    assert_eq!((summary.split_brain.active.seen, summary.split_brain.possible), (0, 1));
    assert_eq!(check(&summary, "split-brain").verdict, Inconclusive);
}

#[test]
fn a_host_that_dies_of_its_own_is_inconclusive_and_its_handover_unplanned() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    cell.kill(0, 20_000);
    for event in &mut cell.coordinator {
        if let Event::HostEnded { killed, .. } = event {
            *killed = false;
        }
    }
    cell.lead(0, 1, 24_000);
    let summary = cell.summary();
    assert_eq!(check(&summary, "record").verdict, Inconclusive);
    assert_eq!(summary.handovers.unplanned, 1);
}
