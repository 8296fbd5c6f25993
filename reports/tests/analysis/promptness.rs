//! Losses that are noticed, and leads that are taken, later than promised. Also groups that stay without a leader
//! longer than their faults explain.

use crate::*;

const NAME: &str = "promptness";

/// In each group the leader resigns, and its successor is notified at once and leads this many milliseconds later.
pub(crate) fn deciding(after: &[u64]) -> Cell {
    let mut cell = Cell::new("predecessor-watch", after.len() as u32, 3, FaultKind::Resign);
    for sample in 0..10 {
        let deleted = ms(6_000 + sample * 10);
        cell.coordinator.push(Event::Floor {
            deleted,
            notified: deleted + 600_000,
            listed: deleted + 1_200_000,
            sessions: None,
        });
    }
    for (group, &after) in (0..).zip(after) {
        let at = 20_000 + u64::from(group) * 5_000;
        cell.inject(FaultKind::Resign, 0, &[group], at, None);
        let node = cell.node(group, 0);
        cell.revoke(group, 0, at + 1, RevokeReason::Resigned);
        cell.left(group, 0, at + 4, Departure::Resigned { delete: Some((ms(at + 2), ms(at + 3))) });
        cell.own(group, 1, at + 3);
        cell.wake(group, &node, at + 3);
        cell.lead(group, 1, at + 3 + after);
        cell.join(group, 0, at + 20);
    }
    cell
}

/// A follower that acts on its notification after three seconds.
pub(crate) fn sleeper() -> Cell {
    deciding(&[3_000])
}

#[test]
fn a_follower_that_sleeps_through_its_notification_breaks_the_promise() {
    let summary = sleeper().summary();
    assert_eq!((check(&summary, NAME).verdict, summary.promptness.decide.late), (Fail, 1));
    assert_eq!(deciding(&[3]).verdict(NAME), Pass);
}

#[test]
fn half_a_second_is_forgiven_once_and_not_every_time() {
    assert_eq!(deciding(&[500]).verdict(NAME), Pass);
    assert_eq!(deciding(&[500, 3, 3, 500]).verdict(NAME), Pass);
    assert_eq!(deciding(&[500, 500, 3, 500]).verdict(NAME), Fail);
}

#[test]
fn what_a_stall_of_the_harness_covers_is_void() {
    let mut cell = sleeper();
    cell.host(1).push(Event::Stall { from: ms(20_050), to: ms(22_990), ran_ns: 0, program: false });
    let summary = cell.summary();
    assert_eq!((check(&summary, NAME).verdict, summary.promptness.decide.void), (Pass, 1));
    assert!(check(&summary, NAME).headline.contains("decide not judged (1 void)"), "{:?}", check(&summary, NAME));
}

#[test]
fn what_stalled_before_a_loss_was_due_to_be_noticed_makes_nothing_late() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::Crash);
    cell.crash(20_000, 4_500);
    // The session's expiry was due during all of that time.
    for each in 0..9 {
        let from = 20_100 + each * 300;
        cell.host(1).push(Event::Stall { from: ms(from), to: ms(from + 290), ran_ns: 0, program: false });
    }
    let summary = cell.summary();
    assert_eq!((check(&summary, NAME).verdict, summary.promptness.detect.void), (Fail, 0));
}

#[test]
fn what_a_stall_of_the_harness_may_have_brought_about_is_no_failure() {
    // The stall was over long before, and sessions of T = 4 s that ended in it were recreated since.
    let mut cell = sleeper();
    cell.host(1).push(Event::Stall { from: ms(15_500), to: ms(16_500), ran_ns: 0, program: false });
    let summary = cell.summary();
    let found = check(&summary, NAME);
    assert_eq!((found.verdict, summary.promptness.decide.void), (Inconclusive, 1));
    assert!(found.details[0].contains("did not run for 1.00 s"), "{:?}", found.details);
    let mut cell = sleeper();
    cell.host(1).push(Event::Stall { from: ms(9_000), to: ms(10_000), ran_ns: 0, program: false });
    assert_eq!(cell.verdict(NAME), Fail, "more than 2 T before it was due");
    let mut cell = deciding(&[40_000]);
    cell.host(1).push(Event::Stall { from: ms(15_500), to: ms(16_500), ran_ns: 0, program: false });
    assert_eq!(cell.verdict(NAME), Fail, "all that can have ended in it was made anew long before");
}

