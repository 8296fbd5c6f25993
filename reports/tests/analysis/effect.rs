//! Leads without effect: the leader does not write, or may not.

use hustings_reports::mutations::{SiteOutcome, matrix};

use crate::*;

pub(crate) fn writing_all_along() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    cell.info.work_interval_ms = 100;
    (3_100..TEAR_DOWN).step_by(100).for_each(|t| cell.write(0, 0, t));
    cell
}

#[test]
fn time_without_an_accepted_write_is_what_is_longer_than_the_interval() {
    let summary = writing_all_along().summary();
    assert_eq!((summary.effect.without_write, summary.effect.longest_ns), (0.0, ms(100)));
    let between = summary.effect.between.expect("it wrote");
    assert_eq!((between.n, between.p50, between.max, between.p999), (899, ms(100), ms(100), None));
    assert_eq!(check(&summary, "effect").verdict, Pass);
    let mut cell = writing_all_along();
    cell.coordinator.retain(|e| !matches!(e, Event::Write { t, .. } if (ms(20_000)..ms(29_000)).contains(t)));
    let summary = cell.summary();
    assert_eq!(summary.effect.longest_ns, ms(9_100));
    assert!((summary.effect.without_write - 9.0 / 90.0).abs() < 1e-9, "{}", summary.effect.without_write);
    assert_eq!(summary.leaderless.share, 0.0, "somebody led all the time");
}

#[test]
fn a_leader_that_never_writes_fails_unless_it_could_not() {
    let mut cell = writing_all_along();
    cell.coordinator.retain(|e| !matches!(e, Event::Write { .. }));
    assert_eq!(cell.summary().effect.mute_terms, 1);
    let mut cell = writing_all_along();
    cell.coordinator.retain(|e| !matches!(e, Event::Write { .. }));
    assert_eq!(cell.verdict("effect"), Fail);
    let mut short = writing_all_along();
    short.revoke(0, 0, 19_990, RevokeReason::SteppedDown);
    short.believe(0, 0, 20_000);
    short.revoke(0, 0, 21_900, RevokeReason::Resigned);
    short.coordinator.retain(|e| !matches!(e, Event::Write { t, .. } if *t > ms(20_000)));
    assert_eq!(short.verdict("effect"), Pass, "it had no time to");
}

#[test]
fn a_lead_that_only_its_writes_prove_cannot_show_a_leader_that_never_writes() {
    // Its process reports nothing after its grant, and was seen to be gone later.
    let mut cell = writing_all_along();
    cell.coordinator.retain(|e| !matches!(e, Event::Write { t, .. } if *t > ms(20_000)));
    cell.kill(0, 20_000);
    let (record, name) = (cell.record(), "leader-never-writes");
    assert_eq!(check(&summarise(&record).cells[0], "effect").verdict, Pass);
    let rows = matrix(&record.cells[0]).rows;
    let outcome = rows.into_iter().find(|row| row.mutation == name).expect("a mutation of this name").outcome;
    assert!(matches!(outcome, SiteOutcome::NoSite { .. }), "{outcome:?}");
}

/// It writes throughout, except in this interval.
fn silent_in((from, to): (u64, u64)) -> Cell {
    let mut cell = writing_all_along();
    cell.coordinator.retain(|e| !matches!(e, Event::Write { t, .. } if (ms(from)..ms(to)).contains(t)));
    cell
}

#[test]
fn a_leader_that_is_silent_for_too_long_fails_wherever_in_its_term() {
    // Ten intervals and a second, from the grant at 3 s on.
    assert_eq!(silent_in((3_000, 5_000)).verdict("effect"), Pass);
    for (silence, counts) in [
        ((3_000, 10_000), (1, 0)),
        ((40_000, 43_000), (0, 1)),
        ((50_000, TEAR_DOWN), (0, 1)),
        ((40_000, 41_800), (0, 0)),
    ] {
        let summary = silent_in(silence).summary();
        assert_eq!((summary.effect.late_terms, summary.effect.fallen_silent), counts, "{silence:?}");
        assert_eq!(check(&summary, "effect").verdict, if counts == (0, 0) { Pass } else { Fail }, "{silence:?}");
    }
}

#[test]
fn a_silence_in_which_a_process_could_not_run_is_nobody_s_fault() {
    for writer in ["its own host", "the coordinator"] {
        let mut stalled = silent_in((40_000, 43_000));
        let stall = Event::Stall { from: ms(40_500), to: ms(42_500), ran_ns: 0, program: false };
        if writer == "the coordinator" {
            stalled.coordinator.push(stall)
        } else {
            stalled.host(0).push(stall)
        }
        assert_eq!(stalled.verdict("effect"), Pass, "{writer}");
    }
}

#[test]
fn a_silence_of_which_many_short_stalls_leave_too_little_is_inconclusive_by_stalls() {
    let verdict = |stalled_of_100_ms: u64, silence: (u64, u64), later: Option<(u64, u64)>| {
        let mut cell = silent_in(silence);
        let (from, to) = later.unwrap_or(silence);
        cell.coordinator.retain(|e| !matches!(e, Event::Write { t, .. } if (ms(from)..ms(to)).contains(t)));
        for from in (silence.0..silence.1).step_by(100) {
            let stall = Event::Stall { from: ms(from), to: ms(from + stalled_of_100_ms), ran_ns: 0, program: true };
            cell.host(0).push(stall);
        }
        let summary = cell.summary();
        let check = check(&summary, "effect");
        (check.verdict, check.by_stalls)
    };
    assert_eq!(verdict(90, (40_000, 43_000), None), (Inconclusive, true));
    assert_eq!(verdict(20, (40_000, 43_000), None), (Fail, false), "it could run for 2.4 s");
    assert_eq!(verdict(90, (40_000, 43_000), Some((50_000, 53_000))), (Fail, false), "nothing stalled in the second");
}

