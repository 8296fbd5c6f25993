//! Candidates that are enrolled, absent or hung, compared with their own reports and with the servers' lists.

use crate::*;
use std::collections::{BTreeMap, BTreeSet};

const NAME: &str = "participation";

/// Host 1 is cut off from 20 s to 30 s, and its candidate's session ends at 24 s.
pub(crate) fn cut_off() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    cell.lasting(FaultKind::Partition, 1, &[0], (20_000, 30_000));
    cell.notify(0, 2, &cell.node(0, 1), 24_200);
    cell
}

/// A session ends, and so does the incarnation.
pub(crate) fn ends(cell: &mut Cell, host: u16, at: u64, how: Departure) {
    let (session, state) = (cell.session(0, host), SessionState::Ended(SessionEnd::Expired));
    cell.host(host).push(Event::State { t: ms(at), session, state });
    cell.left(0, host, at, how);
}

/// A follower that was cut off never enrols again.
pub(crate) fn dropped_out() -> Cell {
    let mut cell = cut_off();
    ends(&mut cell, 1, 24_000, Departure::Stopped);
    cell
}

#[test]
fn whoever_does_not_come_back_after_a_partition_has_dropped_out() {
    let summary = dropped_out().summary();
    assert_eq!((check(&summary, NAME).verdict, summary.standing.dropped_out, summary.standing.at_end), (Fail, 1, 2));
    assert!(check(&summary, NAME).reason().contains("had dropped out"), "{:#?}", check(&summary, NAME));
    // No other check fails because of it.
    let others = summary.checks.iter().filter(|check| check.name != NAME && check.verdict == Fail);
    assert_eq!(others.map(|check| &check.name).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn whoever_comes_back_in_time_stands_and_whoever_comes_back_late_is_told_of() {
    let back = |at: u64| {
        let mut cell = cut_off();
        ends(&mut cell, 1, 24_000, Departure::SessionEnded(SessionEnd::Expired));
        cell.join(0, 1, at);
        let summary = cell.summary();
        (check(&summary, NAME).verdict, summary.standing.late, summary.standing.dropped_out)
    };
    assert_eq!(back(31_000), (Pass, 0, 0));
    // 7/5 T, a second, and the second of a handover after the heal.
    assert_eq!(back(37_000), (Pass, 0, 0));
    assert_eq!(back(50_000), (Fail, 1, 0));
    // The drain ended too soon to know.
    assert_eq!(back(TEAR_DOWN + 500).0, Fail);
}

#[test]
fn what_hits_when_somebody_was_to_be_back_long_ago_excuses_nothing() {
    let hit = |at: u64| {
        let mut cell = cut_off();
        ends(&mut cell, 1, 24_000, Departure::SessionEnded(SessionEnd::Expired));
        cell.lasting(FaultKind::Partition, 1, &[0], (at, at + 5_000));
        cell.join(0, 1, at + 6_000);
        let summary = cell.summary();
        (check(&summary, NAME).verdict, summary.standing.late)
    };
    assert_eq!((hit(36_000), hit(50_000)), ((Pass, 0), (Fail, 1)));
}

#[test]
fn whoever_had_no_time_to_come_back_before_the_drain_ended_is_inconclusive() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
    cell.inject(FaultKind::Expire, 1, &[0], 99_000, None);
    ends(&mut cell, 1, 99_001, Departure::SessionEnded(SessionEnd::Expired));
    assert_eq!(cell.verdict(NAME), Inconclusive);
}

#[test]
fn servers_that_list_nothing_count_at_least_what_the_candidates_have() {
    let counted = |recipe: &str, ephemerals: u32, watches: u32| {
        let mut cell = Cell::new(recipe, 2, 3, FaultKind::None);
        cell.info.own_servers = false;
        cell.held = Some((ephemerals, watches));
        cell.verdict(NAME)
    };
    assert_eq!(counted("predecessor-watch", 6, 4), Pass);
    assert_eq!(counted("predecessor-watch", 60, 40), Pass, "others may have more");
    assert_eq!(counted("predecessor-watch", 5, 4), Fail);
    assert_eq!(counted("predecessor-watch", 6, 3), Fail, "of two groups two candidates each wait");
    assert_eq!((counted("lock-race", 2, 4), counted("lock-race", 2, 3)), (Pass, Fail));
    assert_eq!(counted("poll-race", 6, 0), Pass, "it watches nothing");
}

#[test]
fn the_dead_by_plan_are_not_waited_for_and_the_restarted_are() {
    let mut dead = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    dead.crash(20_000, 300);
    let summary = dead.summary();
    assert_eq!((check(&summary, NAME).verdict, summary.standing.dead, summary.standing.at_end), (Pass, 1, 2));
    let mut mortal = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    mortal.left(0, 2, 20_000, Departure::Failed("it met what it did not expect".into()));
    assert_eq!(mortal.verdict(NAME), Fail);
}

#[test]
fn whoever_is_never_done_with_what_it_was_told_hangs() {
    let told = |settles: Option<u64>, stall: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        let (cand, session, node) = (cell.cand(0, 2), cell.session(0, 2), cell.node(0, 1));
        cell.host(2).push(Event::Notified { t: ms(30_000), cand, session, node, kind: WatchEvent::Deleted });
        if let Some(at) = settles {
            cell.host(2).push(Event::Settled { t: ms(at), cand, session, requests: 2 });
        }
        if stall {
            cell.host(2).push(Event::Stall { from: ms(31_000), to: ms(95_000), ran_ns: 0, program: false });
        }
        let summary = cell.summary();
        (check(&summary, NAME).verdict, summary.standing.hung)
    };
    assert_eq!(told(None, false), (Fail, 1));
    assert_eq!(told(Some(60_000), false), (Fail, 1));
    assert_eq!(told(Some(31_000), false), (Pass, 0));
    assert_eq!(told(Some(96_000), true), (Inconclusive, 0));
}

