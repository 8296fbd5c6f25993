//! Cells with external programs, each beside a host of hustings.

use crate::proofs::verify;
use crate::*;

/// A program introduces itself on this host.
pub(crate) fn introduce(cell: &mut Cell, host: u16, belief: EvidenceSource) {
    let (name, version, can) = ("theirs".to_owned(), "1".to_owned(), Vec::new());
    let why = (belief == EvidenceSource::Effect).then(|| "it does not report what it believes".to_owned());
    cell.host(host).push(Event::Program(Box::new(ProgramInfo { t: ms(1_200), name, version, can, belief, why })));
}

#[test]
fn the_stop_of_a_program_excuses_no_stall_of_the_host_beside_it() {
    assert_eq!(pause(30_005, &[]).summary().stalls.over_limit, 0, "a host of ours is stopped itself");
    let mut beside = pause(30_005, &[]);
    introduce(&mut beside, 0, EvidenceSource::Report);
    assert_eq!(beside.summary().stalls.over_limit, 1, "beside a program it goes on");
}

#[test]
fn a_program_stalls_where_it_waits_for_a_processor_and_not_where_a_fault_has_it_stopped() {
    let stalled = |from: u64, to: u64, program: bool| {
        let mut cell = pause(30_005, &[]);
        // Its own stall, added by `pause`, belongs to the process beside a program.
        cell.host(0).retain(|event| !matches!(event, Event::Stall { .. }));
        introduce(&mut cell, 0, EvidenceSource::Report);
        cell.host(0).push(Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program });
        let summary = cell.summary();
        (summary.stalls.count, summary.stalls.longest_ns)
    };
    assert_eq!(stalled(21_000, 29_000, true), (0, 0));
    assert_eq!(stalled(21_000, 29_000, false), (1, ms(8_000)));
    assert_eq!(stalled(29_000, 30_400, true), (1, ms(400) - 100_000), "until the heal was verified");
    assert_eq!(stalled(40_000, 41_000, true), (1, ms(1_000)));
}

#[test]
fn the_stall_of_a_program_is_told_as_its_own_and_no_lead_lost_to_it_is_an_unplanned_handover() {
    let lost = |stalls: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        introduce(&mut cell, 0, EvidenceSource::Report);
        if stalls {
            cell.host(0).push(Event::Stall { from: ms(19_000), to: ms(24_000), ran_ns: 0, program: true });
        }
        let (node, session) = (cell.node(0, 0), cell.session(0, 0));
        cell.host(0).push(Event::State { t: ms(24_000), session, state: SessionState::Ended(SessionEnd::Expired) });
        cell.revoke(0, 0, 24_001, RevokeReason::SteppedDown);
        cell.left(0, 0, 24_001, Departure::SessionEnded(SessionEnd::Expired));
        cell.notify(0, 1, &node, 24_000);
        cell.lead(0, 1, 24_002);
        cell.summary()
    };
    assert_eq!(check(&lost(false), "handovers").verdict, Verdict::Fail);
    let stalled = lost(true);
    assert_eq!(check(&stalled, "handovers").verdict, Verdict::Inconclusive);
    assert!(check(&stalled, "stalls").details.iter().any(|line| line.contains("the program on")));
}

#[test]
fn a_program_that_ends_by_itself_is_no_death_of_the_harness() {
    let ended = |by_itself: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        introduce(&mut cell, 2, EvidenceSource::Report);
        if by_itself {
            let (what, text) = (Misbehaviour::Ended, "the program ended by itself: exit status: 1".to_owned());
            cell.host(2).push(Event::Misbehaved { t: ms(40_000), cand: None, since: None, what, text });
        }
        cell.kill(2, 40_000);
        for event in &mut cell.coordinator {
            if let Event::HostEnded { killed, .. } = event {
                *killed = false;
            }
        }
        cell.summary()
    };
    assert_eq!(ended(false).stalls.over_limit, 1, "nobody knows why the host beside it is gone");
    let summary = ended(true);
    assert_eq!(summary.stalls.over_limit, 0);
    assert!(check(&summary, "programs").details[0].contains("ended by itself"), "{:?}", check(&summary, "programs"));
}

