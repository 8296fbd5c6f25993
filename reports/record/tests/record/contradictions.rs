//! Sealed records whose events contradict each other, their parameters or the manifest.

use std::collections::BTreeMap;

use hustings_record::*;

use super::forged::{CellEdit, SealedRecord, candidate, one_of_each, ordered, planned, record_of};

/// The parameters of a cell of two groups of two candidates on two hosts, under resignations.
fn two_of_each() -> CellInfo {
    let names = |letter: &str| vec![format!("{letter}0"), format!("{letter}1")];
    let (groups, hosts, candidates_per_group) = (names("g"), names("h"), 2);
    CellInfo { groups, hosts, candidates_per_group, fault_kind: FaultKind::Resign, ..one_of_each() }
}

/// Candidates 0 and 2 are on host 0, and 1 and 3 on host 1. The first two are of group 0.
fn placed(host: u16) -> [Event; 2] {
    let first = u32::from(host);
    [candidate(first, 0), candidate(first + 2, 1)]
}

/// A cell in which these hosts state their candidates, with these events of the coordinator.
fn placed_on(hosts: &[u16], events: &[Event]) -> SealedRecord {
    let mut sealed = record_of(two_of_each(), events);
    hosts.iter().for_each(|host| sealed.add_host(*host, 0, &placed(*host)));
    sealed
}

fn write_of(group: u32, cand: u32, host: u16) -> Event {
    Event::Write {
        t: 2,
        sent: None,
        seq: 0,
        group,
        cand,
        host,
        czxid: 1,
        session: 1,
        unfenced_stale: false,
        fenced_rejected: false,
        fenced_stale: false,
    }
}

fn settled(cand: u32) -> Event {
    Event::Settled { t: 2, cand, session: 1, requests: 1 }
}

/// Asserts that the reader refuses the record for this.
fn assert_refused(sealed: &SealedRecord, what: &str) {
    let refused = sealed.refused();
    assert!(refused.contains(what) && refused.contains("which no run has"), "{what}: {refused}");
}

#[test]
fn a_write_for_another_group_or_host_than_its_candidate_has_is_refused() {
    assert!(placed_on(&[0, 1], &[write_of(0, 1, 1), write_of(1, 2, 0)]).read().is_ok());
    let other_group = "candidate 1 is of group 0 on host 1, and writes of group 1 on host 1";
    assert_refused(&placed_on(&[0, 1], &[write_of(1, 1, 1)]), other_group);
    let other_host = "candidate 1 is of group 0 on host 1, and writes of group 0 on host 0";
    assert_refused(&placed_on(&[0, 1], &[write_of(0, 1, 0)]), other_host);
    // The segment of a killed host may lack its candidates.
    assert!(placed_on(&[0], &[write_of(1, 1, 0)]).read().is_ok());
}

#[test]
fn a_fault_on_a_group_or_candidate_beside_its_target_is_refused() {
    let order = |cands| ordered(FaultKind::Resign, None, cands);
    assert!(placed_on(&[0, 1], &[order(&[0])]).read().is_ok());
    let group = "fault 0, a resignation, hits group 0, and none of its candidates is of that group";
    assert_refused(&placed_on(&[0, 1], &[order(&[2])]), group);
    let host = "fault 0, a resignation, hits a candidate of group 0 on host 1, and not that host";
    assert_refused(&placed_on(&[0, 1], &[order(&[0, 1])]), host);
    assert!(placed_on(&[0], &[order(&[1, 2])]).read().is_ok(), "nobody knows where candidate 1 is");
}

#[test]
fn a_candidate_at_two_places_is_refused_and_one_of_a_restarted_host_is_not() {
    let mut restarted = placed_on(&[0, 1], &[]);
    restarted.add_host(0, 1, &placed(0));
    assert!(restarted.read().is_ok());
    let mut moved = placed_on(&[0], &[]);
    moved.add_host(1, 0, &[candidate(0, 0)]);
    assert_refused(&moved, "candidate 0 is of group 0 on host 0, and also of group 0 on host 1");
    let mut regrouped = placed_on(&[0], &[]);
    regrouped.add_host(0, 1, &[candidate(0, 1)]);
    assert_refused(&regrouped, "candidate 0 is of group 0 on host 0, and also of group 1 on host 0");
    let mut crowded = placed_on(&[0, 1], &[]);
    crowded.manifest.cells[0].segments.pop();
    crowded.add_host(1, 1, &[candidate(1, 0), candidate(3, 0)]);
    assert_refused(&crowded, "group 0 has 3 candidates, and by its parameters 2");
}

