//! Wake-ups of every kind, by the losses of leaders and of followers, and the requests that they cause.

use crate::*;

const NAME: &str = "fan-out";

/// The leader resigns and its successor is notified, as is correct; then the additions of `besides`.
pub(crate) fn resigned(recipe: &str, besides: impl FnOnce(&mut Cell)) -> Cell {
    let mut cell = Cell::new(recipe, 1, 5, FaultKind::Resign);
    cell.resign(0, 20_000);
    besides(&mut cell);
    cell
}

/// A follower resigns.
pub(crate) fn follower_resigns(recipe: &str, host: u16, woken: &[u16]) -> Cell {
    let mut cell = Cell::new(recipe, 1, 5, FaultKind::Resign);
    let id = cell.fault(FaultKind::Resign, host, &[0], 20_000, None);
    if let Some(Event::Fault(fault)) = cell.coordinator.last_mut() {
        // Its target is not a leader.
        fault.groups.clear();
    }
    cell.injected(id, 20_000);
    let node = cell.node(0, host);
    cell.left(0, host, 20_004, Departure::Resigned { delete: Some((ms(20_002), ms(20_003))) });
    woken.iter().for_each(|&other| cell.notify(0, other, &node, 20_003));
    cell
}

#[test]
fn wake_ups_by_every_kind_of_watch_count() {
    for (kind, node) in
        [(WatchEvent::ChildrenChanged, "g0"), (WatchEvent::DataChanged, "n_x"), (WatchEvent::Created, "lock")]
    {
        let summary = resigned("predecessor-watch", |cell| cell.tell(0, 3, node, 20_010, kind, 1)).summary();
        assert_eq!(check(&summary, NAME).verdict, Fail, "{kind:?}");
        assert_eq!((summary.fan_out.woken, summary.fan_out.of_other_kinds), (Some((2, 2, 2)), 1), "{kind:?}");
    }
}

#[test]
fn deletions_of_what_nobody_stood_by_count_unless_a_create_may_have_been_lost() {
    let marker = |cell: &mut Cell| cell.notify(0, 3, "marker", 20_010);
    assert_eq!(resigned("predecessor-watch", marker).verdict(NAME), Fail);
    let lose_touch = |cell: &mut Cell, session: i64, at: u64| {
        cell.reconnects(4, session, (at, at + 20));
    };
    // An enrolled candidate creates nothing.
    let enrolled = resigned("predecessor-watch", |cell| {
        let session = cell.session(0, 4);
        lose_touch(cell, session, 19_000);
        marker(cell);
    });
    assert_eq!(enrolled.verdict(NAME), Fail);
    // From the beginning of its life until it is enrolled, it may have created a znode without receiving the answer.
    let enrolling = |at: u64| {
        let cell = resigned("predecessor-watch", |cell| {
            let (cand, session) = (cell.cand(0, 4), 77);
            cell.left(0, 4, 12_000, Departure::SessionEnded(SessionEnd::Expired));
            cell.host(4).push(Event::Incarnation { t: ms(12_100), cand, session });
            lose_touch(cell, session, 12_200);
            let (node, czxid) = (Some("n_0000000177".to_owned()), Some(177));
            cell.host(4).push(Event::Joined { t: ms(at), cand, session, node, czxid });
            cell.host(4).push(Event::Settled { t: ms(at), cand, session, requests: 2 });
            marker(cell);
        });
        check(&cell.summary(), NAME).details.iter().any(|line| line.contains("notifications not counted"))
    };
    assert!(enrolling(20_050) && !enrolling(13_000));
    // A candidate that is notified that its znode is gone creates another one.
    let deposed = |loses_touch: bool| {
        let cell = resigned("predecessor-watch", |cell| {
            let (node, session) = (cell.node(0, 4), cell.session(0, 4));
            cell.notify(0, 4, &node, 19_500);
            if loses_touch {
                lose_touch(cell, session, 19_600);
            }
            marker(cell);
        });
        check(&cell.summary(), NAME).details.iter().any(|line| line.contains("notifications not counted"))
    };
    assert!(deposed(true) && !deposed(false));
}

#[test]
fn who_is_woken_twice_by_one_loss_counts_twice() {
    let again = |cell: &mut Cell| {
        let lost = "n_0000000101";
        assert!(cell.host(0).iter().any(|e| matches!(e, Event::Grant { node, .. } if node == lost)));
        cell.notify(0, 1, lost, 20_004);
    };
    let summary = resigned("predecessor-watch", again).summary();
    assert_eq!((summary.fan_out.woken, check(&summary, NAME).verdict), (Some((2, 2, 2)), Fail));
    let created = |cell: &mut Cell| (2..5).for_each(|host| cell.tell(0, host, "lock", 20_006, WatchEvent::Created, 2));
    let summary = resigned("lock-race", created).summary();
    assert_eq!((summary.fan_out.woken, check(&summary, NAME).verdict), (Some((7, 7, 7)), Fail));
}

