//! Latencies by phase, the floor, fan-out, and the servers' counters.

use crate::*;
use hustings_reports::stats::Distribution;
use hustings_reports::summary::Excess;

#[test]
fn phases_add_up_to_the_failover() {
    let mut cell = Cell::new("naive", 2, 4, FaultKind::Crash);
    cell.crash(20_000, 300);
    let summary = cell.summary();
    let detect = summary.failover.detect.unwrap();
    assert_eq!((detect.n, detect.max), (2, ms(3_800)));
    assert_eq!(summary.failover.decide.unwrap().max, ms(2) + 10_000);
    // The write is two milliseconds after the grant, whose confirmation took 10 µs.
    assert_eq!(summary.failover.act.unwrap().max, ms(2) - 10_000);
    assert_eq!(summary.failover.spread.unwrap().max, 0);
    assert_eq!(summary.failover.whole.unwrap().max, ms(3_802) + 10_000);
}

#[test]
fn a_resource_without_a_fence_takes_a_first_write_that_a_fence_would_have_refused() {
    let act = |fencing| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::Crash);
        cell.info.fencing = fencing;
        cell.coordinator.push(Event::Write {
            t: ms(19_000),
            sent: Some(ms(19_000)),
            seq: 0,
            group: 0,
            cand: cell.cand(0, 2),
            host: 2,
            czxid: i64::MAX,
            session: cell.session(0, 2),
            unfenced_stale: false,
            fenced_rejected: false,
            fenced_stale: false,
        });
        cell.crash(20_000, 300);
        let act = cell.summary().failover.act.unwrap();
        (act.n, act.censored)
    };
    assert_eq!(act(Fencing::Unfenced), (1, 0));
    assert_eq!(act(Fencing::Fenced), (0, 1));
}

#[test]
fn detection_is_measured_from_the_last_touch() {
    let excess = |over| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::Crash);
        cell.crash(20_000, over);
        cell.summary().failover.excess.unwrap()
    };
    let inside = excess(1_200);
    assert_eq!((inside.over_floor.max, inside.beyond_window, inside.early), (ms(1_200), 0, 0));
    assert_eq!(inside.window_ns, ms(2_000));
    assert_eq!(excess(2_001).beyond_window, 1);
}

#[test]
fn a_faster_detection_than_the_floor_is_early_and_shows_that_the_harness_is_wrong() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::Crash);
    let id = cell.fault(FaultKind::Crash, 0, &[0], 20_000, None);
    let touches = vec![Touch { session: cell.session(0, 0), last_up: ms(20_000) }];
    cell.verification(id, VerificationStage::Injected, 20_000, true, touches);
    let node = cell.node(0, 0);
    cell.kill(0, 20_000);
    cell.wake(0, &node, 23_999);
    cell.lead(0, 1, 24_010);
    let summary = cell.summary();
    assert_eq!(check(&summary, "failover").verdict, Inconclusive);
    let excess = summary.failover.excess.unwrap();
    assert_eq!((excess.early, excess.over_floor.max), (1, 0));
}

/// The leader's connection is cut, 500 ms after its last contact; `then` adds the further events. Its successor is
/// notified at `told`.
fn left_to_expire(told: u64, then: impl FnOnce(&mut Cell)) -> Option<Excess> {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    let id = cell.fault(FaultKind::Partition, 0, &[0], 20_000, Some(1_000));
    let touches = vec![Touch { session: cell.session(0, 0), last_up: ms(19_500) }];
    cell.verification(id, VerificationStage::Injected, 20_000, true, touches);
    cell.healed(id, 21_000);
    cell.revoke(0, 0, 20_500, RevokeReason::SteppedDown);
    then(&mut cell);
    let node = cell.node(0, 0);
    cell.wake(0, &node, told);
    cell.lead(0, 1, told + 2);
    cell.summary().failover.excess
}

