//! The cost of faults on servers for the candidates: interrupted terms, false failovers, restarted clocks.

use crate::foreign::introduce;
use crate::*;

const KILL: u64 = 20_000;

/// Server 3, the leader of the ensemble, is killed.
pub(crate) fn killed() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::ServerKill);
    cell.watch();
    cell.probe(&[(KILL - 3, KILL + 500)]);
    cell.lose_server_3(KILL, 2);
    cell.tell_election(KILL, 2, &[(1, 20, 1, 7), (2, 22, 1, 7)]);
    cell
}

fn session_says(cell: &mut Cell, host: u16, at: u64, state: SessionState) {
    let session = cell.session(0, host);
    cell.host(host).push(Event::State { t: ms(at), session, state });
}

#[test]
fn a_term_given_up_for_a_lost_connection_and_taken_back_is_interrupted() {
    let mut cell = killed();
    session_says(&mut cell, 0, KILL + 10, SessionState::Disconnected);
    cell.revoke(0, 0, KILL + 11, RevokeReason::SteppedDown);
    session_says(&mut cell, 0, KILL + 610, SessionState::Connected);
    cell.lead(0, 0, KILL + 620);
    let summary = cell.summary();
    let sessions = &summary.sessions;
    assert_eq!((sessions.established, sessions.disconnected, sessions.reconnected, sessions.lost), (3, 1, 1, 0));
    assert_eq!((sessions.interrupted_terms, summary.handovers.unplanned), (1, 0));
    assert_eq!(sessions.reconnect.as_ref().unwrap().max, ms(600));
    assert_eq!(summary.verdict, Pass, "{:#?}", summary.checks);
}

#[test]
fn a_connection_that_a_server_kept_under_an_ended_session_is_counted_and_told_of() {
    let mut cell = killed();
    session_says(&mut cell, 1, KILL + 10, SessionState::Disconnected);
    session_says(&mut cell, 1, KILL + 20, SessionState::Connected);
    let session = cell.session(0, 1);
    cell.host(1).push(Event::Severed { t: ms(KILL + 1_300), session, answered_ns: ms(1_200) });
    let summary = cell.summary();
    assert_eq!(summary.sessions.severed, 1);
    let told = format!("a server still answered session {session:#x} 1.20 s after its end");
    let details = &check(&summary, "sessions").details;
    assert!(details.iter().any(|line| line.contains(&told)), "{details:#?}");
}

#[test]
fn a_lead_that_changes_hands_under_a_server_fault_is_a_false_failover() {
    let mut cell = killed();
    session_says(&mut cell, 0, KILL + 10, SessionState::Disconnected);
    cell.revoke(0, 0, KILL + 11, RevokeReason::SteppedDown);
    session_says(&mut cell, 0, KILL + 5_000, SessionState::Ended(SessionEnd::Expired));
    cell.lead(0, 1, KILL + 5_001);
    let summary = cell.summary();
    assert_eq!((summary.sessions.lost, summary.sessions.interrupted_terms), (1, 0));
    assert_eq!((summary.handovers.unplanned, summary.handovers.planned), (1, 0));
    let handovers = check(&summary, "handovers");
    assert_eq!(handovers.verdict, Fail);
    assert!(handovers.details.iter().any(|l| l.contains("server-kill number 0 on server 3 was under way")));
    // Effects on sessions are shown here, and judged by the check of handovers.
    assert_eq!(check(&summary, "sessions").verdict, Pass);
}

#[test]
fn a_server_fault_excuses_the_lead_of_whoever_came_to_no_server_for_long_enough_and_no_other() {
    // Times after the kill: when its client lost its connection, when it got one again, and when another candidate led.
    let excused = |gone: Option<u64>, back: Option<u64>, next: u64| {
        let mut cell = killed();
        cell.info.expect.unplanned = Expectation::Excused;
        for (at, state) in [(gone, SessionState::Disconnected), (back, SessionState::Connected)] {
            at.into_iter().for_each(|at| session_says(&mut cell, 0, KILL + at, state));
        }
        cell.revoke(0, 0, KILL + 500, RevokeReason::SteppedDown);
        cell.lead(0, 1, KILL + next);
        let summary = cell.summary();
        (summary.handovers.unplanned, summary.handovers.excused, check(&summary, "handovers").verdict)
    };
    // The tick is a second.
    let long = 7 * T / 20 - 500 + 110;
    assert_eq!(excused(Some(100), None, long), (1, 1, Pass));
    assert_eq!(excused(Some(100), None, long - 100), (1, 0, Fail), "no session can have ended by then");
    assert_eq!(excused(None, None, long), (1, 0, Fail), "connected all along");
    assert_eq!(excused(Some(100), Some(400), long), (1, 0, Fail), "connected again");
}