#[test]
fn a_follower_whose_session_ends_for_nothing_is_a_failure() {
    let lost = |prepare: &dyn Fn(&mut Cell)| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        ends(&mut cell, 1, 30_000, Departure::SessionEnded(SessionEnd::Expired));
        cell.join(0, 1, 30_100);
        prepare(&mut cell);
        let summary = cell.summary();
        (check(&summary, NAME).verdict, summary.standing.sessions_lost)
    };
    assert_eq!(lost(&|_| {}), (Fail, 1));
    let stalled = |cell: &mut Cell| {
        cell.host(1).push(Event::Stall { from: ms(27_000), to: ms(29_000), ran_ns: 0, program: false })
    };
    assert_eq!(lost(&stalled), (Inconclusive, 1));
    assert_eq!(lost(&|cell| cell.info.expect.unplanned = Expectation::Any), (Pass, 1));
    let hit = |cell: &mut Cell| {
        cell.inject(FaultKind::Expire, 1, &[0], 29_999, None);
    };
    assert_eq!(lost(&hit), (Pass, 0));
}

/// The correct lists of the servers for an unmodified cell: one group of three, host 0 leads.
pub(crate) fn rightly_held(cell: &Cell) -> Holdings {
    let path = |host| format!("/election/g0/{}", cell.node(0, host));
    let watch = |watched, by| (path(watched), BTreeSet::from([cell.session(0, by)]));
    Holdings {
        // The observer's session.
        sessions: (0..3).map(|host| cell.session(0, host)).chain([7]).collect(),
        ephemerals: (0..3).map(|host| (path(host), cell.session(0, host))).collect(),
        watches: BTreeMap::from([watch(0, 1), watch(1, 2), ("/election".to_owned(), [7].into())]),
    }
}

/// These servers, if any, report this list at the end of the drain.
pub(crate) fn list(cell: &mut Cell, servers: &[u32], holds: Holdings) {
    list_at(cell, 90_000, servers, holds);
}

/// The same at another time.
pub(crate) fn list_at(cell: &mut Cell, asked: u64, servers: &[u32], holds: Holdings) {
    if !servers.is_empty() {
        let (from, to, at) = (ms(asked), ms(asked + 10), WindowEdge::End);
        let (servers, holds) = (servers.to_vec(), Box::new(holds));
        cell.coordinator.push(Event::Holdings { from, to, at, servers, holds });
    }
}

/// The verdict where the servers report this list at the end of the drain.
fn listing(change: impl FnOnce(&Cell, &mut Holdings)) -> (Verdict, u64, u64) {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    let mut holds = rightly_held(&cell);
    change(&cell, &mut holds);
    list(&mut cell, &[1, 2, 3], holds);
    let summary = cell.summary();
    let end = summary.standing.end.expect("it was recorded");
    let left = end.sessions_left + end.znodes_left + end.watches_left;
    (check(&summary, NAME).verdict, end.judged - end.matching, left)
}