#[test]
fn a_session_that_came_back_has_the_floor_of_the_fault_that_hit_it_then() {
    let came_back = |cell: &mut Cell| {
        let session = cell.session(0, 0);
        cell.host(0).push(Event::State { t: ms(20_450), session, state: SessionState::Disconnected });
        cell.host(0).push(Event::State { t: ms(21_100), session, state: SessionState::Connected });
    };
    let alone = left_to_expire(24_000, |_| ()).expect("a session that was left to expire");
    assert_eq!((alone.over_floor.max, alone.early), (ms(500), 0));
    assert!(left_to_expire(24_000, came_back).is_none(), "nobody knows when it was last heard of");
    let hit_again = left_to_expire(25_700, |cell| {
        came_back(cell);
        let id = cell.fault(FaultKind::Pause, 0, &[0], 21_200, Some(9_000));
        let touches = vec![Touch { session: cell.session(0, 0), last_up: ms(21_150) }];
        cell.verification(id, VerificationStage::Injected, 21_200, true, touches);
        cell.healed(id, 30_200);
    });
    assert_eq!(hit_again.expect("its last touch is known").over_floor.max, ms(25_700 - 21_150) - ms(T));
}

#[test]
fn what_was_given_back_or_taken_by_order_has_no_floor_of_expiry() {
    let resigned = {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
        cell.fault(FaultKind::Resign, 0, &[0], 19_999, None);
        cell.revoke(0, 0, 20_000, RevokeReason::Resigned);
        let id = cell.fault(FaultKind::Crash, 0, &[0], 20_000, None);
        let touches = vec![Touch { session: cell.session(0, 0), last_up: ms(20_000) }];
        cell.verification(id, VerificationStage::Injected, 20_000, true, touches);
        cell.kill(0, 20_000);
        let node = cell.node(0, 0);
        cell.wake(0, &node, 20_004);
        cell.lead(0, 1, 20_006);
        cell.summary()
    };
    assert_eq!(resigned.failover.excess, None);
    assert_eq!(resigned.failover.whole.map(|whole| whole.n), Some(1));
    let closed = left_to_expire(22_000, |cell| {
        let id = cell.fault(FaultKind::Expire, 0, &[0], 21_900, None);
        cell.injected(id, 21_990);
    });
    assert_eq!(closed, None);
}

#[test]
fn a_watcher_that_is_told_after_the_grant_belongs_to_the_spread() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::Crash);
    let id = cell.fault(FaultKind::Crash, 0, &[0], 20_000, None);
    cell.verification(id, VerificationStage::Injected, 20_000, true, Vec::new());
    let node = cell.node(0, 0);
    cell.kill(0, 20_000);
    cell.notify(0, 1, &node, 24_000);
    cell.lead(0, 1, 24_010);
    cell.notify(0, 2, &node, 24_060);
    let summary = cell.summary();
    let spread = summary.failover.spread.unwrap();
    assert_eq!((spread.n, spread.censored, spread.max), (1, 0, ms(60)));
    assert_eq!(summary.failover.detect.unwrap().max, ms(4_000));
    assert_eq!(summary.fan_out.woken, Some((2, 2, 2)));
}

pub(crate) fn unverified_fault() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    for event in &mut cell.coordinator {
        if let Event::Verification(verification) = event {
            verification.verified = false;
        }
    }
    cell
}

#[test]
fn samples_of_an_unverified_fault_are_not_used() {
    let summary = unverified_fault().summary();
    assert_eq!((summary.failover.whole, summary.handovers.planned, summary.handovers.unplanned), (None, 0, 0));
    for checker in ["verification", "split-brain", "failover", "fan-out", "stale-writes"] {
        let found = summary.checks.iter().find(|c| c.name == checker).unwrap();
        assert_eq!(found.verdict, Inconclusive, "{checker}");
    }
}

#[test]
fn each_recipe_wakes_whom_it_promises() {
    for (recipe, promised) in [("predecessor-watch", 1), ("naive", 4), ("lock-race", 4), ("poll-race", 0)] {
        let mut cell = Cell::new(recipe, 1, 5, FaultKind::Resign);
        cell.resign(0, 20_000);
        let summary = cell.summary();
        assert_eq!(check(&summary, "fan-out").verdict, Pass, "{recipe}");
        assert_eq!(summary.fan_out.woken, Some((promised, promised, promised)));
        assert_eq!(summary.fan_out.promised, Some((promised, promised)));
        assert_eq!(summary.fan_out.requests, Some((2 * promised, 2 * promised)));
    }
}

