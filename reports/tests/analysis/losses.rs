//! Which of the faults on a leader cost it the lead, and which losses count.

use crate::*;

/// Whole failovers: their number, and the longest.
fn failovers(summary: &CellSummary) -> (u64, Nanos) {
    summary.failover.whole.as_ref().map_or((0, 0), |whole| (whole.n, whole.max))
}

fn state(cell: &mut Cell, host: u16, at: u64, state: SessionState) {
    let session = cell.session(0, host);
    cell.host(host).push(Event::State { t: ms(at), session, state });
}

/// The leader on host 0 loses its connection at 20 s, and has another one at `back`; its session lives.
fn disconnected(back: u64) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Disconnect);
    cell.inject(FaultKind::Disconnect, 0, &[0], 20_000, None);
    state(&mut cell, 0, 20_001, SessionState::Disconnected);
    state(&mut cell, 0, back, SessionState::Connected);
    cell
}

/// A fault on host 0 that lasts from 20 s to `healed`.
fn lasting(kind: FaultKind, healed: u64) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, kind);
    cell.lasting(kind, 0, &[0], (20_000, healed));
    cell
}

#[test]
fn a_resignation_after_a_fault_that_the_leader_outlived_counts_from_the_end_of_belief() {
    for (mut cell, name) in [
        (disconnected(20_050), "disconnect"),
        (lasting(FaultKind::Partition, 20_900), "partition"),
        (lasting(FaultKind::Pause, 20_900), "pause"),
        (lasting(FaultKind::Slow, 20_900), "slow"),
    ] {
        cell.resign(0, 21_500);
        let summary = cell.summary();
        assert_eq!((summary.handovers.completed, summary.handovers.survived), (1, 1), "{name}");
        assert_eq!(failovers(&summary), (1, ms(4) + 10_000), "{name}");
    }
}

#[test]
fn a_resignation_whose_deletion_was_answered_is_its_own_whatever_was_under_way() {
    // The leader has no connection from the disconnect on until it deletes its znode.
    let mut cell = disconnected(21_501);
    cell.resign(0, 21_500);
    let summary = cell.summary();
    assert_eq!((summary.handovers.completed, summary.handovers.survived), (1, 1));
    assert_eq!(failovers(&summary), (1, ms(4) + 10_000));
}

#[test]
fn a_crash_after_a_fault_that_the_leader_outlived_is_the_crash_s() {
    for (mut cell, name) in [
        (disconnected(20_050), "disconnect"),
        (lasting(FaultKind::Partition, 21_000), "partition"),
        (lasting(FaultKind::Pause, 21_000), "pause"),
    ] {
        cell.crash(22_000, 300);
        let summary = cell.summary();
        assert_eq!((summary.handovers.completed, summary.handovers.survived), (1, 1), "{name}");
        assert_eq!(failovers(&summary), (1, ms(T - 500 + 300 + 2) + 10_000), "{name}");
    }
}

#[test]
fn of_two_disconnects_the_second_one_costs_the_lead_where_the_first_one_was_outlived() {
    let second = |first_back: u64| {
        let mut cell = disconnected(first_back);
        cell.inject(FaultKind::Disconnect, 0, &[0], 22_000, None);
        state(&mut cell, 0, 22_001, SessionState::Disconnected);
        cell.revoke(0, 0, 24_000, RevokeReason::SteppedDown);
        cell.lead(0, 1, 26_500);
        let summary = cell.summary();
        (failovers(&summary), summary.handovers.survived)
    };
    assert_eq!(second(20_050), ((1, ms(4_500) + 10_000), 1));
    assert_eq!(second(22_000 + 3), ((1, ms(6_500) + 10_000), 0), "still without a connection when the second one came");
}