#[test]
fn what_a_reconnect_tells_again_is_not_counted() {
    let cell = resigned("lock-race", |cell| {
        cell.reconnects(3, cell.session(0, 3), (20_500, 21_000));
        cell.tell(0, 3, "lock", 21_001, WatchEvent::DataChanged, 1);
    });
    let summary = cell.summary();
    assert_eq!((summary.fan_out.woken, check(&summary, NAME).verdict), (Some((4, 4, 4)), Pass));
}

#[test]
fn what_a_reconnect_tells_again_is_not_counted_when_a_stopped_process_hears_it_late() {
    let woken = |is_stopped: bool| {
        let cell = resigned("lock-race", |cell| {
            cell.reconnects(3, cell.session(0, 3), (20_500, 21_000));
            if is_stopped {
                cell.lasting(FaultKind::Pause, 3, &[], (21_001, 21_900));
            }
            cell.tell(0, 3, "lock", 21_910, WatchEvent::DataChanged, 1);
        });
        cell.summary().fan_out.woken
    };
    assert_eq!(woken(true), Some((4, 4, 4)));
    assert_eq!(woken(false), Some((5, 5, 5)));
}

#[test]
fn the_loss_of_a_follower_wakes_whom_the_recipe_declares() {
    let verdict = |recipe: &str, host: u16, woken: &[u16]| {
        let summary = follower_resigns(recipe, host, woken).summary();
        assert_eq!(summary.fan_out.followers.losses, 1, "{recipe}");
        check(&summary, NAME).verdict
    };
    assert_eq!(verdict("predecessor-watch", 2, &[3]), Pass);
    assert_eq!(verdict("predecessor-watch", 2, &[3, 4]), Fail);
    assert_eq!(verdict("predecessor-watch", 2, &[]), Fail, "whoever is behind it watches it");
    assert_eq!(verdict("predecessor-watch", 4, &[]), Pass, "nobody is behind it");
    assert_eq!(verdict("naive", 2, &[]), Pass);
    assert_eq!(verdict("naive", 2, &[3]), Fail);
}

#[test]
fn a_follower_that_dies_wakes_one_by_the_time_that_its_session_has_expired() {
    let crashed = |told: Option<u64>| {
        let mut cell = Cell::new("predecessor-watch", 1, 5, FaultKind::Crash);
        cell.inject(FaultKind::Crash, 2, &[], 20_000, None);
        let node = cell.node(0, 2);
        cell.kill(2, 20_000);
        told.into_iter().for_each(|at| cell.notify(0, 3, &node, at));
        cell.verdict(NAME)
    };
    assert_eq!(crashed(Some(24_500)), Pass);
    assert_eq!(crashed(None), Fail);
}

#[test]
fn who_is_woken_before_anybody_has_gone_is_woken_for_nothing() {
    let joins = |cell: &mut Cell| cell.tell(0, 1, "g0", 12_000, WatchEvent::ChildrenChanged, 1);
    let summary = resigned("predecessor-watch", joins).summary();
    assert_eq!((summary.fan_out.without_loss, check(&summary, NAME).verdict), (1, Fail));
}

/// The successor of a resigning leader sends this many requests.
pub(crate) fn asks(requests: u32) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 5, FaultKind::Resign);
    cell.resign(0, 20_000);
    for event in cell.host(1) {
        match event {
            Event::Settled { t, requests: sent, .. } if *t > ms(20_000) => *sent = requests,
            _ => {}
        }
    }
    cell
}

#[test]
fn a_wake_up_causes_no_more_requests_than_the_recipe_declares() {
    let summary = asks(3).summary();
    assert_eq!((summary.fan_out.requests_per_wake, summary.fan_out.requests_promised), (Some(3), Some(2)));
    assert_eq!(check(&summary, NAME).verdict, Fail);
    assert_eq!(asks(2).verdict(NAME), Pass);
}

#[test]
fn what_was_not_recorded_is_said() {
    let mut cell = asks(3);
    cell.info.declared = None;
    let summary = cell.summary();
    let found = check(&summary, NAME);
    assert_eq!((found.verdict, summary.fan_out.requests_promised), (Pass, None));
    assert!(found.details.iter().any(|line| line.starts_with("not recorded: ")), "{:?}", found.details);
}