#[test]
fn a_herd_where_one_was_promised_fails_and_so_does_silence() {
    let fan_out = |woken: std::ops::Range<u16>, expected: Option<FanOut>| {
        let mut cell = Cell::new("predecessor-watch", 1, 5, FaultKind::Resign);
        if let (Some(expected), Some(declared)) = (expected, &mut cell.info.declared) {
            declared.leader_wakes = expected;
        }
        let node = cell.node(0, 0);
        woken.for_each(|host| cell.notify(0, host, &node, 20_004));
        let mut all = cell;
        all.resign(0, 20_000);
        check(&all.summary(), "fan-out").verdict
    };
    assert_eq!(fan_out(2..2, None), Pass);
    assert_eq!(fan_out(2..4, None), Fail);
    assert_eq!(fan_out(2..2, Some(FanOut::AllOthers)), Fail);
    assert_eq!(fan_out(2..5, Some(FanOut::AllOthers)), Pass);
    assert_eq!(fan_out(2..2, Some(FanOut::None)), Fail);
}

#[test]
fn nobody_hears_of_a_leader_whose_follower_died_with_it() {
    let mut cell = Cell::new("predecessor-watch", 1, 4, FaultKind::Crash);
    let cands = vec![cell.cand(0, 0), cell.cand(0, 1)];
    let (t, hosts, groups) = (ms(20_000), vec![0, 1], vec![0]);
    let (kind, detail, intended) = (FaultKind::Crash, String::new(), t);
    cell.coordinator.push(Event::Fault(Box::new(FaultOrder {
        id: 0,
        planned: None,
        kind,
        t,
        intended,
        for_ms: None,
        hosts,
        cands,
        groups,
        servers: vec![],
        detail,
    })));
    cell.injected(0, 20_000);
    let behind = cell.node(0, 1);
    cell.kill(0, 20_000);
    cell.kill(1, 20_000);
    cell.notify(0, 2, &behind, 24_000);
    cell.lead(0, 2, 24_001);
    let summary = cell.summary();
    assert_eq!(summary.fan_out.woken, Some((0, 0, 0)));
    assert_eq!(check(&summary, "fan-out").verdict, Pass);
}