#[test]
fn a_candidate_that_acts_on_another_host_or_before_it_is_there_is_refused() {
    let mut whole = placed_on(&[1], &[]);
    whole.add_host(0, 0, &[&placed(0)[..], &[settled(0)]].concat());
    assert!(whole.read().is_ok());
    let mut elsewhere = placed_on(&[1], &[]);
    elsewhere.add_host(0, 0, &[settled(1)]);
    assert_refused(&elsewhere, "candidate 1 is of group 0 on host 1, and acts on host 0");
    let mut reversed = placed_on(&[1], &[]);
    reversed.add_host(0, 0, &[&[settled(0)], &placed(0)[..]].concat());
    assert_refused(&reversed, "candidate 0 acts before its host has it");
}

#[test]
fn a_number_of_servers_that_no_ensemble_has_is_refused() {
    for (servers, what) in [(0, "there would be 0 servers"), (u32::MAX, "there would be 4294967295 servers")] {
        assert_refused(&record_of(CellInfo { servers, ..one_of_each() }, &[]), what);
    }
    assert!(record_of(CellInfo { servers: 255, ..one_of_each() }, &[]).read().is_ok());
    let watched = |server| Event::ServerWatched { t: 2, server, looks: 1, longest_gap_ns: 1 };
    let metrics = Event::Servers { t: 2, at: WindowEdge::Begin, metrics: BTreeMap::from([(3, BTreeMap::new())]) };
    for (event, server) in [(watched(0), 0), (watched(2), 2), (metrics, 3)] {
        let what = format!("it has 1 server, and an event names server {server}, counted from 1");
        assert_refused(&record_of(one_of_each(), &[event]), &what);
    }
    assert!(record_of(one_of_each(), &[watched(1)]).read().is_ok());
}

#[test]
fn groups_or_hosts_of_one_name_are_refused() {
    let edits: [(&str, CellEdit); 2] = [
        ("two groups have one name", |info| info.groups[1] = info.groups[0].clone()),
        ("two hosts have one name", |info| info.hosts[1] = info.hosts[0].clone()),
    ];
    for (what, edit) in edits {
        let mut info = two_of_each();
        edit(&mut info);
        assert_refused(&record_of(info, &[]), what);
    }
}

#[test]
fn what_is_done_of_a_plan_that_nobody_made_is_refused() {
    let crashes = || CellInfo { fault_kind: FaultKind::Crash, ..one_of_each() };
    let (plan, ordered) = (planned(&[FaultKind::Crash, FaultKind::Resign]), |kind| ordered(kind, Some(0), &[0]));
    let withheld = |planned| Event::FaultWithheld { t: 2, planned, why: WithheldReason::NoLeader };
    let as_planned = [plan.clone(), ordered(FaultKind::Crash), withheld(1)];
    assert!(record_of(crashes(), &as_planned).read().is_ok());
    let none = "an event names fault 0 of a plan, and no plan has it";
    assert_refused(&record_of(crashes(), &[ordered(FaultKind::Crash)]), none);
    assert_refused(&record_of(crashes(), &[withheld(0)]), none);
    let other = "fault 0 of its plan is a crash, and a resignation was ordered";
    assert_refused(&record_of(crashes(), &[plan, ordered(FaultKind::Resign)]), other);
}

