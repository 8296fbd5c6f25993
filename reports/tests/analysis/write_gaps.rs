//! How long no write was acknowledged around elections and faults, compared with the servers' reports. Also the
//! consequences of polls that were too rare.

use crate::*;
use hustings_reports::summary::WriteGap;

const AT: u64 = 20_000;
const NAME: &str = "server-elections";
const VOTES: [(u32, u64, i64, i64); 2] = [(1, 20, 1, 7), (2, 22, 1, 7)];

fn verdict(summary: &CellSummary) -> Verdict {
    check(summary, NAME).verdict
}

/// Server 3 leads, and is stopped at `AT`; its followers notice after two seconds, and server 2 wins.
fn stopped(gaps: &[(u64, u64)]) -> Cell {
    let mut cell = Cell::of_servers(3, FaultKind::ServerPause);
    cell.watch();
    cell.probe(gaps);
    cell.server_fault(FaultKind::ServerPause, &[3], AT, AT + 5_000);
    cell.state(3, (AT - 5, AT + 200), ServerState::Silent, None);
    for server in [1, 2] {
        cell.state(server, (AT + 2_000, AT + 2_012), ServerState::NotServing, None);
        let state = if server == 2 { ServerState::Leading } else { ServerState::Following };
        cell.state(server, (AT + 2_390, AT + 2_402), state, Some(2 << 32));
    }
    cell.state(3, (AT + 5_000, AT + 5_200), ServerState::Following, Some(1));
    cell.tell_election(AT + 2_000, 2, &VOTES);
    cell
}

fn gap_of_election(gaps: &[(u64, u64)]) -> Option<WriteGap> {
    stopped(gaps).summary().ensemble.elections[0].writes
}

#[test]
fn the_longest_gap_from_the_fault_to_shortly_after_the_election_is_the_elections() {
    let told = |from, to| {
        Some(WriteGap { from: ms(from), to: ms(to), least_ns: ms(to - from - 5), most_ns: Some(ms(to - from)) })
    };
    let whole = (AT - 3, AT + 2_610);
    assert_eq!(gap_of_election(&[whole]), told(whole.0, whole.1));
    // It begins before the servers report that the quorum is lost, or after they report that it is served again.
    assert_eq!(gap_of_election(&[(AT + 10, AT + 900), (AT + 2_800, AT + 3_100)]), told(AT + 10, AT + 900));
    assert_eq!(gap_of_election(&[(AT + 2_800, AT + 3_100)]), told(AT + 2_800, AT + 3_100));
    // Longer gaps before and long after have other causes.
    assert_eq!(gap_of_election(&[(AT - 9_000, AT - 1_000), whole, (AT + 4_000, AT + 9_000)]), told(whole.0, whole.1));
    assert_eq!(gap_of_election(&[(AT - 9_000, AT - 1_000)]), None);
    let headline = check(&stopped(&[whole]).summary(), NAME).headline.clone();
    assert!(headline.contains("no write acknowledged for 2.61 s to 2.61 s; servers say"), "{headline}");
}

#[test]
fn a_gap_that_the_end_of_the_probes_cuts_off_has_no_upper_bound() {
    let gap = gap_of_election(&[(AT, TEAR_DOWN)]).unwrap();
    assert_eq!((gap.least_ns, gap.most_ns), (ms(TEAR_DOWN - AT - 5), None));
    // No longer than from one write to the next: perhaps no write was missed.
    assert_eq!(gap_of_election(&[(AT, AT + 3)]).unwrap().least_ns, 0);
}

#[test]
fn a_second_election_under_a_fault_does_not_get_the_gap_of_the_first() {
    let mut cell = stopped(&[(AT, AT + 2_600), (AT + 4_100, AT + 4_300)]);
    for server in [1, 2] {
        cell.state(server, (AT + 4_100, AT + 4_112), ServerState::NotServing, None);
        let state = if server == 1 { ServerState::Leading } else { ServerState::Following };
        cell.state(server, (AT + 4_200, AT + 4_212), state, Some(3 << 32));
    }
    let lengths: Vec<_> = cell.summary().ensemble.elections.iter().map(|e| e.writes.and_then(|w| w.most_ns)).collect();
    assert_eq!(lengths, [Some(ms(2_600)), Some(ms(200))]);
}