#[test]
fn every_verdict_says_whom_one_has_to_trust_for_it() {
    let rests_on = |belief: Option<EvidenceSource>, name: &str| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        belief.into_iter().for_each(|belief| (0..3).for_each(|host| introduce(&mut cell, host, belief)));
        check(&cell.summary(), name).rests_on.clone()
    };
    for belief in [None, Some(EvidenceSource::Report)] {
        assert_eq!(rests_on(belief, "split-brain"), [EvidenceSource::Report]);
        assert_eq!(rests_on(belief, "ownership"), [EvidenceSource::Wire, EvidenceSource::Report]);
    }
    assert_eq!(
        rests_on(Some(EvidenceSource::Effect), "split-brain"),
        [EvidenceSource::Effect],
        "its writes stand in their place"
    );
    assert_eq!(rests_on(Some(EvidenceSource::Effect), "ownership"), [EvidenceSource::Effect, EvidenceSource::Wire]);
    assert_eq!(rests_on(None, "stalls"), [EvidenceSource::Process]);
    assert!(rests_on(None, "record").is_empty(), "a record is read by nobody's word");
}

#[test]
fn what_stalls_kept_a_program_from_doing_in_time_is_inconclusive_and_everything_else_fails() {
    let verdict = |what: Misbehaviour, since: Option<u64>, stalls: &[(u16, u64, u64)]| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        introduce(&mut cell, 1, EvidenceSource::Report);
        for &(host, from, to) in stalls {
            cell.host(host).push(Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: host == 1 });
        }
        let (t, since, text) = (ms(100_900), since.map(ms), "so it was".to_owned());
        cell.host(1).push(Event::Misbehaved { t, cand: None, since, what, text });
        let summary = cell.summary();
        let check = check(&summary, "programs");
        assert_eq!(check.by_stalls, check.verdict == Inconclusive, "undisturbed, it would tell");
        (check.verdict, summary.programs.misbehaved.contains_key(what.name()))
    };
    let (failed, unclear) = ((Fail, true), (Inconclusive, false));
    use Misbehaviour::{Garbage, LeftBehind, Silent, StopIgnored};
    // T/10 is 400 ms.
    for (what, since, stalls, expected, why) in [
        (StopIgnored, Some(95_900), &[][..], failed, "nothing kept it from ending"),
        (StopIgnored, Some(95_900), &[(1, 97_000, 97_350)], failed, "too little did"),
        (StopIgnored, Some(95_900), &[(1, 97_000, 97_450)], unclear, "it could not use all of its time"),
        (StopIgnored, Some(95_900), &[(1, 97_000, 97_300), (1, 98_000, 98_200)], unclear, "short waits add up"),
        (StopIgnored, Some(90_900), &[(1, 92_000, 97_000)], failed, "it had five seconds beside the stall"),
        (StopIgnored, Some(95_900), &[(2, 97_000, 99_000)], failed, "another host stalled"),
        (StopIgnored, Some(95_900), &[(1, 90_000, 95_800)], failed, "the stall was over"),
        (StopIgnored, None, &[(1, 97_000, 99_000)], failed, "nobody knows since when"),
        (Silent, Some(70_900), &[(1, 72_000, 81_000)], failed, "it had twenty seconds beside it"),
        (Silent, Some(70_900), &[(1, 72_000, 83_000)], unclear, "it had less"),
        (LeftBehind, Some(98_000), &[], failed, "it closed nothing"),
        (LeftBehind, Some(98_000), &[(1, 97_000, 98_300)], failed, "too little of the stall was left"),
        (LeftBehind, Some(98_000), &[(1, 98_500, 98_800), (1, 99_500, 99_700)], unclear, "closing was held up"),
        (LeftBehind, Some(85_900), &[(1, 90_000, 90_300), (1, 95_000, 95_300)], failed, "it had most of 15 s"),
        (LeftBehind, Some(85_900), &[(1, 90_000, 90_450)], unclear, "one long stall may end a connection"),
        (Garbage, Some(98_000), &[(1, 98_500, 99_000)], failed, "no stall makes a program say that"),
    ] {
        assert_eq!(verdict(what, since, stalls), expected, "{what}, {since:?}, {stalls:?}: {why}");
    }
}

#[test]
fn a_grant_that_a_program_stamps_by_another_clock_shifts_no_other_time() {
    let told = |early: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
        introduce(&mut cell, 2, EvidenceSource::Report);
        if early {
            cell.believe(0, 2, 0);
        }
        let (what, text) = (Misbehaviour::Garbage, "no JSON".to_owned());
        cell.host(2).push(Event::Misbehaved { t: ms(40_000), cand: None, since: None, what, text });
        check(&cell.summary(), "programs").details.clone()
    };
    assert!(told(false)[0].contains("no JSON"), "{:?}", told(false));
    assert_eq!(told(true), told(false));
}

/// The verdict on the programs of a cell with a program on each host, and whether it counts this.
fn judged(mut cell: Cell, what: Misbehaviour) -> (Verdict, bool) {
    (0..3).for_each(|host| introduce(&mut cell, host, EvidenceSource::Report));
    let summary = cell.summary();
    let check = check(&summary, "programs");
    assert_eq!(check.by_stalls, check.verdict == Inconclusive, "undisturbed, it would tell");
    (check.verdict, summary.programs.misbehaved.contains_key(what.name()))
}