#[test]
fn watches_of_every_kind_are_compared_with_the_servers_counters() {
    let verdict = |kind: &'static str, differ: i64| -> Verdict {
        let mut cell = resigned("naive", |_| {});
        cell.differs_of.insert(kind, differ);
        cell.verdict("servers")
    };
    for kind in ["changed", "children", "created"] {
        assert_eq!(verdict(kind, 0), Pass, "{kind}");
        assert_eq!(verdict(kind, 5), Inconclusive, "{kind}");
    }
}

#[test]
fn what_the_observer_missed_is_not_compared() {
    let mut cell = resigned("naive", |_| {});
    for (t, connected) in [(900, true), (30_000, false), (30_100, true)] {
        cell.observer.push(Event::ObserverState { t: ms(t), connected });
    }
    assert_eq!(cell.verdict("servers"), Inconclusive);
}

#[test]
fn the_lock_of_somebody_who_never_believed_is_no_part_of_the_loss_before() {
    let woken = |seen: bool| {
        let mut cell = Cell::new("lock-race", 1, 4, FaultKind::Resign);
        cell.inject(FaultKind::Resign, 0, &[0], 20_000, None);
        cell.revoke(0, 0, 20_001, RevokeReason::Resigned);
        cell.left(0, 0, 20_004, Departure::Resigned { delete: Some((ms(20_002), ms(20_003))) });
        (1..4).for_each(|host| cell.notify(0, host, "lock", 20_003));
        // Host 1 takes the lock, and loses it before it believes.
        let winner = Some((cell.session(0, 1), 7_777));
        let owners = [(20_010, winner), (23_002, None)];
        for (at, owner) in owners.into_iter().filter(|_| seen) {
            let (session, czxid) = owner.unzip();
            let node = owner.map(|_| "lock".to_owned());
            cell.observer.push(Event::Owner(Box::new(LeadOwner {
                from: ms(at - 2),
                to: ms(at),
                group: 0,
                session,
                node,
                czxid,
            })));
        }
        [0, 2, 3].into_iter().for_each(|host| cell.notify(0, host, "lock", 23_002));
        cell.lead(0, 2, 23_005);
        for host in 0..4 {
            for event in cell.host(host) {
                if let Event::Grant { node, .. } = event {
                    "lock".clone_into(node);
                }
            }
        }
        let failover = cell.summary();
        (failover.fan_out.woken, failover.failover.spread.map(|spread| spread.max))
    };
    assert_eq!(woken(true), (Some((3, 3, 3)), Some(0)));
    assert_ne!(woken(false), woken(true), "nobody knows of it but the observer");
}

#[test]
fn what_a_leader_is_told_late_of_its_own_lock_is_nobodys_wake_up() {
    let woken = |left_at: u64| {
        let mut cell = Cell::new("lock-race", 1, 3, FaultKind::Resign);
        let (cand, session, node) = (cell.cand(0, 0), cell.session(0, 0), "lock".to_owned());
        cell.resign(0, 20_000);
        for event in cell.host(0) {
            match event {
                Event::Left { t, .. } => *t = ms(left_at),
                Event::Joined { t, .. } if *t > ms(20_000) => *t = ms(35_000),
                _ => {}
            }
        }
        cell.inject(FaultKind::Expire, 1, &[0], 30_000, None);
        cell.revoke(0, 1, 30_001, RevokeReason::SessionEnded);
        cell.notify(0, 2, "lock", 30_002);
        cell.host(0).push(Event::Notified { t: ms(30_003), cand, session, node, kind: WatchEvent::Deleted });
        cell.lead(0, 2, 30_005);
        cell.summary().fan_out.woken.map(|woken| woken.0)
    };
    // It was stopped as it left, and is notified when it continues.
    assert_eq!(woken(30_004), Some(1));
    assert_eq!(woken(20_004), Some(2), "it had left long before: this is of the other's lock");
}

#[test]
fn a_lock_that_another_one_has_was_lost_however_long_its_last_owner_believed() {
    let found = |named: bool| {
        let mut cell = Cell::new("lock-race", 1, 4, FaultKind::Pause);
        let id = cell.inject(FaultKind::Pause, 0, &[0], 20_000, Some(15_000));
        cell.believe(0, 1, 32_000);
        if named {
            cell.own(0, 1, 32_000);
        }
        cell.healed(id, 35_000);
        cell.revoke(0, 0, 35_001, RevokeReason::SessionEnded);
        let summary = cell.summary();
        (summary.fan_out.losses, check(&summary, NAME).verdict)
    };
    assert_eq!(found(true), (1, Fail), "nobody was woken");
    assert_eq!(found(false), (0, Inconclusive), "nobody knows whether the lock has gone");
}