/// The leader on host 0 is stopped for longer than T, and killed just after it continues. From 24.3 s on, ZooKeeper
/// reports no owner of the lead, or still this one.
fn stopped_for_longer_than_t(gone: bool) -> Cell {
    let mut cell = lasting(FaultKind::Pause, 26_000);
    cell.inject(FaultKind::Crash, 0, &[0], 26_050, None);
    cell.kill(0, 26_050);
    if gone {
        let (from, to, group) = (ms(24_299), ms(24_300), 0);
        cell.observer.push(Event::Owner(Box::new(LeadOwner {
            from,
            to,
            group,
            session: None,
            node: None,
            czxid: None,
        })));
    }
    cell.lead(0, 1, 30_500);
    cell
}

#[test]
fn a_crash_of_a_leader_whose_session_had_gone_in_a_pause_is_the_pause_s_loss() {
    assert_eq!(failovers(&stopped_for_longer_than_t(true).summary()), (1, ms(10_500) + 10_000));
    assert_eq!(failovers(&stopped_for_longer_than_t(false).summary()), (1, ms(4_450) + 10_000));
}

#[test]
fn what_the_observer_did_not_see_proves_no_survival() {
    let mut cell = stopped_for_longer_than_t(false);
    for (t, connected) in [(900, true), (15_000, false), (27_000, true)] {
        cell.observer.push(Event::ObserverState { t: ms(t), connected });
    }
    assert_eq!(failovers(&cell.summary()), (1, ms(10_500) + 10_000));
}

#[test]
fn an_answered_resignation_is_a_handover_though_the_same_incarnation_leads_again_after_a_fault() {
    for (mut cell, name) in [
        (disconnected(20_050), "disconnect"),
        (disconnected(21_501), "disconnect, back just in time"),
        (lasting(FaultKind::Partition, 20_900), "partition"),
    ] {
        cell.inject(FaultKind::Resign, 0, &[0], 21_500, None);
        cell.revoke(0, 0, 21_501, RevokeReason::Resigned);
        cell.left(0, 0, 21_504, Departure::Resigned { delete: Some((ms(21_503), ms(21_504))) });
        cell.renew(0, 0);
        cell.lead(0, 0, 21_704);
        let summary = cell.summary();
        let handovers = summary.handovers;
        assert_eq!((handovers.completed, handovers.retaken, handovers.survived), (1, 1, 1), "{name}");
        assert_eq!(failovers(&summary), (1, ms(203) + 10_000), "{name}");
    }
}

/// The leader survives a disconnect, or does not get its connection back before it loses the lead at `lost`.
fn lost_after_a_disconnect(back: u64, lost: u64) -> (u64, u64, u64) {
    let mut cell = disconnected(back);
    cell.revoke(0, 0, lost, RevokeReason::SessionEnded);
    cell.lead(0, 1, lost + 10);
    let handovers = cell.summary().handovers;
    (handovers.completed, handovers.survived, handovers.unplanned)
}

#[test]
fn a_lead_that_is_lost_for_nothing_after_an_outlived_fault_is_not_explained_by_it() {
    assert_eq!(lost_after_a_disconnect(20_050, 23_000), (0, 1, 1));
    assert_eq!(lost_after_a_disconnect(20_050, 20_000 + T / 2 - 100), (1, 0, 0), "within T/2 nobody can tell");
    assert_eq!(lost_after_a_disconnect(22_950, 23_000), (1, 0, 0), "it came back just before");
}

/// A znode that was given up without an order: the same incarnation leads again with another one.
fn enrols_again(fault: Option<FaultKind>) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 1, fault.unwrap_or(FaultKind::None));
    if let Some(kind) = fault {
        cell.inject(kind, 0, &[0], 20_000, None);
    }
    cell.revoke(0, 0, 20_001, RevokeReason::SteppedDown);
    let (cand, session, term, czxid, node) = (cell.cand(0, 0), cell.session(0, 0), 2, 900, "n_0000000900".to_owned());
    cell.host(0).extend([
        Event::Joined { t: ms(20_050), cand, session, node: Some(node.clone()), czxid: Some(czxid) },
        Event::Settled { t: ms(20_060), cand, session, requests: 2 },
        Event::Grant { t: ms(20_060), cand, session, term, czxid, node },
        Event::Granted { t: ms(20_061), cand, session, term },
        Event::Revoke { from: ms(90_000), to: ms(90_001), cand, session, term, reason: RevokeReason::Resigned },
    ]);
    cell
}