fn stall(cell: &mut Cell, host: u16, from: u64, to: u64) {
    cell.host(host).push(Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: true });
}

/// The client of the first candidate on host 0 reports this state.
fn report(cell: &mut Cell, t: u64, state: SessionState) {
    let session = cell.session(0, 0);
    cell.host(0).push(Event::State { t: ms(t), session, state });
}

#[test]
fn what_a_program_says_of_a_lost_session_shortens_no_bound_and_what_its_connections_show_does() {
    let verdict = |program: bool, ended: Option<u64>, next: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        if program {
            introduce(&mut cell, 0, EvidenceSource::Report);
        }
        // The word `lost` of a program is recorded as this reason.
        cell.revoke(0, 0, 20_000, RevokeReason::SessionEnded);
        ended.into_iter().for_each(|at| report(&mut cell, at, SessionState::Ended(SessionEnd::Expired)));
        cell.lead(0, 1, next);
        cell.verdict("liveness")
    };
    assert_eq!((verdict(false, None, 24_000), verdict(true, None, 24_000)), (Fail, Pass));
    assert_eq!(verdict(true, Some(20_000), 24_000), Fail, "its session had ended");
    assert_eq!([20_300, 20_600].map(|at| verdict(true, Some(at), 24_000)), [Fail, Pass], "within T/10, and later");
    assert_eq!(verdict(true, None, 28_000), Fail, "a session that lives on delays the next leader for so long at most");
}

#[test]
fn a_leader_that_never_answers_an_order_to_resign_fails_if_it_could_run_and_reach_the_servers() {
    let verdict = |waited: u64, disturb: fn(&mut Cell)| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
        let id = cell.fault(FaultKind::Resign, 0, &[0], 20_000, None);
        verify(&mut cell, id, (20_000, 20_000 + waited), None);
        disturb(&mut cell);
        judged(cell, Misbehaviour::ResignIgnored)
    };
    let (failed, unclear, passed) = ((Fail, true), (Inconclusive, false), (Pass, false));
    assert_eq!(verdict(10_000, |_| {}), failed);
    assert_eq!(verdict(9_000, |_| {}), passed, "something else failed before the wait was over");
    assert_eq!(verdict(10_000, |cell| stall(cell, 0, 20_500, 25_000)), failed, "it could run for 5.5 s");
    assert_eq!(verdict(10_000, |cell| stall(cell, 0, 20_500, 26_500)), unclear);
    assert_eq!(verdict(10_000, |cell| stall(cell, 1, 20_500, 26_500)), failed, "another host stalled");
    let closes = |cell: &mut Cell| report(cell, 21_000, SessionState::Ended(SessionEnd::Closed));
    let loses = |cell: &mut Cell| report(cell, 21_000, SessionState::Disconnected);
    assert_eq!(verdict(10_000, closes), failed, "it closed its session itself");
    assert_eq!(verdict(10_000, loses), passed, "nothing can be released without a connection");
    assert_eq!(verdict(10_000, |cell| cell.revoke(0, 0, 19_000, RevokeReason::SteppedDown)), passed, "it did not lead");
    assert_eq!(
        verdict(10_000, |cell| cell.lasting(FaultKind::Partition, 0, &[0], (22_000, 23_000))),
        passed,
        "its host was cut off"
    );
}

#[test]
fn a_program_that_has_to_be_killed_after_sigterm_fails_if_it_could_run_for_long_enough() {
    let verdict = |killed: &[u16], disturb: fn(&mut Cell)| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Terminate);
        let id = cell.fault(FaultKind::Terminate, 0, &[0], 20_000, None);
        let seen = Evidence::Processes { hosts: vec![(0, ProcessFate::Ended)], killed: killed.to_vec() };
        verify(&mut cell, id, (20_000, 30_000), Some(seen));
        cell.kill(0, 30_000);
        disturb(&mut cell);
        judged(cell, Misbehaviour::TerminateIgnored)
    };
    assert_eq!(verdict(&[0], |_| {}), (Fail, true));
    assert_eq!(verdict(&[], |_| {}), (Pass, false), "it ended, however late");
    assert_eq!(verdict(&[0], |cell| stall(cell, 0, 21_000, 25_500)), (Fail, true), "it could run for 5.5 s");
    assert_eq!(verdict(&[0], |cell| stall(cell, 0, 21_000, 27_000)), (Inconclusive, false));
}