#[test]
fn a_loss_that_nobody_is_told_of_is_noticed_late() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
    cell.inject(FaultKind::Expire, 0, &[0], 20_000, None);
    cell.revoke(0, 0, 20_003, RevokeReason::SessionEnded);
    cell.lead(0, 1, 25_000);
    let summary = cell.summary();
    assert_eq!((check(&summary, NAME).verdict, summary.promptness.detect.late), (Fail, 1));
}

/// The leader dies at 20 s, and its successor leads only at `led`; another candidate is cut off from `at` on, for 20 s.
fn followed_late(standing_before_it: bool, at: u64, led: u64) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    let other = if standing_before_it { 1 } else { 2 };
    cell.lasting(FaultKind::Partition, other, &[0], (at, at + 20_000));
    cell.inject(FaultKind::Crash, 0, &[0], 20_000, None);
    cell.kill(0, 20_000);
    cell.lead(0, if standing_before_it { 2 } else { 1 }, led);
    cell
}

#[test]
fn only_what_hits_the_lost_leader_or_those_before_the_next_one_excuses_a_long_gap() {
    let verdict = |next, at, led| followed_late(next, at, led).verdict("liveness");
    assert_eq!(verdict(false, 24_000, 30_000), Fail, "the last in the queue");
    assert_eq!(verdict(true, 24_000, 30_000), Pass, "the next in the queue");
    assert_eq!(verdict(true, 24_000, 40_000), Fail, "its session has ended long before");
    assert_eq!(verdict(true, 29_000, 30_000), Fail, "somebody was due before");
    assert_eq!(verdict(true, 38_000, 40_000), Fail, "somebody was due before");
}

/// T is 4 s; the leader died at 20 s, and its successor leads at 40 s.
#[test]
fn after_a_stall_a_leader_is_due_anew_and_no_later() {
    let with = |from: u64, to: u64| {
        let mut cell = followed_late(false, 38_000, 40_000);
        cell.coordinator.push(Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false });
        cell.verdict("liveness")
    };
    assert_eq!(with(23_000, 29_000), Inconclusive, "two sessions and what comes to it are not over by then");
    assert_eq!(with(21_000, 22_000), Fail, "they are");
    assert_eq!(with(36_000, 37_000), Fail, "it was late before");
}

#[test]
fn a_gap_that_a_stall_covers_is_inconclusive() {
    let mut cell = followed_late(false, 38_000, 40_000);
    let stall = Event::Stall { from: ms(21_000), to: ms(39_000), ran_ns: 0, program: false };
    cell.host(1).push(stall.clone());
    assert_eq!(cell.verdict("liveness"), Inconclusive);
    let mut record = followed_late(false, 38_000, 40_000).record();
    let mut of_others = record.cells[0].segments.iter().find(|segment| segment.host == Some(1)).unwrap().clone();
    (of_others.writer, of_others.file, of_others.host) = ("host-7".into(), "events/host-7".into(), Some(7));
    of_others.events = vec![of_others.events[0].clone(), stall, Event::End { t: ms(END) }];
    record.cells[0].segments.push(of_others);
    let summary = hustings_reports::analysis::summarise(&record).cells.remove(0);
    assert_eq!(check(&summary, "liveness").verdict, Fail, "a host on which the group has nobody");
}

/// A leader that stops believing at 30 s and begins again in the same incarnation.
pub(crate) fn believes_again(at: u64) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    cell.revoke(0, 0, 30_000, RevokeReason::SteppedDown);
    cell.believe(0, 0, at);
    cell.write(0, 0, at + 1);
    cell
}