#[test]
fn an_owner_whose_writes_are_refused_fails_and_a_zombie_is_fenced_off() {
    let refused = |owner: bool| {
        let mut cell = writing_all_along();
        if !owner {
            cell.own(0, 1, 19_000);
        }
        let (old_czxid, old_session) = (cell.czxid(0, 0), cell.session(0, 0));
        let how = FencingMethod::Resource;
        cell.coordinator.push(Event::Fence { t: ms(20_000), group: 0, by: 1, old_czxid, old_session, how, done: true });
        cell.summary()
    };
    let summary = refused(true);
    assert_eq!(check(&summary, "effect").verdict, Fail);
    assert_eq!((summary.effect.refused, summary.effect.refused_terms), (799, 1));
    assert_eq!(refused(false).effect.refused, 0);
    let mut unfenced = writing_all_along();
    unfenced.info.fencing = Fencing::Unfenced;
    assert_eq!(unfenced.verdict("effect"), Pass);
}

#[test]
fn a_cell_that_was_cut_short_is_not_judged() {
    let mut record = writing_all_along().record();
    record.cells[0].segments[0].events.retain(|e| !matches!(e, Event::Phase { phase: Phase::TearDown, .. }));
    let summary = hustings_reports::analysis::summarise(&record).cells.remove(0);
    assert_eq!(check(&summary, "effect").verdict, Inconclusive);
}

/// Its work hangs in this interval, and it keeps the lead.
fn hung_in((from, to): (u64, u64), silence: (u64, u64)) -> Cell {
    let mut cell = silent_in(silence);
    cell.info.fault_kind = FaultKind::Hang;
    cell.lasting(FaultKind::Hang, 0, &[0], (from, to));
    cell
}

#[test]
fn a_leader_whose_work_hangs_may_be_silent_for_as_long_as_that_and_no_longer() {
    let summary = hung_in((40_000, 43_000), (40_000, 43_000)).summary();
    assert_eq!((summary.effect.hung_leads, summary.effect.fallen_silent), (1, 0));
    assert_eq!(summary.effect.hung_longest_ns, ms(3_000) - 100_000);
    assert_eq!(check(&summary, "effect").verdict, Pass);
    let summary = hung_in((40_000, 43_000), (40_000, 46_000)).summary();
    assert_eq!((summary.effect.hung_leads, summary.effect.fallen_silent), (1, 1), "it never took its work up again");
    assert_eq!(check(&summary, "effect").verdict, Fail);
}

#[test]
fn a_lead_that_is_kept_through_a_hang_is_compared_with_the_cell_where_the_scenario_says_so() {
    let judged = |expected, given_up: bool| {
        let mut cell = hung_in((40_000, 43_000), (40_000, 43_000));
        cell.info.expect.hung_leads = Some(expected);
        if given_up {
            cell.revoke(0, 0, 41_000, RevokeReason::Resigned);
            cell.coordinator.retain(|e| !matches!(e, Event::Write { t, .. } if *t > ms(41_000)));
        }
        cell.verdict("effect")
    };
    assert_eq!(judged(Expectation::None, false), Fail);
    assert_eq!(judged(Expectation::None, true), Pass);
    assert_eq!(judged(Expectation::Some, false), Pass);
    assert_eq!(judged(Expectation::Some, true), Fail);
    assert_eq!(judged(Expectation::Any, false), Pass);
}

/// The interval in which the observer's server had no contact with the quorum, and the owner changed.
const UNSURE: (u64, u64) = (20_000, 20_750);

/// Host 0 leads until host 1 does, at some time within `UNSURE`. Then the token of a host is fenced, at a given time.
fn unsure_owner(fenced: u16, at: u64) -> (u64, Verdict) {
    let mut cell = writing_all_along();
    let (old_czxid, old_session) = (cell.czxid(0, fenced), cell.session(0, fenced));
    cell.revoke(0, 0, UNSURE.1 - 20, RevokeReason::SteppedDown);
    cell.believe(0, 1, UNSURE.1 - 10);
    cell.own(0, 1, UNSURE.1);
    if let Some(Event::Owner(owner)) = cell.observer.last_mut() {
        owner.from = ms(UNSURE.0);
    }
    let how = FencingMethod::Resource;
    cell.coordinator.push(Event::Fence { t: ms(at), group: 0, by: 2, old_czxid, old_session, how, done: true });
    cell.write(0, 1, UNSURE.1 + 60);
    let summary = cell.summary();
    (summary.effect.refused, check(&summary, "effect").verdict)
}

#[test]
fn writes_that_are_refused_count_for_nobody_while_the_owner_is_not_known_and_fail_on_both_sides_of_that() {
    assert_eq!(unsure_owner(0, UNSURE.0 + 10).0, 0, "its znode may have gone by then");
    let (refused, verdict) = unsure_owner(0, UNSURE.0 - 110);
    assert!(refused > 0 && refused < 5, "{refused}: those until then alone");
    assert_eq!(verdict, Fail);
    assert_eq!(unsure_owner(1, UNSURE.1 + 50), (1, Fail), "the next owner is known");
}