#[test]
fn a_fault_without_an_election_has_its_own_gap_and_one_with_an_election_has_none() {
    let mut cell = Cell::of_servers(3, FaultKind::ServerKill);
    cell.watch();
    cell.probe(&[(9_000, 9_900), (AT, AT + 210), (AT + 300, AT + 340)]);
    cell.server_fault(FaultKind::ServerKill, &[1], AT, AT + 5_000);
    cell.state(1, (AT, AT + 5), ServerState::Down, None);
    cell.state(1, (AT + 5_000, AT + 5_010), ServerState::Following, Some(1));
    let summary = cell.summary();
    let watch = summary.ensemble.watch.as_ref().unwrap();
    assert_eq!((summary.ensemble.elections.len(), watch.faults[0].writes.unwrap().most_ns), (0, Some(ms(210))));
    let writes = watch.writes.as_ref().unwrap();
    assert_eq!((writes.acknowledged, writes.longest.unwrap().most_ns), (Some(9_000), Some(ms(900))));
    assert_eq!((writes.gaps.len(), verdict(&summary)), (3, Pass));
    let with_election = stopped(&[(AT, AT + 2_610)]).summary();
    assert_eq!(with_election.ensemble.watch.unwrap().faults[0].writes, None);
}

#[test]
fn under_server_faults_somebody_must_have_written() {
    let probed = |kind, probes: &[Event]| {
        let mut cell = Cell::of_servers(3, kind);
        cell.watch();
        if kind.hits_servers() {
            cell.server_fault(kind, &[3], AT, AT + 1_000);
        }
        cell.coordinator.extend(probes.iter().cloned());
        verdict(&cell.summary())
    };
    let began = Event::WriteProbe { t: ms(4_000), every_ns: ms(5) };
    let ended = |acknowledged| Event::WriteProbed { t: ms(TEAR_DOWN), acknowledged };
    assert_eq!(probed(FaultKind::ServerPause, &[began.clone(), ended(1)]), Pass);
    assert_eq!(probed(FaultKind::ServerPause, &[began.clone(), ended(0)]), Inconclusive);
    assert_eq!(probed(FaultKind::ServerPause, &[began]), Inconclusive);
    assert_eq!(probed(FaultKind::ServerPause, &[]), Inconclusive);
    assert_eq!(probed(FaultKind::None, &[]), Pass);
}

/// Server 3, the leader, is cut off, with a poll about once a second: server 2 leads, and no server was seen to look.
fn rarely_polled(old_ends: u64) -> Cell {
    let mut cell = Cell::of_servers(3, FaultKind::ServerPartition);
    cell.watch();
    cell.probe(&[]);
    cell.server_fault(FaultKind::ServerPartition, &[3], AT, AT + 20_000);
    cell.state(2, (AT + 4_300, AT + 5_500), ServerState::Leading, Some(2 << 32));
    cell.state(3, (AT + old_ends, AT + old_ends + 900), ServerState::NotServing, None);
    cell.tell_election(AT + 5_000, 2, &VOTES);
    cell
}

#[test]
fn an_election_that_no_poll_saw_has_an_upper_bound() {
    // The old leader is still observed to lead when the new one does; or it is gone by then.
    for (old_ends, lost) in [(7_000, 4_300), (4_400, 4_300), (4_000, 4_000)] {
        let summary = rarely_polled(old_ends).summary();
        let election = &summary.ensemble.elections[0];
        assert_eq!((election.old, election.winner), (Some(3), Some(2)));
        let bounds = (ms(AT + lost), ms(AT + 5_500));
        assert_eq!((election.lost, election.ended), (bounds, Some(bounds)), "old leader until {old_ends}");
        assert_eq!(election.outage, (0, ms(5_500 - lost)));
        assert_eq!(summary.ensemble.elections.len(), 1);
    }
}