#[test]
fn what_servers_list_as_it_should_be_passes() {
    assert_eq!(listing(|_, _| {}), (Pass, 0, 0));
}

#[test]
fn a_candidate_has_a_session_a_znode_and_a_watch_at_the_servers() {
    assert_eq!(listing(|cell, holds| _ = holds.sessions.remove(&cell.session(0, 2))), (Fail, 1, 0));
    assert_eq!(
        listing(|cell, holds| _ = holds.ephemerals.remove(&format!("/election/g0/{}", cell.node(0, 2)))),
        (Fail, 1, 0)
    );
    let unwatched = |cell: &Cell, holds: &mut Holdings| {
        holds.watches.remove(&format!("/election/g0/{}", cell.node(0, 1)));
    };
    assert_eq!(listing(unwatched), (Fail, 1, 0));
    let of_the_lowest = |cell: &Cell, holds: &mut Holdings| {
        unwatched(cell, holds);
        holds.watches.entry(format!("/election/g0/{}", cell.node(0, 0))).or_default().insert(cell.session(0, 2));
    };
    // It lacks the watch that its recipe declares, and its other watch has no reason.
    assert_eq!(listing(of_the_lowest), (Fail, 1, 1));
}

#[test]
fn a_client_that_was_connected_again_has_a_second_to_restore_its_watch() {
    let unwatched = |connected_at: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        let session = cell.session(0, 2);
        for (before, state) in [(50, SessionState::Disconnected), (0, SessionState::Connected)] {
            cell.host(2).push(Event::State { t: ms(connected_at - before), session, state });
        }
        let mut holds = rightly_held(&cell);
        holds.watches.remove(&format!("/election/g0/{}", cell.node(0, 1)));
        list(&mut cell, &[1, 2, 3], holds);
        cell.verdict(NAME)
    };
    assert_eq!((unwatched(89_100), unwatched(88_900)), (Pass, Fail), "the servers list at 90 s");
}

#[test]
fn what_the_servers_hold_and_nobody_stands_behind_is_a_leak() {
    let second = |cell: &Cell, holds: &mut Holdings| {
        holds.ephemerals.insert("/election/g0/n_0000009999".into(), cell.session(0, 1));
    };
    assert_eq!((listing(second).0, listing(second).2), (Fail, 1));
    let watch = |cell: &Cell, holds: &mut Holdings| {
        holds.watches.insert("/election/g0/n_0000009999".into(), [cell.session(0, 1)].into());
    };
    assert_eq!(listing(watch), (Fail, 0, 1));
}

#[test]
fn a_leak_is_excused_by_a_stall_of_its_own_host_and_not_of_the_coordinator() {
    let leaks: [fn(&Cell, &mut Holdings); 2] = [
        |cell, holds| _ = holds.ephemerals.insert("/election/g0/n_0000009999".into(), cell.session(0, 1)),
        |cell, holds| _ = holds.watches.insert("/election/g0/n_0000009999".into(), [cell.session(0, 1)].into()),
    ];
    for leak in leaks {
        let stalled = |at: fn(&mut Cell) -> &mut Vec<Event>| {
            let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
            let mut holds = rightly_held(&cell);
            leak(&cell, &mut holds);
            list(&mut cell, &[1, 2, 3], holds);
            at(&mut cell).push(Event::Stall { from: ms(87_000), to: ms(89_000), ran_ns: 0, program: false });
            cell.verdict(NAME)
        };
        let of_hosts = [stalled(|cell| cell.host(0)), stalled(|cell| cell.host(1)), stalled(|cell| cell.host(2))];
        assert_eq!(of_hosts, [Fail, Inconclusive, Fail]);
        assert_eq!(stalled(|cell| &mut cell.coordinator), Fail);
    }
}

#[test]
fn a_leak_is_excused_by_a_link_or_a_server_that_did_not_run() {
    let verdict = |who: &str| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        let mut holds = rightly_held(&cell);
        holds.ephemerals.insert("/election/g0/n_0000009999".into(), cell.session(0, 1));
        list(&mut cell, &[1, 2, 3], holds);
        let (from, to) = (ms(87_000), Some(ms(89_000)));
        cell.coordinator.push(Event::Outage { from, to, who: who.to_owned() });
        cell.verdict(NAME)
    };
    assert_eq!(["proxy-1", "server 2", "coordinator"].map(verdict), [Inconclusive, Inconclusive, Fail]);
}

