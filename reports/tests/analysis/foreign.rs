//! Cells with external programs, each beside a host of hustings.

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