#[test]
fn notices_of_a_later_lock_are_not_counted_for_an_earlier_one() {
    let mut cell = Cell::new("lock-race", 1, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    cell.revoke(0, 1, 30_000, RevokeReason::SessionEnded);
    cell.notify(0, 0, "lock", 30_001);
    cell.notify(0, 2, "lock", 30_001);
    cell.lead(0, 2, 30_002);
    let summary = cell.summary();
    assert_eq!(summary.fan_out.woken, Some((2, 2, 2)));
    assert_eq!(summary.handovers.unplanned, 1);
}

#[test]
fn servers_that_count_otherwise_are_compared_with_the_harness() {
    let verdict = |differ| {
        let mut cell = Cell::new("naive", 1, 4, FaultKind::Resign);
        cell.resign(0, 20_000);
        cell.servers_differ = differ;
        cell.verdict("servers")
    };
    assert_eq!(verdict(0), Pass);
    // The resigned candidate may not have been notified of its own znode's deletion before it left.
    assert_eq!(verdict(1), Pass);
    assert_eq!(verdict(2), Inconclusive);
    assert_eq!(verdict(-1), Inconclusive);
    let mut cell = Cell::new("naive", 1, 4, FaultKind::None);
    cell.servers_silent = true;
    assert_eq!(cell.verdict("servers"), Inconclusive);
}

#[test]
fn the_answer_to_a_watch_that_was_set_again_is_counted_by_no_server_however_long_stalls_held_it_up() {
    let verdict = |told: u64, stalled: bool| {
        let mut cell = Cell::new("naive", 1, 4, FaultKind::None);
        cell.reconnects(3, cell.session(0, 3), (20_000, 20_050));
        cell.notify(0, 3, "n_x", told);
        if stalled {
            cell.coordinator.push(Event::ServerWait { from: ms(20_060), to: ms(20_360), server: 2 });
        }
        // They counted none: it was deleted while the session had no connection.
        cell.servers_differ = -1;
        cell.verdict("servers")
    };
    assert_eq!([20_200, 20_500, 20_900].map(|told| verdict(told, false)), [Pass, Inconclusive, Inconclusive]);
    assert_eq!([20_200, 20_500, 20_900].map(|told| verdict(told, true)), [Pass, Pass, Inconclusive]);
}

#[test]
fn where_the_harness_contradicts_itself_a_long_stall_makes_a_repetition_worth_while() {
    let miscounted = |stall: u64| {
        let mut cell = Cell::new("naive", 1, 4, FaultKind::None);
        cell.servers_differ = 2;
        cell.host(2).push(Event::Stall { from: ms(30_000), to: ms(30_000 + stall), ran_ns: 0, program: false });
        let summary = cell.summary();
        let servers = check(&summary, "servers");
        (servers.verdict, servers.by_stalls)
    };
    assert_eq!([350, 450].map(miscounted), [(Inconclusive, false), (Inconclusive, true)]);
}

#[test]
fn a_server_may_fire_too_for_a_client_that_it_is_cut_off_from_and_that_has_gone_on_to_another() {
    let verdict = |until: u64, differ: i64| {
        let mut cell = Cell::new("naive", 1, 4, FaultKind::Partition);
        cell.lasting(FaultKind::Partition, 3, &[], (18_000, until));
        cell.reconnects(3, cell.session(0, 3), (18_500, 18_700));
        cell.resign(0, 20_000);
        cell.servers_differ = differ;
        cell.verdict("servers")
    };
    // One more notification belongs to the resigned candidate.
    assert_eq!([verdict(30_000, 2), verdict(30_000, 3)], [Pass, Inconclusive]);
    assert_eq!(
        [verdict(19_000, 1), verdict(19_000, 2)],
        [Pass, Inconclusive],
        "healed, the first server has learned of it"
    );
}

#[test]
fn what_the_observer_and_the_floor_were_told_is_in_the_servers_counters_too() {
    let mut cell = Cell::new("naive", 1, 4, FaultKind::None);
    for (t, deleted, created) in [(9_000, 5, Some(6)), (50_000, 9, Some(8))] {
        cell.observer.push(Event::ObserverCount { t: ms(t), deleted, created, changed: Some(0) });
    }
    for n in 0..3 {
        let deleted = ms(15_000 + n * 100);
        cell.host(1).push(Event::Floor {
            deleted,
            notified: deleted + 400_000,
            listed: deleted + 900_000,
            sessions: None,
        });
    }
    cell.servers_differ = 4 + 3;
    cell.differs_of.insert("created", 2);
    let summary = cell.summary();
    assert_eq!(check(&summary, "servers").verdict, Pass);
    assert_eq!(summary.deletion_watches.clients_saw, Some((7, 7)));
    assert_eq!(summary.failover.floor.unwrap().max, 900_000);
}

#[test]
fn of_two_faults_on_one_leader_the_one_that_still_acts_is_to_blame() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    // Survived: long over when the second one comes.
    cell.lasting(FaultKind::Partition, 0, &[0], (12_000, 13_000));
    cell.lasting(FaultKind::Partition, 0, &[0], (20_000, 30_000));
    cell.revoke(0, 0, 22_000, RevokeReason::SteppedDown);
    let node = cell.node(0, 0);
    cell.notify(0, 1, &node, 24_000);
    cell.lead(0, 1, 24_001);
    let summary = cell.summary();
    assert_eq!((summary.handovers.completed, summary.handovers.survived), (1, 1));
    assert_eq!(summary.failover.whole.unwrap().max, ms(4_001) + 10_000);
}

/// The leader on host 0 resigns; no other leads, and it leads again under the same session at `back`.
fn retakes(recipe: &str, back: u64) -> Cell {
    let mut cell = Cell::new(recipe, 1, 3, FaultKind::Resign);
    cell.inject(FaultKind::Resign, 0, &[0], 20_000, None);
    cell.revoke(0, 0, 20_001, RevokeReason::Resigned);
    cell.left(0, 0, 20_004, Departure::Resigned { delete: Some((ms(20_003), ms(20_004))) });
    cell.renew(0, 0);
    cell.lead(0, 0, back);
    cell
}