#[test]
fn a_missing_watch_is_excused_by_a_stall_after_the_last_change_of_the_candidate_or_its_group_alone() {
    let judged = |change: fn(&mut Cell), stall: (u64, u64)| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        change(&mut cell);
        let mut holds = rightly_held(&cell);
        holds.watches.values_mut().for_each(|sessions| _ = sessions.remove(&cell.session(0, 2)));
        // The candidate after it watches it.
        if cell.node(0, 1) > cell.node(0, 2) {
            let of_first = format!("/election/g0/{}", cell.node(0, 0));
            holds.watches.remove(&of_first);
            let own = format!("/election/g0/{}", cell.node(0, 2));
            holds.watches.insert(own, [cell.session(0, 1)].into());
        }
        list(&mut cell, &[1, 2, 3], holds);
        cell.host(2).push(Event::Stall { from: ms(stall.0), to: ms(stall.1), ran_ns: 0, program: false });
        let summary = cell.summary();
        let check = check(&summary, NAME);
        (check.verdict, check.by_stalls)
    };
    let (spoilt, failed) = ((Inconclusive, true), (Fail, false));
    let connects_again: fn(&mut Cell) = |cell| cell.reconnects(2, cell.session(0, 2), (80_900, 81_000));
    let leaves_before_it: fn(&mut Cell) = |cell| {
        cell.inject(FaultKind::Expire, 1, &[0], 81_000, None);
        ends(cell, 1, 81_001, Departure::SessionEnded(SessionEnd::Expired));
        cell.join(0, 1, 81_100);
    };
    // The lists are of 90 s, and T is 4 s.
    assert_eq!(judged(|_| {}, (87_000, 89_000)), failed, "it enrolled long before");
    assert_eq!(judged(connects_again, (87_000, 88_500)), spoilt);
    assert_eq!(judged(connects_again, (89_200, 89_800)), failed, "more than 2 T later");
    assert_eq!(judged(leaves_before_it, (87_000, 89_500)), spoilt, "it may not have been notified yet");
    assert_eq!(judged(leaves_before_it, (89_200, 89_800)), failed, "more than 2 T later");
}

#[test]
fn a_candidate_watches_as_many_znodes_of_others_as_its_program_declares() {
    let watching = |declare: fn(&mut Declaration), others: &[&str], drops: Option<u16>| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        declare(cell.info.declared.as_mut().expect("a recipe"));
        let mut holds = rightly_held(&cell);
        let path = |name: &str| format!("/election/g0/{name}");
        let mut watch = |name: &str| _ = holds.watches.entry(path(name)).or_default().insert(cell.session(0, 2));
        others.iter().for_each(|name| watch(name));
        if let Some(drops) = drops {
            holds.watches.remove(&path(&cell.node(0, drops)));
        }
        list(&mut cell, &[1, 2, 3], holds);
        let summary = cell.summary();
        let end = summary.standing.end.as_ref().expect("it was recorded");
        (check(&summary, NAME).verdict, end.judged - end.matching, end.watches_left)
    };
    let three: fn(&mut Declaration) = |declared| declared.watches_max = Some(3);
    assert_eq!(watching(three, &["config", "lease"], None), (Pass, 0, 0));
    assert_eq!(watching(three, &["config", "lease", "more"], None), (Fail, 0, 1));
    assert_eq!(watching(|_| {}, &["config"], None), (Fail, 0, 1));
    // A candidate whose recipe wakes the next two watches the two znodes before its own.
    let two: fn(&mut Declaration) = |declared| declared.leader_wakes = FanOut::Two;
    let leader = Cell::new("predecessor-watch", 1, 3, FaultKind::None).node(0, 0);
    assert_eq!(watching(two, &[&leader], None), (Pass, 0, 0));
    assert_eq!(watching(two, &[], None), (Fail, 1, 0));
    assert_eq!(watching(two, &[&leader, "config"], None), (Fail, 0, 1));
    assert_eq!(watching(two, &[&leader], Some(1)), (Fail, 1, 0));
}