#[test]
fn records_that_do_not_say_whether_a_process_was_killed_after_sigterm_are_read_as_of_one_that_ended() {
    let seen: Evidence = serde_json::from_str(r#"{"of":"processes","hosts":[[0,"ended"]]}"#).unwrap();
    assert_eq!(seen, Evidence::Processes { hosts: vec![(0, ProcessFate::Ended)], killed: Vec::new() });
    assert_eq!(serde_json::to_string(&seen).unwrap(), r#"{"of":"processes","hosts":[[0,"ended"]]}"#);
}

#[test]
fn a_program_that_enrols_again_before_its_pause_is_over_fails() {
    let verdict = |how: Option<Departure>, back: u64, stalled: Option<(u16, u64)>, disturb: fn(&mut Cell)| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
        cell.info.rejoin_after_ms = Some(150);
        cell.inject(FaultKind::Resign, 0, &[0], 20_000, None);
        let node = cell.node(0, 0);
        cell.revoke(0, 0, 20_001, RevokeReason::Resigned);
        how.into_iter().for_each(|how| cell.left(0, 0, 20_004, how));
        cell.wake(0, &node, 20_003);
        cell.lead(0, 1, 20_005);
        cell.join(0, 0, back);
        stalled.into_iter().for_each(|(host, until)| stall(&mut cell, host, 20_002, until));
        disturb(&mut cell);
        judged(cell, Misbehaviour::RejoinedEarly)
    };
    let (failed, unclear, passed) = ((Fail, true), (Inconclusive, false), (Pass, false));
    let deleted = || Some(Departure::Resigned { delete: Some((ms(20_002), ms(20_003))) });
    let expires = |cell: &mut Cell| {
        let state = SessionState::Ended(SessionEnd::Expired);
        cell.host(0).push(Event::State { t: ms(20_010), session: 10_101, state });
    };
    for (how, back, stalled, expected, why) in [
        (deleted(), 20_010, None, failed, "at once"),
        (deleted(), 20_137, None, failed, "after 134 ms"),
        (deleted(), 20_139, None, passed, "a timer may fire a tenth early"),
        (deleted(), 20_300, None, passed, "after 297 ms"),
        (deleted(), 20_103, Some((0, 20_050)), unclear, "the stamp of the answer may be late"),
        (deleted(), 20_023, Some((0, 20_050)), failed, "no stall makes up for the rest"),
        (deleted(), 20_103, Some((1, 20_050)), failed, "another host stalled"),
        (Some(Departure::Stopped), 20_030, None, failed, "it closed its session instead"),
        (Some(Departure::Stopped), 20_300, None, passed, "and waited"),
        (None, 20_002, None, failed, "it had another znode before it gave the first one up"),
        (Some(Departure::SessionEnded(SessionEnd::Expired)), 20_010, None, passed, "it did not resign"),
    ] {
        assert_eq!(verdict(how, back, stalled, |_| {}), expected, "{why}");
    }
    assert_eq!(verdict(deleted(), 20_030, None, expires), passed, "who loses a session enrols again at once");
}

#[test]
fn sessions_of_a_program_under_which_no_candidate_takes_part_are_counted_and_listed() {
    let found = |is_program: bool, is_read: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        if is_program {
            introduce(&mut cell, 1, EvidenceSource::Report);
        }
        // It connects again with a new session each time, and forgets the one before.
        for (session, at) in (900..).zip([20_000, 30_000, 40_000, 50_000]) {
            cell.host(1).push(Event::Session { t: ms(at), session, timeout_ms: T, asked_ms: T, connect_ns: ms(5) });
        }
        let state = SessionState::Ended(SessionEnd::Closed);
        cell.host(1).push(Event::State { t: ms(60_000), session: 903, state });
        if !is_read {
            cell.host(1).push(Event::Unwitnessed { t: ms(60_000), lost: 0, unsound: 1 });
        }
        cell.summary()
    };
    let counts = |summary: &CellSummary| {
        (summary.programs.sessions_without_candidate, summary.programs.sessions_without_candidate_open)
    };
    let summary = found(true, true);
    assert_eq!(counts(&summary), (4, 3));
    let programs = check(&summary, "programs");
    let listed = programs.details.iter().find(|line| line.starts_with("4 sessions without a candidate"));
    let listed = listed.unwrap_or_else(|| panic!("{:?}", programs.details));
    assert!(listed.contains("3 not seen to end: 0x384 on h1 from") && listed.ends_with("; and 1 more"), "{listed}");
    assert_eq!(programs.verdict, Pass, "they decide nothing");
    assert_eq!(counts(&found(true, false)), (0, 0), "what was asked under them could not be read");
    assert_eq!(counts(&found(false, true)), (0, 0), "of no program");
}