/// As `believes_again`; if it `loses` its connection, it does so before.
fn flapping(loses: bool) -> Cell {
    let mut cell = believes_again(30_100);
    let session = cell.session(0, 0);
    if loses {
        cell.reconnects(0, session, (29_999, 30_050));
    }
    cell
}

#[test]
fn a_belief_that_ends_and_begins_again_for_nothing_is_a_finding() {
    let summary = flapping(false).summary();
    assert_eq!((check(&summary, "liveness").verdict, summary.leaderless.flaps), (Fail, 1));
    let stalled = |from: u64, to: u64| {
        let mut cell = flapping(false);
        cell.host(0).push(Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false });
        cell.verdict("liveness")
    };
    assert_eq!((stalled(28_000, 29_000), stalled(30_010, 30_900)), (Inconclusive, Fail), "before, and afterwards");
    let mut cell = flapping(false);
    for each in 0..20 {
        let from = 25_000 + each * 200;
        cell.host(0).push(Event::Stall { from: ms(from), to: ms(from + 50), ran_ns: 0, program: false });
    }
    assert_eq!(cell.verdict("liveness"), Fail, "none of these stops a leader, nor do all of them together");
    assert_eq!(flapping(true).verdict("liveness"), Pass);
}

#[test]
fn whoever_leads_beside_a_leader_hides_none_of_its_flaps() {
    let beside = |from: u64| {
        let mut cell = flapping(false);
        cell.believe(0, 1, from);
        cell.summary().leaderless.flaps
    };
    assert_eq!((beside(25_000), beside(30_050)), (1, 0), "one that leads before, and one that takes the lead over");
}

/// The leader of each group is ordered to resign, and deletes its znode this many milliseconds later.
pub(crate) fn releasing(after: &[u64]) -> Cell {
    let mut cell = Cell::new("predecessor-watch", after.len() as u32, 3, FaultKind::Resign);
    for (group, &after) in (0..).zip(after) {
        let at = 20_000 + u64::from(group) * 5_000;
        let id = cell.fault(FaultKind::Resign, 0, &[group], at, None);
        cell.injected(id, at + after + 3);
        let node = cell.node(group, 0);
        cell.revoke(group, 0, at + 1, RevokeReason::Resigned);
        cell.left(
            group,
            0,
            at + after + 4,
            Departure::Resigned { delete: Some((ms(at + after + 2), ms(at + after + 3))) },
        );
        cell.wake(group, &node, at + after + 3);
        cell.lead(group, 1, at + after + 5);
        cell.join(group, 0, at + after + 20);
    }
    cell
}

#[test]
fn whoever_is_ordered_to_resign_gives_its_znode_up_at_once() {
    let summary = releasing(&[0, 0, 0]).summary();
    assert_eq!((check(&summary, NAME).verdict, summary.promptness.release.n), (Pass, 3));
    // A busy machine may delay one for a moment, but not for a session timeout, and not most of them.
    assert_eq!(releasing(&[0, 600, 0]).verdict(NAME), Pass);
    let summary = releasing(&[0, 4_000, 0]).summary();
    assert_eq!((check(&summary, NAME).verdict, summary.promptness.release.late), (Fail, 1));
    assert_eq!(releasing(&[600, 600, 0]).verdict(NAME), Fail);
}

#[test]
fn a_process_that_is_asked_to_go_gives_its_leads_up_before_it_has_gone() {
    let noticed = |after: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Terminate);
        let id = cell.fault(FaultKind::Terminate, 0, &[0], 20_000, None);
        cell.injected(id, 20_100);
        cell.kill(0, 20_100);
        let node = cell.node(0, 0);
        cell.wake(0, &node, 20_100 + after);
        cell.lead(0, 1, 20_103 + after);
        cell.verdict(NAME)
    };
    assert_eq!((noticed(1), noticed(4_000)), (Pass, Fail), "a session that is left to expire");
}