#[test]
fn a_lead_whose_znode_its_own_incarnation_gave_up_was_lost() {
    let handovers = enrols_again(Some(FaultKind::Disconnect)).summary().handovers;
    assert_eq!((handovers.completed, handovers.retaken, handovers.survived), (1, 1, 0));
    let handovers = enrols_again(None).summary().handovers;
    assert_eq!((handovers.completed, handovers.unplanned), (0, 1));
}

/// The result of the check of handovers where none are allowed.
fn where_none_may_be(mut cell: Cell) -> (hustings_reports::verdict::Verdict, u64) {
    cell.info.expect.handovers = Some(Expectation::None);
    cell.info.expect.unplanned = Expectation::Any;
    let summary = cell.summary();
    (check(&summary, "handovers").verdict, summary.handovers.explained)
}

/// A reset connection of a follower, which then leads and steps down while its session lives on.
fn explained() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Disconnect);
    cell.inject(FaultKind::Disconnect, 1, &[0], 20_000, None);
    // Host 0 releases the lead by itself: this test does not judge that change.
    cell.revoke(0, 0, 11_000, RevokeReason::SteppedDown);
    cell.lead(0, 1, 20_005);
    cell.revoke(0, 1, 20_100, RevokeReason::SteppedDown);
    cell.lead(0, 2, 20_200);
    cell
}

#[test]
fn where_no_lead_may_be_lost_an_explained_loss_counts_as_any_other() {
    assert_eq!(explained().summary().handovers.explained, 1);
    assert_eq!(where_none_may_be(explained()), (Fail, 1));
    // Only one of the changes.
    let alone = |verified: bool| {
        let mut cell = explained();
        cell.believe(0, 1, 11_001);
        let id = cell.fault(FaultKind::Disconnect, 0, &[0], 11_000, None);
        cell.verification(id, VerificationStage::Injected, 11_000, verified, Vec::new());
        cell
    };
    assert_eq!(where_none_may_be(alone(true)).0, Fail);
    assert_eq!(where_none_may_be(Cell::new("predecessor-watch", 1, 3, FaultKind::None)).0, Pass);
    assert_eq!(where_none_may_be(enrols_again(Some(FaultKind::Disconnect))).0, Fail);
}

#[test]
fn where_no_lead_may_be_lost_what_only_an_unverified_fault_could_explain_is_inconclusive() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Disconnect);
    let id = cell.fault(FaultKind::Disconnect, 0, &[0], 20_000, None);
    cell.verification(id, VerificationStage::Injected, 20_000, false, Vec::new());
    cell.revoke(0, 0, 20_001, RevokeReason::SteppedDown);
    cell.lead(0, 1, 20_100);
    assert_eq!(where_none_may_be(cell), (Inconclusive, 0));
}

#[test]
fn where_no_lead_may_be_lost_a_stall_of_the_harness_is_compared_with_nobody() {
    let lost = |stall: (u64, u64)| {
        let mut cell = lasting(FaultKind::Partition, 20_900);
        cell.host(0).push(Event::Stall { from: ms(stall.0), to: ms(stall.1), ran_ns: 0, program: false });
        cell.revoke(0, 0, 22_000, RevokeReason::SteppedDown);
        cell.lead(0, 1, 25_000);
        where_none_may_be(cell).0
    };
    assert_eq!(lost((21_000, 21_900)), Inconclusive);
    assert_eq!(lost((12_000, 12_900)), Fail);
}

#[test]
fn where_no_lead_may_be_lost_a_stall_explains_no_loss_of_a_leader_that_kept_its_connection() {
    let lost = |mut cell: Cell| {
        cell.host(0).push(Event::Stall { from: ms(28_000), to: ms(29_500), ran_ns: 0, program: false });
        where_none_may_be(cell).0
    };
    assert_eq!((lost(false_failover()), lost(cut_off_failover())), (Fail, Inconclusive));
}