#[test]
fn a_server_fault_excuses_no_program_that_closed_its_session_itself() {
    // The states that its client reports, by times after the kill.
    let excused = |states: &[(u64, SessionState)]| {
        let mut cell = killed();
        introduce(&mut cell, 0, EvidenceSource::Report);
        cell.info.expect.unplanned = Expectation::Excused;
        states.iter().for_each(|(at, state)| session_says(&mut cell, 0, KILL + at, *state));
        cell.revoke(0, 0, KILL + 500, RevokeReason::SteppedDown);
        cell.lead(0, 1, KILL + 1_500);
        let summary = cell.summary();
        (summary.handovers.unplanned, summary.handovers.excused, check(&summary, "handovers").verdict)
    };
    let (lost, closed) = (SessionState::Disconnected, SessionState::Ended(SessionEnd::Closed));
    assert_eq!(excused(&[(100, lost)]), (1, 1, Pass));
    assert_eq!(excused(&[(100, SessionState::Ended(SessionEnd::Expired))]), (1, 1, Pass));
    assert_eq!(excused(&[(100, closed)]), (1, 0, Fail));
    assert_eq!(excused(&[(100, lost), (300, closed)]), (1, 1, Pass), "it was cut off before");
}

#[test]
fn an_excused_handover_beside_a_stall_excuses_no_other_one() {
    let judged = |stalls: bool, another: bool| {
        let mut cell = killed();
        cell.info.expect.unplanned = Expectation::Excused;
        session_says(&mut cell, 0, KILL + 100, SessionState::Disconnected);
        cell.revoke(0, 0, KILL + 500, RevokeReason::SteppedDown);
        cell.lead(0, 1, KILL + 1_500);
        if stalls {
            let (from, to) = (ms(KILL - 600), ms(KILL + 50));
            cell.host(0).push(Event::Stall { from, to, ran_ns: 0, program: false });
        }
        if another {
            cell.revoke(0, 1, 60_000, RevokeReason::SteppedDown);
            cell.lead(0, 2, 60_010);
        }
        let summary = cell.summary();
        (summary.handovers.unplanned, summary.handovers.excused, check(&summary, "handovers").verdict)
    };
    assert_eq!((judged(false, false), judged(false, true)), ((1, 1, Pass), (2, 1, Fail)));
    assert_eq!((judged(true, false), judged(true, true)), ((1, 1, Inconclusive), (2, 1, Fail)));
}

#[test]
fn a_session_that_a_fault_on_its_own_host_ends_is_not_lost_to_anything_else() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
    cell.inject(FaultKind::Expire, 0, &[0], KILL, None);
    session_says(&mut cell, 0, KILL + 1, SessionState::Disconnected);
    session_says(&mut cell, 0, KILL + 3, SessionState::Ended(SessionEnd::Expired));
    let summary = cell.summary();
    assert_eq!((summary.sessions.disconnected, summary.sessions.lost), (1, 0));
    let undisturbed = Cell::new("predecessor-watch", 1, 3, FaultKind::None).summary();
    assert!(undisturbed.checks.iter().all(|c| c.name != "sessions"));
}

#[test]
fn a_session_that_is_given_up_before_anybody_stood_under_it_is_its_candidate_s() {
    let lost = |hit: u32| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Expire);
        cell.inject(FaultKind::Expire, hit as u16, &[hit], KILL, None);
        session_says(&mut cell, 0, KILL + 1, SessionState::Disconnected);
        session_says(&mut cell, 0, KILL + 3, SessionState::Ended(SessionEnd::Expired));
        let (session, t) = (77, ms(KILL + 5));
        cell.host(0).push(Event::Session { t, session, timeout_ms: T, asked_ms: T, connect_ns: 0 });
        cell.host(0).push(Event::Incarnation { t, cand: 0, session });
        let state = SessionState::Ended(SessionEnd::Closed);
        cell.host(0).push(Event::State { t: ms(KILL + 8), session, state });
        cell.summary().sessions.lost
    };
    assert_eq!((lost(0), lost(1)), (0, 2), "hit itself, and another");
}

/// Host 0 crashes and the ensemble's leader with it; detected `over` after the new leader had served for T.
pub(crate) fn crashed_as_leader_was_lost(over: i64) -> Cell {
    let mut cell = killed();
    let id = cell.fault(FaultKind::Crash, 0, &[0], KILL - 100, None);
    let touch = Touch { session: cell.session(0, 0), last_up: ms(KILL - 600) };
    cell.verification(id, VerificationStage::Injected, KILL - 100, true, vec![touch]);
    let node = cell.node(0, 0);
    cell.kill(0, KILL - 100);
    // The new leader was observed to serve from 390 ms after the kill on.
    let detected = (KILL + 390 + T).strict_add_signed(over);
    cell.wake(0, &node, detected);
    cell.lead(0, 1, detected + 2);
    cell
}