#[test]
fn orders_of_one_number_are_refused() {
    let order = |id, planned| {
        let Event::Fault(order) = ordered(FaultKind::Resign, planned, &[0]) else { panic!("it is an order") };
        Event::Fault(Box::new(FaultOrder { id, ..*order }))
    };
    let of = |events: &[Event]| {
        let plan = planned(&[FaultKind::Resign, FaultKind::Resign]);
        record_of(CellInfo { fault_kind: FaultKind::Resign, ..one_of_each() }, &[&[plan], events].concat())
    };
    // A fault of the plan that hits several groups is one order for each.
    assert!(of(&[order(0, Some(0)), order(1, Some(0)), order(2, Some(1)), order(3, None)]).read().is_ok());
    assert_refused(&of(&[order(0, Some(0)), order(0, Some(1))]), "two orders are fault 0");
    assert_refused(&of(&[order(3, None), order(3, None)]), "two orders are fault 3");
}

#[test]
fn a_verified_crash_after_which_no_process_has_ended_is_refused() {
    let verified = |verified| {
        Event::Verification(Box::new(VerificationEvent {
            id: 0,
            stage: VerificationStage::Injected,
            from: 2,
            to: 2,
            verified,
            evidence: String::new(),
            touches: Vec::new(),
            seen: None,
        }))
    };
    let (t, host, generation, killed, status) = (2, 0, 0, true, String::new());
    let ended = Event::HostEnded { t, host, generation, killed, status, rss_max_kb: 0 };
    let of = |fault_kind, events: &[Event]| {
        let order = ordered(fault_kind, None, &[0]);
        record_of(CellInfo { fault_kind, ..one_of_each() }, &[&[order], events].concat())
    };
    let what = "fault 0, a crash, is verified, and no end of the process of host 0 is recorded";
    assert_refused(&of(FaultKind::Crash, &[verified(true)]), what);
    assert!(of(FaultKind::Crash, &[ended, verified(true)]).read().is_ok());
    assert!(of(FaultKind::Crash, &[verified(false)]).read().is_ok());
    assert!(of(FaultKind::Resign, &[verified(true)]).read().is_ok());
}

#[test]
fn parameters_that_are_recorded_twice_are_refused() {
    let other = || CellInfo { recipe: "lock-race".into(), ..one_of_each() };
    let parameters = |info| Event::Cell { t: 2, info: Box::new(info) };
    let twice = "its parameters are recorded twice, or not at the beginning";
    assert_refused(&record_of(one_of_each(), &[parameters(other())]), twice);
    let mut two_writers = record_of(one_of_each(), &[]);
    two_writers.add_host(0, 0, &[parameters(other())]);
    assert_refused(&two_writers, twice);
}

#[test]
fn a_segment_that_begins_twice_or_goes_on_behind_its_end_is_refused() {
    let head = Event::Segment {
        schema: SCHEMA,
        t: 2,
        cell: 0,
        writer: "coordinator".into(),
        host: None,
        generation: 0,
        pid: 1,
        clock_uncertainty_ns: 1,
    };
    assert_refused(&record_of(one_of_each(), &[head]), "one of its segments begins twice");
    let (end, phase) = (Event::End { t: 2 }, Event::Phase { t: 2, phase: Phase::Measure });
    let behind = "one of its segments goes on behind its end";
    assert_refused(&record_of(one_of_each(), &[end.clone(), phase]), behind);
    // Earlier versions wrote that.
    let stall = Event::Stall { from: 1, to: 3, program: false, ran_ns: 0 };
    assert!(record_of(one_of_each(), &[end, stall]).read().is_ok());
}

#[test]
fn a_manifest_of_more_cells_than_were_planned_or_of_other_names_is_refused() {
    let mut unplanned = record_of(one_of_each(), &[]);
    unplanned.manifest.cells_planned = 1;
    unplanned.keep();
    let refused = unplanned.refused();
    assert!(refused.contains("it has 2 cells, and 1 were planned") && refused.contains("was changed"), "{refused}");
    let mut renamed = record_of(one_of_each(), &[]);
    renamed.manifest.cells[0].name = "../../x".into();
    renamed.keep();
    assert_refused(&renamed, "it is cell 0, and by its events cell 0, \"c0\"");
}

#[test]
fn a_length_in_plain_that_a_segment_does_not_have_is_refused() {
    let mut long = record_of(one_of_each(), &[]);
    long.manifest.cells[0].segments[0].plain = Some(u64::MAX);
    long.keep();
    let refused = long.refused();
    assert!(refused.contains("bytes in plain instead of 18446744073709551615"), "{refused}");
}