#[test]
fn whoever_leaves_by_order_at_the_tear_down_had_to_be_where_it_was_until_then() {
    let herd = |cell: &mut Cell| {
        (2..5).for_each(|host| cell.notify(0, host, "n_0000000101", 20_004));
        (1..5).for_each(|host| cell.left(0, host, TEAR_DOWN + 10, Departure::Stopped));
    };
    let summary = resigned("predecessor-watch", herd).summary();
    let found = check(&summary, NAME);
    assert_eq!((found.verdict, summary.fan_out.promised), (Fail, Some((1, 1))), "{:?}", found.details);
    let alone = |cell: &mut Cell| (1..5).for_each(|host| cell.left(0, host, TEAR_DOWN + 10, Departure::Stopped));
    assert_eq!(resigned("predecessor-watch", alone).verdict(NAME), Pass);
}

/// The recipe declares that every loss wakes the next two in line.
fn wakes_two(cell: &mut Cell) {
    let declared = cell.info.declared.as_mut().expect("a recipe");
    (declared.leader_wakes, declared.follower_wakes) = (FanOut::Two, FanOut::Two);
    cell.info.expect.fan_out = Some(FanOut::Two);
}

#[test]
fn where_the_next_two_in_line_are_to_be_woken_one_is_too_few_and_three_are_too_many() {
    let of_leader = |others: &[u16]| {
        let mut cell = Cell::new("predecessor-watch", 1, 5, FaultKind::Resign);
        wakes_two(&mut cell);
        let node = cell.node(0, 0);
        cell.resign(0, 20_000);
        others.iter().for_each(|&other| cell.notify(0, other, &node, 20_003));
        cell.verdict(NAME)
    };
    assert_eq!([of_leader(&[]), of_leader(&[2]), of_leader(&[2, 3])], [Fail, Pass, Fail]);
    let of_follower = |host: u16, woken: &[u16]| {
        let mut cell = follower_resigns("predecessor-watch", host, woken);
        wakes_two(&mut cell);
        cell.verdict(NAME)
    };
    assert_eq!([of_follower(1, &[2]), of_follower(1, &[2, 3]), of_follower(1, &[2, 3, 4])], [Fail, Pass, Fail]);
    // Only one candidate follows the last but one.
    assert_eq!([of_follower(3, &[]), of_follower(3, &[4])], [Fail, Pass]);
}

#[test]
fn of_the_next_two_in_line_the_one_that_cannot_be_told_is_not_demanded() {
    let woken = |others: &[u16]| {
        let mut cell = Cell::new("predecessor-watch", 1, 5, FaultKind::Resign);
        wakes_two(&mut cell);
        let (node, session) = (cell.node(0, 0), cell.session(0, 2));
        cell.reconnects(2, session, (19_900, 21_000));
        cell.resign(0, 20_000);
        others.iter().for_each(|&other| cell.notify(0, other, &node, 20_003));
        cell.verdict(NAME)
    };
    assert_eq!([woken(&[]), woken(&[2]), woken(&[3, 4])], [Pass, Pass, Fail]);
}

#[test]
fn a_candidate_that_is_told_twice_was_woken_twice_and_lies_no_further_from_itself() {
    let mut cell = Cell::new("naive", 1, 2, FaultKind::Resign);
    let node = cell.node(0, 0);
    cell.resign(0, 20_000);
    cell.notify(0, 1, &node, 20_100);
    let fan_out = cell.summary().fan_out;
    assert_eq!((fan_out.woken, fan_out.spread), (Some((2, 2, 2)), None));
}

/// The leader loses its session at 30 s though nothing is done to it, these are notified, and host 1 leads.
fn lost_for_nothing(recipe: &str, woken: &[u16]) -> Cell {
    let mut cell = Cell::new(recipe, 1, 5, FaultKind::None);
    cell.info.expect.unplanned = Expectation::Any;
    let node = cell.node(0, 0);
    cell.revoke(0, 0, 30_000, RevokeReason::SessionEnded);
    cell.left(0, 0, 30_001, Departure::SessionEnded(SessionEnd::Expired));
    woken.iter().for_each(|&host| cell.notify(0, host, &node, 30_002));
    cell
}