/// The result for a session left behind by its candidate, which some servers list and others do not.
fn left_behind(by: &[u32], not_by: &[u32]) -> (Verdict, Option<u64>) {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    let old = cell.session(0, 2);
    cell.left(0, 2, 30_000, Departure::SessionEnded(SessionEnd::Expired));
    cell.join(0, 2, 30_100);
    for (servers, extra) in [(by, Some(old)), (not_by, None)] {
        let mut holds = rightly_held(&cell);
        holds.sessions.extend(extra);
        list(&mut cell, servers, holds);
    }
    let summary = cell.summary();
    (check(&summary, NAME).verdict, summary.standing.end.map(|end| end.sessions_left))
}

#[test]
fn a_session_that_its_candidate_has_left_behind_is_a_leak_where_all_servers_say_so() {
    assert_eq!(left_behind(&[1], &[]), (Fail, Some(1)));
    assert_eq!(left_behind(&[1, 2, 3], &[]), (Fail, Some(1)));
    assert_eq!(left_behind(&[2], &[1, 3]).1, Some(0));
}

/// The result for a session that a candidate left behind at 77.4 s, with this stall. The lists are of 90 s; what was out of use before
/// 79 s is judged, and was due to be gone at 83 s.
fn left_behind_beside(stall: (u64, u64), at: fn(&mut Cell) -> &mut Vec<Event>) -> (Verdict, bool) {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    let old = cell.session(0, 2);
    cell.inject(FaultKind::Expire, 2, &[0], 77_399, None);
    ends(&mut cell, 2, 77_400, Departure::SessionEnded(SessionEnd::Expired));
    cell.join(0, 2, 77_500);
    let mut holds = rightly_held(&cell);
    holds.sessions.insert(old);
    list(&mut cell, &[1, 2, 3], holds);
    at(&mut cell).push(Event::Stall { from: ms(stall.0), to: ms(stall.1), ran_ns: 0, program: false });
    let summary = cell.summary();
    let check = check(&summary, NAME);
    (check.verdict, check.by_stalls)
}

#[test]
fn what_is_left_behind_is_excused_only_by_a_stall_that_began_before_it_was_due_to_be_gone() {
    let (spoilt, failed) = ((Inconclusive, true), (Fail, false));
    assert_eq!(left_behind_beside((77_600, 82_500), |cell| cell.host(2)), spoilt);
    assert_eq!(left_behind_beside((82_900, 84_000), |cell| cell.host(2)), spoilt);
    assert_eq!(left_behind_beside((83_100, 84_000), |cell| cell.host(2)), failed);
    assert_eq!(left_behind_beside((87_000, 89_000), |cell| cell.host(2)), failed, "just before the lists");
    assert_eq!(left_behind_beside((77_600, 82_500), |cell| cell.host(0)), failed, "of another host");
    assert_eq!(left_behind_beside((77_600, 82_500), |cell| &mut cell.coordinator), failed, "it ends no session");
}

#[test]
fn a_znode_that_its_candidate_left_is_excused_only_by_a_stall_that_began_before_it_was_due_to_be_gone() {
    let verdict = |stall: (u64, u64)| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        let (cand, session, old, czxid) = (cell.cand(0, 2), cell.session(0, 2), cell.node(0, 2), Some(7_777));
        // It enrols again under the same session.
        let node = Some("n_0000007777".to_owned());
        cell.host(2).extend([
            Event::Joined { t: ms(77_500), cand, session, node, czxid },
            Event::Settled { t: ms(77_500), cand, session, requests: 2 },
        ]);
        let mut holds = rightly_held(&cell);
        holds.ephemerals.insert("/election/g0/n_0000007777".to_owned(), session);
        let watch = holds.watches.remove(&format!("/election/g0/{}", cell.node(0, 1))).expect("its own");
        holds.watches.insert(format!("/election/g0/{old}"), watch);
        list(&mut cell, &[1, 2, 3], holds);
        cell.host(2).push(Event::Stall { from: ms(stall.0), to: ms(stall.1), ran_ns: 0, program: false });
        cell.verdict(NAME)
    };
    assert_eq!([(77_600, 82_500), (87_000, 89_000)].map(verdict), [Inconclusive, Fail]);
}