#[test]
fn a_new_ensemble_leader_restarts_the_clock_of_a_session() {
    let summary = crashed_as_leader_was_lost(300).summary();
    let excess = summary.failover.excess.as_ref().unwrap();
    assert_eq!((excess.restarted, excess.early, excess.over_floor.max), (1, 0, ms(300)));
    assert_eq!(excess.over_naive_floor.as_ref().unwrap().max, ms(300 + 390 + 600));
    assert!(check(&summary, "failover").details.iter().any(|l| l.contains("clock restarted by a new ensemble leader")));
}

#[test]
fn the_clock_restarts_a_little_before_the_new_leader_says_that_it_serves() {
    let early = |over: i64, supported: Option<u64>| {
        let mut cell = crashed_as_leader_was_lost(over);
        if let Some(after) = supported {
            cell.log(2, KILL + after, ServerLine::Supported);
        }
        let excess = cell.summary().failover.excess.expect("a session expired");
        (excess.early, excess.over_floor.min)
    };
    // Its log has the time; without a log it is only known to be after the fall of the old leader.
    assert_eq!(early(-3, Some(385)), (0, ms(2)));
    assert_eq!(early(-3, None), (0, 0));
    assert_eq!(early(-200, Some(385)), (1, 0));
    assert_eq!(early(-200, None), (0, 0));
    assert_eq!(early(-500, None), (1, 0));
    // A slightly wrong log time does not move it after the observation that found it serving.
    assert_eq!(early(20, Some(410)), (0, ms(8)));
}

#[test]
fn without_an_election_in_between_no_clock_is_restarted() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    cell.watch();
    cell.crash(KILL, 300);
    let excess = cell.summary().failover.excess.unwrap();
    assert_eq!((excess.restarted, excess.over_floor.max), (0, ms(300)));
    assert!(excess.over_naive_floor.is_none());
}

#[test]
fn counters_of_killed_cut_off_and_stopped_servers_are_not_compared_and_others_are_as_strictly_as_ever() {
    let verdict = |kind: FaultKind, silent| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, kind);
        cell.watch();
        if kind.hits_servers() {
            cell.server_fault(kind, &[1], KILL, KILL + 2_000);
        }
        cell.servers_silent = silent;
        cell.servers_differ = 7;
        let summary = cell.summary();
        let servers = check(&summary, "servers");
        (servers.verdict, servers.headline.strip_prefix("not compared: ").map(str::to_owned))
    };
    for kind in [FaultKind::ServerKill, FaultKind::ServerRestartAll, FaultKind::ServerPartition] {
        for silent in [true, false] {
            let (verdict, why) = verdict(kind, silent);
            assert_eq!((verdict, why.is_some()), (Pass, true), "{kind}");
        }
    }
    assert_eq!(verdict(FaultKind::ServerPause, false), (Pass, Some("a server was stopped".into())));
    assert_eq!(verdict(FaultKind::None, false), (Inconclusive, None));
    assert_eq!(verdict(FaultKind::None, true), (Inconclusive, None));
}

#[test]
fn an_observer_blinded_by_the_fault_on_its_server_hides_nothing_while_no_quorum_serves() {
    let verdict = |back: u64| {
        let mut cell = killed();
        for (t, connected) in [(900, true), (KILL + 10, false), (back, true)] {
            cell.observer.push(Event::ObserverState { t: ms(t), connected });
        }
        cell.verdict("ownership")
    };
    assert_eq!(verdict(KILL + 2_000), Pass);
    assert_eq!(verdict(KILL + 400 + T + 1_000), Pass, "a leader that is told nothing may believe for so long");
    assert_eq!(verdict(KILL + 400 + 2 * T), Inconclusive, "3/2 T and a second");
}

#[test]
fn a_group_without_a_leader_is_excused_while_no_quorum_serves_and_not_for_long_after() {
    let verdict = |led: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::ServerRestartAll);
        cell.watch();
        cell.server_fault(FaultKind::ServerRestartAll, &[], KILL, KILL + 20_000);
        for server in 1..=3 {
            cell.state(server, (KILL, KILL + 10), ServerState::Down, None);
            cell.state(server, (KILL + 19_000, KILL + 19_010), ServerState::NotServing, None);
            let state = if server == 3 { ServerState::Leading } else { ServerState::Following };
            cell.state(server, (KILL + 20_000, KILL + 20_010), state, Some(2 << 32));
        }
        cell.revoke(0, 0, KILL + 10, RevokeReason::SteppedDown);
        cell.lead(0, 0, led);
        let summary = cell.summary();
        assert!(summary.leaderless.longest_ns > ms(led - KILL - 1_000), "measured as ever");
        check(&summary, "liveness").verdict
    };
    assert_eq!(verdict(KILL + 21_000), Pass);
    assert_eq!(verdict(KILL + 35_000), Fail);
}