#[test]
fn a_loss_without_a_fault_wakes_whom_the_recipe_declares() {
    let found = |recipe: &str, woken: &[u16]| {
        let mut cell = lost_for_nothing(recipe, woken);
        cell.lead(0, 1, 30_005);
        let summary = cell.summary();
        assert_eq!((summary.handovers.unplanned, summary.handovers.planned), (1, 0), "{recipe}");
        assert_eq!((summary.fan_out.losses, &summary.fan_out.spread), (1, &None), "{recipe}: no fault, no spread");
        (summary.fan_out.woken.map(|woken| woken.2), check(&summary, NAME).verdict)
    };
    assert_eq!(found("predecessor-watch", &[1]), (Some(1), Pass));
    assert_eq!(found("predecessor-watch", &[1, 2, 3, 4]), (Some(4), Fail), "a herd");
    assert_eq!(found("predecessor-watch", &[]), (Some(0), Fail), "the observer saw the znode go");
    for recipe in ["naive", "lock-race"] {
        assert_eq!(found(recipe, &[1, 2, 3, 4]), (Some(4), Pass), "{recipe}");
        assert_eq!(found(recipe, &[1]), (Some(1), Fail), "{recipe}");
    }
}

#[test]
fn a_wake_up_by_a_loss_without_a_fault_causes_no_more_requests_than_the_recipe_declares() {
    let verdict = |requests: u32| {
        let mut cell = lost_for_nothing("predecessor-watch", &[]);
        let node = cell.node(0, 0);
        cell.tell(0, 1, &node, 30_002, WatchEvent::Deleted, requests);
        cell.lead(0, 1, 30_005);
        cell.verdict(NAME)
    };
    assert_eq!((verdict(2), verdict(3)), (Pass, Fail));
}

#[test]
fn a_loss_that_a_fault_explains_without_having_met_the_leader_wakes_whom_the_recipe_declares() {
    let found = |woken: &[u16]| {
        let mut cell = Cell::new("predecessor-watch", 1, 5, FaultKind::Disconnect);
        cell.info.expect.unplanned = Expectation::Any;
        // Host 1 is hit as a follower, and leads a moment later.
        cell.inject(FaultKind::Disconnect, 1, &[0], 20_000, None);
        for (host, at, woken) in [(0, 20_001, &[1][..]), (1, 20_100, woken)] {
            let node = cell.node(0, host);
            cell.revoke(0, host, at, RevokeReason::SessionEnded);
            cell.left(0, host, at + 1, Departure::SessionEnded(SessionEnd::Expired));
            woken.iter().for_each(|&other| cell.notify(0, other, &node, at + 2));
            cell.lead(0, host + 1, at + 5);
        }
        let summary = cell.summary();
        assert_eq!((summary.handovers.explained, summary.fan_out.losses), (1, 2));
        (summary.fan_out.woken, check(&summary, NAME).verdict)
    };
    assert_eq!(found(&[2]), (Some((1, 1, 1)), Pass));
    assert_eq!(found(&[2, 3, 4]), (Some((1, 1, 3)), Fail));
}

#[test]
fn a_lead_that_changed_for_nothing_counts_only_where_its_znode_is_known_to_have_gone() {
    let losses = |recipe: &str, woken: &[u16], named: bool| {
        let mut cell = lost_for_nothing(recipe, woken);
        cell.believe(0, 1, 30_005);
        if named {
            cell.own(0, 1, 30_005);
        }
        cell.summary().fan_out.losses
    };
    for recipe in ["predecessor-watch", "lock-race"] {
        assert_eq!((losses(recipe, &[], true), losses(recipe, &[], false)), (1, 0), "{recipe}");
    }
    assert_eq!(losses("predecessor-watch", &[1], false), 1, "somebody was notified");
    assert_eq!(losses("lock-race", &[1, 2, 3, 4], false), 0, "of which lock, nobody knows");
}

#[test]
fn a_znode_that_went_once_is_one_loss_however_often_the_lead_seemed_to_change() {
    let mut cell = Cell::new("predecessor-watch", 1, 5, FaultKind::Resign);
    // Host 1 believes for a moment beside the leader.
    cell.believe(0, 1, 15_000);
    cell.revoke(0, 1, 15_010, RevokeReason::SteppedDown);
    cell.resign(0, 20_000);
    let summary = cell.summary();
    assert_eq!((summary.handovers.unplanned, summary.handovers.completed), (1, 1));
    assert_eq!((summary.fan_out.losses, summary.fan_out.woken), (1, Some((1, 1, 1))));
}

#[test]
fn a_lead_that_was_lost_before_the_measured_window_is_not_counted() {
    let losses = |at: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        let node = cell.node(0, 0);
        cell.revoke(0, 0, at, RevokeReason::SessionEnded);
        cell.notify(0, 1, &node, at + 2);
        cell.lead(0, 1, at + 5);
        cell.summary().fan_out.losses
    };
    assert_eq!((losses(6_000), losses(12_000)), (0, 1));
}
