//! Cases that are easily counted twice, blamed on the wrong cause, or compared with an innocent candidate.

use crate::*;

fn partition(cell: &mut Cell, from: u64, to: u64) {
    cell.lasting(FaultKind::Partition, 0, &[0], (from, to));
}

#[test]
fn a_lead_that_was_lost_already_is_not_lost_again() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    partition(&mut cell, 20_000, 30_000);
    cell.lead(0, 1, 24_000);
    // Host 0 never notices, and is hit again.
    partition(&mut cell, 45_000, 50_000);
    cell.revoke(0, 0, 60_000, RevokeReason::SessionEnded);
    let handovers = cell.summary().handovers;
    assert_eq!((handovers.completed, handovers.survived, handovers.unplanned), (1, 0, 0));
}

#[test]
fn a_lock_of_the_same_name_is_another_lock_once_its_holder_is_gone() {
    let mut cell = Cell::new("lock-and-nothing-promised", 1, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    cell.revoke(0, 1, 30_000, RevokeReason::SessionEnded);
    cell.notify(0, 2, "lock", 30_001);
    cell.lead(0, 2, 30_002);
    let summary = cell.summary();
    assert_eq!(summary.fan_out.woken, Some((1, 1, 1)));
    assert_eq!((summary.fan_out.promised, check(&summary, "fan-out").verdict), (None, Pass));
}

#[test]
fn the_dead_are_promised_no_wake_up() {
    let mut cell = Cell::new("naive", 1, 4, FaultKind::Resign);
    cell.inject(FaultKind::Crash, 2, &[0], 15_000, None);
    cell.kill(2, 15_000);
    cell.inject(FaultKind::Resign, 0, &[0], 30_000, None);
    let node = cell.node(0, 0);
    cell.revoke(0, 0, 30_001, RevokeReason::Resigned);
    cell.left(0, 0, 30_004, Departure::Resigned { delete: Some((ms(30_002), ms(30_003))) });
    cell.notify(0, 1, &node, 30_003);
    cell.notify(0, 3, &node, 30_003);
    cell.lead(0, 1, 30_005);
    let summary = cell.summary();
    assert_eq!(summary.fan_out.promised, Some((2, 2)));
    assert_eq!(check(&summary, "fan-out").verdict, Pass);
}

#[test]
fn who_stands_behind_a_dead_follower_must_not_hear_of_the_leader() {
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
    let leader = cell.node(0, 0);
    cell.kill(0, 20_000);
    cell.kill(1, 20_000);
    cell.notify(0, 2, &leader, 24_000);
    cell.lead(0, 2, 24_001);
    assert_eq!(cell.verdict("fan-out"), Fail);
}

#[test]
fn an_owner_that_a_fault_keeps_from_believing_is_no_orphan() {
    let verdict = |slow: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Slow);
        if slow {
            cell.lasting(FaultKind::Slow, 0, &[0], (20_000, 40_000));
        }
        cell.revoke(0, 0, 20_001, RevokeReason::SteppedDown);
        cell.believe(0, 0, 40_500);
        cell.verdict("ownership")
    };
    assert_eq!(verdict(true), Pass);
    assert_eq!(verdict(false), Fail);
}

#[test]
fn what_a_blind_observer_missed_is_compared_with_nobody() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    for (t, connected) in [(900, true), (21_000, false), (60_000, true)] {
        cell.observer.push(Event::ObserverState { t: ms(t), connected });
    }
    cell.revoke(0, 0, 22_000, RevokeReason::SessionEnded);
    cell.believe(0, 1, 22_100);
    cell.own(0, 1, 60_000);
    assert_eq!(cell.verdict("ownership"), Inconclusive);
}

#[test]
fn a_wake_up_in_an_earlier_life_does_not_excuse_a_candidate_that_is_not_told() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::Resign);
    // The leader is notified of its own znode as it resigns, and never settles that notification.
    let (cand, session, node) = (cell.cand(0, 0), cell.session(0, 0), cell.node(0, 0));
    cell.host(0).push(Event::Notified { t: ms(20_003), cand, session, node, kind: WatchEvent::Deleted });
    cell.resign(0, 20_000);
    cell.inject(FaultKind::Resign, 1, &[0], 40_000, None);
    let node = cell.node(0, 1);
    cell.revoke(0, 1, 40_001, RevokeReason::Resigned);
    cell.left(0, 1, 40_004, Departure::Resigned { delete: Some((ms(40_002), ms(40_003))) });
    cell.notify(0, 2, &node, 40_003);
    cell.lead(0, 2, 40_005);
    let summary = cell.summary();
    assert_eq!((summary.fan_out.woken, check(&summary, "fan-out").verdict), (Some((1, 1, 2)), Fail));
}

#[test]
fn what_happens_beside_a_snapshot_of_the_servers_may_be_on_either_side_of_it() {
    let verdict = |at: u64, differ: i64| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
        cell.notify(0, 2, "n_x", at);
        cell.servers_differ = differ;
        cell.verdict("servers")
    };
    // The first snapshot is taken at 10 s.
    assert_eq!((verdict(10_100, 0), verdict(10_100, -1)), (Pass, Pass));
    assert_eq!((verdict(20_000, 0), verdict(20_000, -1)), (Pass, Inconclusive));
}

#[test]
fn sessions_with_different_timeouts_are_inconclusive() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
    let (t, connect_ns) = (ms(2_000), ms(5));
    cell.host(0).push(Event::Session { t, session: 9, timeout_ms: 6_000, asked_ms: 4_000, connect_ns });
    let summary = cell.summary();
    assert_eq!((summary.timeout_ms, check(&summary, "enrolment").verdict), (Some(4_000), Inconclusive));
}

#[test]
fn a_successor_that_never_wrote_in_its_term_stays_in_act_as_censored() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
    cell.inject(FaultKind::Expire, 0, &[0], 20_000, None);
    cell.revoke(0, 0, 20_001, RevokeReason::SessionEnded);
    cell.believe(0, 1, 20_010);
    cell.revoke(0, 1, 20_020, RevokeReason::SteppedDown);
    cell.write(0, 1, 20_500);
    cell.believe(0, 1, 21_000);
    let summary = cell.summary();
    let act = summary.failover.act.expect("it is counted");
    assert_eq!((summary.failover.whole.map(|f| f.n), act.n, act.censored), (Some(1), 0, 1));
}

#[test]
fn a_group_whose_candidates_were_all_killed_by_plan_has_no_leader_and_that_is_no_failure() {
    let killed = |hosts: &[u16]| {
        let mut cell = Cell::new("predecessor-watch", 1, 2, FaultKind::Crash);
        for &host in hosts {
            let id = cell.fault(FaultKind::Crash, host, &[0], 20_000, None);
            cell.verification(id, VerificationStage::Injected, 20_000, true, Vec::new());
            cell.kill(host, 20_000);
        }
        cell.summary()
    };
    let all = killed(&[0, 1]);
    let liveness = check(&all, "liveness");
    assert_eq!(liveness.verdict, Inconclusive);
    assert!(liveness.reason().contains("all of its candidates were killed, by plan"), "{}", liveness.reason());
    assert_eq!(check(&killed(&[0]), "liveness").verdict, Fail, "the other one never took over");
}
