//! Faults that coincide with each other, or with a belief that is already over: their cost, and what they excuse.

use crate::*;

#[test]
fn whoever_runs_in_the_place_of_a_stopped_process_was_never_stopped() {
    let overlap = |killed: bool| {
        let mut cell = pause(30_005, &[]);
        // Host 1 was once stopped for long, and has led beside host 0 since.
        let id = cell.inject(FaultKind::Pause, 1, &[0], 8_000, Some(32_000));
        if killed {
            let status = "signal: 9".to_owned();
            let (t, host, generation, killed, rss_max_kb) = (ms(9_000), 1, 7, true, 1);
            cell.coordinator.push(Event::HostEnded { t, host, generation, killed, status, rss_max_kb });
        }
        cell.healed(id, 40_000);
        cell.summary().split_brain.active.seen
    };
    assert_eq!((overlap(false), overlap(true)), (0, 1));
}

#[test]
fn an_order_that_was_under_way_when_its_candidate_came_to_stand_excuses_it_too() {
    let overlap = |stands: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
        cell.resign(0, 19_000);
        let id = cell.fault(FaultKind::Expire, 0, &[0], 20_000, None);
        cell.verification(id, VerificationStage::Injected, 20_050, true, Vec::new());
        cell.join(0, 0, stands);
        // Host 1 leads, and host 0 beside it.
        cell.believe(0, 0, stands + 1);
        cell.revoke(0, 0, stands + T / 10, RevokeReason::SessionEnded);
        let split = cell.summary().split_brain;
        (split.active.seen, split.excused.forced)
    };
    assert_eq!(overlap(20_040), (1, 1));
    assert_eq!(overlap(20_060), (1, 0), "it came to stand when all was over");
}

#[test]
fn a_leader_hit_again_and_again_was_lost_to_the_first_fault_that_it_did_not_outlive() {
    let lost = |second: Option<(u64, u64)>| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Pause);
        let mut stop = |from: u64, for_ms: u64, kind| {
            cell.lasting(kind, 0, &[0], (from, from + for_ms));
        };
        stop(20_000, 100, FaultKind::Partition);
        second.into_iter().for_each(|(from, for_ms)| stop(from, for_ms, FaultKind::Pause));
        stop(26_000, 100, FaultKind::Partition);
        cell.lead(0, 1, 26_500);
        cell.revoke(0, 0, 29_000, RevokeReason::SteppedDown);
        cell.summary().failover.whole.expect("a failover").max / ms(1)
    };
    assert_eq!(lost(None), 500, "the first one was over long ago");
    assert_eq!(lost(Some((20_050, 8_000))), 6_450, "it was stopped from then on");
}

#[test]
fn what_hits_a_believer_whose_znode_had_gone_costs_no_lead() {
    let planned = |hit: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Pause);
        cell.own(0, 1, 20_000);
        cell.lasting(FaultKind::Pause, 0, &[0], (hit, hit + 100));
        cell.believe(0, 1, 20_020);
        cell.revoke(0, 0, 20_015, RevokeReason::Deposed);
        cell.summary().handovers.planned
    };
    assert_eq!((planned(19_990), planned(20_010)), (1, 0));
}

#[test]
fn a_stopped_process_that_believes_on_waking_beside_its_successor_is_no_handover() {
    let counted = |lasts: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Pause);
        cell.lasting(FaultKind::Pause, 1, &[0], (20_000, 30_000));
        cell.believe(0, 1, 30_001);
        cell.revoke(0, 1, 30_000 + lasts, RevokeReason::SessionEnded);
        let handovers = cell.summary().handovers;
        (handovers.unplanned, handovers.excused)
    };
    assert_eq!(counted(T / 5 - 5), (1, 1));
    assert_eq!(counted(T / 5 + 5), (1, 0));
}