#[test]
fn a_stall_of_the_coordinator_excuses_what_a_process_left_that_it_killed() {
    let verdict = |stall: (u64, u64)| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
        cell.inject(FaultKind::Crash, 2, &[0], 77_400, None);
        let holds = rightly_held(&cell);
        cell.kill(2, 77_400);
        list(&mut cell, &[1, 2, 3], holds);
        cell.coordinator.push(Event::Stall { from: ms(stall.0), to: ms(stall.1), ran_ns: 0, program: false });
        cell.verdict(NAME)
    };
    assert_eq!([(77_300, 82_500), (87_000, 89_000)].map(verdict), [Inconclusive, Fail]);
}

/// The result for a follower of three whose session an `expire` has ended at 30 s, and that does not come back. These
/// servers still list its session.
fn kept(by: &[u32], is_verified: bool, change: impl FnOnce(&mut Cell)) -> (Verdict, u64, u64) {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
    let id = cell.fault(FaultKind::Expire, 2, &[0], 30_000, None);
    cell.verification(id, VerificationStage::Injected, 30_000, is_verified, Vec::new());
    change(&mut cell);
    let mut holds = rightly_held(&cell);
    holds.watches.remove(&format!("/election/g0/{}", cell.node(0, 1)));
    holds.ephemerals.retain(|_, session| *session != cell.session(0, 2));
    list(&mut cell, by, holds.clone());
    holds.sessions.remove(&cell.session(0, 2));
    let others: Vec<u32> = [1, 2, 3].into_iter().filter(|server| !by.contains(server)).collect();
    list(&mut cell, &others, holds);
    let summary = cell.summary();
    let standing = &summary.standing;
    (check(&summary, NAME).verdict, standing.kept_by_a_server, standing.dropped_out)
}

#[test]
fn whoever_is_kept_by_one_server_under_a_session_that_was_ended_is_not_judged() {
    let left = |cell: &mut Cell| cell.left(0, 2, 30_001, Departure::Failed("it gave its znode back".to_owned()));
    assert_eq!(kept(&[2], true, |_| {}), (Pass, 1, 0));
    assert_eq!(kept(&[2], true, left), (Pass, 1, 0));
    // No server lists it; all do; there is no evidence that it was ended.
    assert_eq!(kept(&[], true, |_| {}), (Fail, 0, 0));
    assert_eq!(kept(&[], true, left), (Fail, 0, 1));
    assert_eq!(kept(&[1, 2, 3], true, left), (Fail, 0, 1));
    assert_eq!(kept(&[2], false, left).1, 0);
    // It was notified, and does nothing.
    let told = |cell: &mut Cell| ends(cell, 2, 30_001, Departure::SessionEnded(SessionEnd::Expired));
    assert_eq!(kept(&[2], true, told), (Fail, 0, 1));
}

#[test]
fn who_says_otherwise_than_most_servers_is_named() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    for (servers, extra) in [(&[1][..], Some(99)), (&[2, 3], None)] {
        let mut holds = rightly_held(&cell);
        holds.sessions.extend(extra);
        list(&mut cell, servers, holds);
    }
    let summary = cell.summary();
    let details = &check(&summary, NAME).details;
    assert!(details.iter().any(|line| line.starts_with("server 1 listed other")), "{details:#?}");
}

#[test]
fn a_record_without_lists_says_so_and_counts_are_compared_with_the_candidates_instead() {
    let counted = |ephemerals: u32| {
        let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::None);
        cell.held = Some((ephemerals, 4));
        let summary = cell.summary();
        let result = check(&summary, NAME).clone();
        assert!(result.details.iter().any(|line| line.contains("are not recorded")), "{result:#?}");
        result.verdict
    };
    assert_eq!((counted(6), counted(5)), (Pass, Fail));
}

#[test]
fn what_hits_one_candidate_of_a_host_explains_nothing_of_the_others_there() {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Expire);
    cell.inject(FaultKind::Expire, 1, &[0], 29_999, None);
    let (session, state) = (cell.session(1, 1), SessionState::Ended(SessionEnd::Expired));
    cell.host(1).push(Event::State { t: ms(30_000), session, state });
    cell.left(1, 1, 30_000, Departure::SessionEnded(SessionEnd::Expired));
    cell.join(1, 1, 30_100);
    let summary = cell.summary();
    assert_eq!((check(&summary, NAME).verdict, summary.standing.sessions_lost), (Fail, 1));
}