#[test]
fn followers_beside_two_leaders_prove_nothing_once_one_has_left() {
    // Of five, servers 4 and 5 are cut off together; servers 1 and 2 follow 3.
    let mut cell = Cell::of_servers(5, FaultKind::ServerPartition);
    for server in 1..=5 {
        let state = if server == 5 { ServerState::Leading } else { ServerState::Following };
        cell.state(server, (4_000, 4_010), state, Some(1 << 32));
    }
    for server in [1, 2, 3] {
        cell.state(server, (AT, AT + 10), ServerState::NotServing, None);
        let state = if server == 3 { ServerState::Leading } else { ServerState::Following };
        cell.state(server, (AT + 400, AT + 410), state, Some(2 << 32));
    }
    // Server 2 goes: with server 4, which follows server 5, there would be three of five.
    cell.state(2, (AT + 1_000, AT + 1_010), ServerState::Down, None);
    cell.state(2, (AT + 2_000, AT + 2_010), ServerState::Following, Some(2 << 32));
    cell.state(5, (AT + 3_000, AT + 3_010), ServerState::NotServing, None);
    let summary = cell.summary();
    let [election] = &summary.ensemble.elections[..] else { panic!("{:#?}", summary.ensemble.elections) };
    assert_eq!((election.outage, summary.ensemble.watch.unwrap().lulls), ((ms(390), ms(410)), 1));
}

#[test]
fn a_follower_cannot_stand_behind_two_leaders_and_a_leader_behind_none() {
    // Server 1 is down: each of the other two claims to lead, and neither has a follower.
    let mut cell = Cell::of_servers(3, FaultKind::ServerPartition);
    cell.watch();
    cell.state(1, (AT, AT + 10), ServerState::Down, None);
    cell.state(2, (AT, AT + 10), ServerState::Leading, Some(2 << 32));
    cell.state(3, (AT + 1_000, AT + 1_010), ServerState::Following, Some(1));
    let summary = cell.summary();
    let [election] = &summary.ensemble.elections[..] else { panic!("{:#?}", summary.ensemble.elections) };
    assert_eq!((election.winner, election.outage), (Some(2), (ms(990), ms(1_010))));
}

#[test]
fn an_election_among_those_that_are_to_die_is_not_held_to_the_order_of_the_restart() {
    // Server 3 is killed, server 2 wins; then the rest is killed, and all are started in order.
    let restarted = |again: bool, expected: u32| {
        let mut cell = Cell::of_servers(3, FaultKind::ServerRestartAll);
        cell.watch();
        cell.probe(&[]);
        cell.info.expect.server_leader = Some(expected);
        let id = cell.server_fault(FaultKind::ServerRestartAll, &[], AT, AT + 20_000);
        // All are down only by then.
        cell.injected(id, AT + 10_000);
        cell.state(3, (AT, AT + 5), ServerState::Down, None);
        for server in [1, 2] {
            cell.state(server, (AT, AT + 12), ServerState::NotServing, None);
            let state = if server == 2 { ServerState::Leading } else { ServerState::Following };
            cell.state(server, (AT + 390, AT + 402), state, Some(2 << 32));
        }
        cell.tell_election(AT, 2, &VOTES);
        if again {
            for server in [1, 2] {
                cell.state(server, (AT + 9_900, AT + 9_910), ServerState::Down, None);
                cell.state(server, (AT + 12_000, AT + 12_012), ServerState::NotServing, None);
                let state = if server == 1 { ServerState::Leading } else { ServerState::Following };
                cell.state(server, (AT + 12_400, AT + 12_412), state, Some(3 << 32));
            }
        }
        cell.summary()
    };
    let summary = restarted(true, 1);
    assert_eq!(summary.ensemble.elections.iter().map(|e| e.winner).collect::<Vec<_>>(), [Some(2), Some(1)]);
    assert_eq!(verdict(&summary), Pass, "{:#?}", check(&summary, NAME));
    assert_eq!(verdict(&restarted(true, 2)), Fail);
    let never = restarted(false, 2);
    assert!(check(&never, NAME).details.iter().any(|line| line.contains("there was no election")));
    assert_eq!(verdict(&never), Fail);
}