#[test]
fn a_death_that_no_verification_verifies_is_not_unplanned() {
    for at in [20_000, 20_400] {
        let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Crash);
        cell.crash(at, 300);
        for event in &mut cell.coordinator {
            if let Event::Verification(verification) = event {
                verification.verified = false;
            }
        }
        let summary = cell.summary();
        let handovers = summary.handovers;
        assert_eq!((handovers.planned, handovers.unplanned, handovers.unverified), (0, 0, 2));
        assert_eq!(check(&summary, "handovers").verdict, Inconclusive);
    }
}

#[test]
fn an_unverified_fault_on_servers_excuses_no_lost_lead_and_accuses_nobody() {
    let lost = |fault: Option<bool>, expected: Expectation| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::ServerKill);
        if let Some(verified) = fault {
            let id = cell.fault(FaultKind::ServerKill, 0, &[], 20_000, Some(10_000));
            cell.verification(id, VerificationStage::Injected, 20_000, verified, Vec::new());
            cell.healed(id, 30_000);
            for event in &mut cell.coordinator {
                if let Event::Fault(fault) = event {
                    (fault.hosts, fault.servers) = (Vec::new(), vec![1]);
                }
            }
        }
        cell.info.expect.unplanned = expected;
        state(&mut cell, 0, 20_100, SessionState::Disconnected);
        cell.revoke(0, 0, 20_200, RevokeReason::SteppedDown);
        cell.lead(0, 1, 22_000);
        let summary = cell.summary();
        assert_eq!(summary.handovers.unplanned, 1);
        check(&summary, "handovers").verdict
    };
    assert_eq!(lost(Some(true), Expectation::Excused), Pass);
    assert_eq!(lost(Some(false), Expectation::Excused), Inconclusive);
    assert_eq!(lost(None, Expectation::Excused), Fail);
    assert_eq!(lost(Some(false), Expectation::None), Fail, "whether it was or not");
}

#[test]
fn a_lost_reply_meets_those_leaders_alone_whose_own_answer_was_held_back() {
    let survived = |recorded: bool| {
        let mut cell = Cell::new("predecessor-watch", 3, 3, FaultKind::LostReply);
        let id = cell.fault(FaultKind::LostReply, 0, &[0, 1, 2], 20_000, Some(1_000));
        cell.injected(id, 20_010);
        cell.healed(id, 20_900);
        let replies = [cell.czxid(1, 0), cell.czxid(2, 1)].map(|zxid| {
            let path = "/election/group/node".to_owned();
            WithheldReply { at: ms(20_010), xid: 1, path, zxid }
        });
        for event in &mut cell.coordinator {
            if let Event::Verification(verification) = event
                && verification.stage == VerificationStage::Injected
            {
                verification.seen =
                    recorded.then(|| Box::new(Evidence::Lost { hosts: vec![0], replies: replies.to_vec() }));
            }
        }
        cell.summary().handovers.survived
    };
    assert_eq!(survived(true), 1);
    assert_eq!(survived(false), 3, "whom it befell is not recorded");
}

#[test]
fn a_lead_that_had_gone_is_met_by_nobody_though_its_successor_owns_it_from_that_very_moment_on() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::LostReply);
    let id = cell.fault(FaultKind::LostReply, 0, &[0], 19_900, Some(1_000));
    cell.injected(id, 20_010);
    cell.healed(id, 20_900);
    cell.revoke(0, 0, 20_001, RevokeReason::SteppedDown);
    for (at, owns) in [(20_005, false), (20_010, true)] {
        let (session, czxid) = (owns.then(|| cell.session(0, 1)), owns.then(|| cell.czxid(0, 1)));
        let (from, to, group) = (ms(at), ms(at), 0);
        cell.observer.push(Event::Owner(Box::new(LeadOwner { from, to, group, session, node: None, czxid })));
    }
    cell.believe(0, 1, 20_020);
    let handovers = cell.summary().handovers;
    assert_eq!((handovers.planned, handovers.explained), (0, 1));
}