#[test]
fn a_lead_that_its_resigner_takes_back_is_a_handover_that_was_retaken() {
    let summary = retakes("poll-race", 20_250).summary();
    let handovers = summary.handovers;
    assert_eq!((handovers.planned, handovers.completed, handovers.retaken, handovers.survived), (1, 1, 1, 0));
    assert_eq!(summary.failover.whole.unwrap().max, ms(249) + 10_000);
    assert_eq!(summary.split_brain.active.n, 0, "it had no rival");
}

#[test]
fn a_resignation_counts_from_the_end_of_belief() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    let failover = cell.summary().failover;
    assert_eq!(failover.release.unwrap().max, ms(1));
    assert_eq!(failover.detect.unwrap().max, ms(1));
    assert_eq!(failover.whole.unwrap().max, ms(4) + 10_000);
    assert_eq!(failover.from_intended.unwrap().max, ms(5) + 10_000);
}

#[test]
fn the_same_handovers_count_from_the_intended_moment_however_late_the_harness_was() {
    let late = |stall: (u64, u64)| {
        let mut cell = Cell::new("poll-race", 1, 3, FaultKind::Resign);
        let id = cell.fault(FaultKind::Resign, 0, &[0], 20_000, None);
        cell.injected(id, 20_300);
        cell.revoke(0, 0, 20_301, RevokeReason::Resigned);
        cell.left(0, 0, 20_304, Departure::Resigned { delete: Some((ms(20_303), ms(20_304))) });
        cell.renew(0, 0);
        cell.lead(0, 0, 20_550);
        cell.host(0).push(Event::Stall { from: ms(stall.0), to: ms(stall.1), ran_ns: 0, program: false });
        let failover = cell.summary().failover;
        let of = |d: Option<Distribution>| d.map(|d| (d.n, d.void, d.max)).unwrap();
        (of(failover.whole), of(failover.from_intended))
    };
    let (whole, intended) = late((20_050, 20_250));
    assert_eq!((whole.0, whole.1), (1, 0), "it stalled before the loss");
    assert_eq!(intended, (1, 0, whole.2 + ms(301)), "which made the harness late, and is not hidden");
    let (whole, intended) = late((20_310, 20_500));
    assert_eq!(((whole.0, whole.1), (intended.0, intended.1)), ((0, 1), (0, 1)));
}

#[test]
fn what_did_not_happen_before_the_next_grant_is_censored_in_its_phase() {
    let failover = retakes("lock-race", 20_250).summary().failover;
    let detect = failover.detect.unwrap();
    assert_eq!((detect.n, detect.censored, detect.p50), (0, 1, None));
    assert_eq!((failover.spread.unwrap().censored, failover.decide.unwrap().censored), (1, 1));
    let mut mute = retakes("lock-race", 20_250);
    mute.coordinator.retain(|event| !matches!(event, Event::Write { t, .. } if *t > ms(20_000)));
    let act = mute.summary().failover.act.unwrap();
    assert_eq!((act.n, act.censored), (0, 1));
    let failover = retakes("poll-race", 20_250).summary().failover;
    assert_eq!((failover.detect, failover.spread, failover.decide), (None, None, None), "it watches nothing");
}

#[test]
fn samples_of_the_floor_that_came_to_nothing_are_counted_and_stay_in_it() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    for n in 0..4 {
        let (deleted, sessions) = (ms(6_000 + n * 100), Some((70, 80 + n as i64)));
        let (notified, listed) = (deleted + 400_000, deleted + 900_000);
        cell.coordinator.push(Event::Floor { deleted, notified, listed, sessions });
    }
    // The failed samples are the slow ones: without them the floor would be too low for comparisons.
    let failed = |deleted| Event::FloorFailed { t: ms(12_000), deleted, why: "late".to_owned() };
    cell.coordinator.extend([failed(Some(ms(7_000))), failed(None)]);
    let summary = cell.summary();
    let floor = summary.failover.floor.clone().unwrap();
    assert_eq!((floor.n, floor.censored, summary.failover.floor_failed, summary.failover.floor_pairs), (4, 1, 2, 4));
    let told = &check(&summary, "failover").details;
    assert!(told.iter().any(|line| line.contains("2 of 6 samples of the floor came to nothing")), "{told:?}");
}
