//! The driver's treatment of a cell, on any backend: the targets follow from the seed and the leaders, and every fault
//! hits and is healed at its planned time.

mod fake;
mod group_session;
mod parent;

use std::collections::BTreeSet;

use hustings_record::{Event, FaultKind, FaultOrder, Nanos, Phase, Token, VerificationStage, WithheldReason};
use hustings_workloads::leaders::Leaders;
use hustings_workloads::plan::{LeaderView, ResolvedTarget, plan, resolve};
use hustings_workloads::scenario::{Cell, SHIPPED, Scenario, ShippedScenario, placement};

use fake::{VerificationDelays, drive, drive_verifying};

const MS: Nanos = 1_000_000;
const NEVER: Nanos = Nanos::MAX;

/// The cells of a shipped scenario, with few enough candidates in each for a debug build.
fn cells(shipped: ShippedScenario) -> Vec<Cell> {
    let small = ["election.groups=20".to_owned()];
    let sets = if shipped.name == "million" { &small[..] } else { &[] };
    shipped.parse(sets).expect("it ships").cells()
}

fn one_cell(fault: &str) -> Cell {
    let text = format!(
        "name = \"driven\"\n[election]\ngroups = 3\nhosts = 5\nsession_timeout_ms = 1000\n[ensemble]\ntick_ms = 100\n[faults.it]\n{fault}\n"
    );
    Scenario::parse(&text, "driven.toml", &[]).unwrap_or_else(|error| panic!("{error}")).cells().remove(0)
}

fn phase(events: &[Event], wanted: Phase) -> Option<Nanos> {
    events.iter().find_map(|event| match event {
        Event::Phase { t, phase } if *phase == wanted => Some(*t),
        _ => None,
    })
}

/// When fault `id` was healed.
fn healed(events: &[Event], id: u32) -> Option<Nanos> {
    events.iter().find_map(|event| match event {
        Event::Verification(verification)
            if verification.id == id && verification.stage == VerificationStage::Healed =>
        {
            Some(verification.to)
        }
        _ => None,
    })
}

/// A fault of the record: kind, intended time, and target.
type TargetedFault = (FaultKind, Nanos, ResolvedTarget);

fn hit(events: &[Event]) -> Vec<TargetedFault> {
    let mut all: Vec<TargetedFault> = events
        .iter()
        .filter_map(|event| match event.clone() {
            Event::Fault(fault) => {
                let FaultOrder { kind, intended, hosts, cands, groups, servers, .. } = *fault;
                Some((kind, intended, ResolvedTarget { hosts, cands, groups, servers }))
            }
            _ => None,
        })
        .collect();
    all.sort_by(|a, b| (a.1, &a.2.cands, &a.2.servers).cmp(&(b.1, &b.2.cands, &b.2.servers)));
    all
}

/// The hosts and servers under a lasting fault at this time, according to the record.
fn injured(events: &[Event], at: Nanos) -> (BTreeSet<u16>, BTreeSet<u32>) {
    let (mut out, mut servers_out) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        let Event::Fault(fault) = event else { continue };
        let FaultOrder { id, kind, t, hosts, servers, .. } = &**fault;
        // A fault without a heal is over at once, except a crash whose host stays down.
        let over = healed(events, *id).unwrap_or(*t);
        if *t < at && at < over {
            if kind.exempts_hosts() {
                out.extend(hosts);
            }
            servers_out.extend(servers);
        }
    }
    (out, servers_out)
}

/// The faults by plan and seed of a cell whose groups are led by their first candidates.
fn due(cell: &Cell, seed: u64, begin: Nanos, events: &[Event]) -> Vec<TargetedFault> {
    let mut leaders = Leaders::new(cell.groups as usize, placement(cell, seed));
    for group in 0..cell.groups {
        leaders.believe(group * cell.candidates_per_group, Some(Token { czxid: 1, session: 1 }));
    }
    let mut all = Vec::new();
    for planned in plan(cell, seed).faults {
        let intended = begin + planned.at_ms * MS;
        let (hosts_out, servers_out) = injured(events, intended);
        let alive: Vec<u16> = (0..cell.hosts).filter(|host| !hosts_out.contains(host)).collect();
        let watched = if cell.watch_ms.is_some() { cell.servers } else { 0 };
        let servers: Vec<u32> = (1..=watched).filter(|server| !servers_out.contains(server)).collect();
        let view = LeaderView {
            leader_of_group: &leaders.of_groups(),
            placement: leaders.placement(),
            alive: &alive,
            server_leader: cell.watch_ms.is_some().then_some(1),
            servers: &servers,
        };
        let Ok(hit) = resolve(cell, seed, &planned, view) else { continue };
        let hits = hit.split(cell, planned.kind(), &leaders);
        all.extend(hits.into_iter().map(|hit| (planned.kind(), intended, hit)));
    }
    all.sort_by(|a, b| (a.1, &a.2.cands, &a.2.servers).cmp(&(b.1, &b.2.cands, &b.2.servers)));
    all
}

#[test]
fn every_scenario_that_ships_hits_as_planned_and_hits_whom_the_seed_and_the_leaders_say() {
    for shipped in SHIPPED {
        // The target of a fault that waits for a winner is not known from the plan.
        let planned = |cell: &Cell| cell.faults().all(|(_, fault)| fault.moment.is_planned());
        for cell in cells(shipped).into_iter().filter(planned) {
            let events = drive(&cell, 7, true, NEVER);
            let begin = phase(&events, Phase::Measure).expect("it is measured");
            let due = due(&cell, 7, begin, &events);
            assert_eq!(hit(&events), due, "{}: {}", shipped.name, cell.name);
            assert_eq!(due.is_empty(), cell.fault.kind() == FaultKind::None, "{}", cell.name);
        }
    }
}

#[test]
fn a_fault_is_healed_after_its_time_and_a_server_that_was_killed_for_good_when_the_measuring_ends() {
    let events = drive(&one_cell("kind = \"pause\"\nfor_ms = 700"), 1, true, NEVER);
    let (_, intended, _) = hit(&events)[0];
    assert_eq!(healed(&events, 0), Some(intended + 700 * MS));
    let killed = one_cell("kind = \"server-kill\"");
    let events = drive(&killed, 1, true, NEVER);
    let begin = phase(&events, Phase::Measure).expect("measured");
    assert_eq!(healed(&events, 0), Some(begin + plan(&killed, 1).measure_ms * MS));
    assert_eq!(healed(&drive(&one_cell("kind = \"crash\""), 1, true, NEVER), 0), None, "the dead stay away");
}

#[test]
fn what_is_injured_when_a_cell_is_cut_short_is_healed_at_once_and_the_dead_stay_dead() {
    for (fault, heals) in [("kind = \"pause\"\nfor_ms = 60000", true), ("kind = \"crash\"\nfor_ms = 60000", false)] {
        let cell = one_cell(fault);
        let (_, intended, _) = hit(&drive(&cell, 1, true, NEVER))[0];
        let cut = intended + 5 * MS;
        assert_eq!(healed(&drive(&cell, 1, true, cut), 0), heals.then_some(cut), "{fault}");
        assert!(hit(&drive(&cell, 1, true, intended - MS)).is_empty(), "nothing hits a cell that is over");
    }
}

#[test]
fn a_cell_whose_candidates_do_not_come_to_stand_is_told_so_and_not_hit() {
    let cell = one_cell("kind = \"pause\"\nfor_ms = 700");
    let events = drive(&cell, 1, false, NEVER);
    assert!(hit(&events).is_empty() && phase(&events, Phase::Measure).is_none());
    let told = events
        .iter()
        .any(|event| matches!(event, Event::Note { text, .. } if text.contains("only 0 of 15 candidates stand")));
    assert!(told, "{events:?}");
}

#[test]
fn the_phases_come_in_order_and_the_drain_takes_its_time() {
    let cell = one_cell("kind = \"resign\"");
    let events = drive(&cell, 1, true, NEVER);
    let begun = |event: &Event| if let Event::Phase { t, phase } = event { Some((*t, *phase)) } else { None };
    let phases: Vec<(Nanos, Phase)> = events.iter().filter_map(begun).collect();
    let names: Vec<Phase> = phases.iter().map(|(_, phase)| *phase).collect();
    let (before, after) = ([Phase::SetUp, Phase::Enrol, Phase::WarmUp], [Phase::Drain, Phase::TearDown, Phase::End]);
    assert_eq!(names, [&before[..], &[Phase::Measure, Phase::Heal], &after].concat());
    assert!(phases.is_sorted());
    let measured = plan(&cell, 1).measure_ms * MS;
    assert_eq!(phases[4].0 - phases[3].0, measured);
}

#[test]
fn whatever_ends_a_cell_it_is_torn_down() {
    let cell = one_cell("kind = \"pause\"\nfor_ms = 700");
    let (_, intended, _) = hit(&drive(&cell, 1, true, NEVER))[0];
    for (cut, reached) in [(0, Phase::Enrol), (intended, Phase::Heal)] {
        let events = drive(&cell, 1, true, cut);
        assert_eq!(phase(&events, reached), None, "it was cut short before");
        let (torn_down, end) = (phase(&events, Phase::TearDown), phase(&events, Phase::End));
        assert!(torn_down.is_some() && torn_down <= end, "{events:?}");
    }
}

/// Numbers of planned faults: those of the plan in the record, those injected, and those withheld.
fn fates(events: &[Event]) -> (Vec<u32>, BTreeSet<u32>, Vec<(u32, WithheldReason)>) {
    let (mut planned, mut ordered, mut withheld) = (Vec::new(), BTreeSet::new(), Vec::new());
    for event in events {
        match event {
            Event::FaultPlan { faults, .. } => planned.extend(faults.iter().map(|fault| fault.id)),
            Event::Fault(order) => ordered.extend(order.planned),
            Event::FaultWithheld { planned, why, .. } => withheld.push((*planned, *why)),
            _ => {}
        }
    }
    (planned, ordered, withheld)
}

/// All hosts are cut off, and a second fault is due for them in the meantime.
fn together(with: &str) -> Cell {
    one_cell(&format!(
        "kind = \"partition\"\ntarget = \"share\"\nshare = 1.0\nallow_majority = true\nfor_ms = 900\nrepeat = 2\n\
         with = \"too\"\nwith_after_ms = 200\n[faults.too]\nkind = \"{with}\"\ntarget = \"leaders\"\ngroups = 3"
    ))
}

#[test]
fn every_planned_fault_is_ordered_or_withheld_with_its_reason() {
    let (planned, ordered, withheld) = fates(&drive(&together("parent-delete"), 1, true, NEVER));
    assert_eq!((planned, ordered, withheld), (vec![0, 2, 1, 3], BTreeSet::from([0, 1, 2, 3]), Vec::new()));
    let (planned, ordered, withheld) = fates(&drive(&together("resign"), 1, true, NEVER));
    assert_eq!((planned, ordered), (vec![0, 2, 1, 3], BTreeSet::from([0, 1])));
    assert_eq!(withheld, [2, 3].map(|id| (id, WithheldReason::NoHealthyHost)));
}

#[test]
fn a_fault_that_waits_for_a_winner_hits_no_host_that_came_under_another_fault_meanwhile() {
    let beside = |share: f64| {
        one_cell(&format!(
            "kind = \"partition\"\nmoment = \"won\"\ntarget = \"share\"\nshare = 1.0\nfor_ms = 900\nwith = \"too\"\n\
             with_after_ms = 0\n[faults.too]\nkind = \"slow\"\nlatency_ms = 50\ntarget = \"share\"\nshare = {share:?}\n\
             for_ms = 5000"
        ))
    };
    for seed in 0..10 {
        let events = drive(&beside(0.6), seed, true, NEVER);
        let hosts = |of: FaultKind| -> BTreeSet<u16> {
            hit(&events).into_iter().filter(|(kind, ..)| *kind == of).flat_map(|(_, _, hit)| hit.hosts).collect()
        };
        let (cut, slow) = (hosts(FaultKind::Partition), hosts(FaultKind::Slow));
        assert!(cut.len() == 1 && slow.len() == 3 && cut.is_disjoint(&slow), "{seed}: {cut:?} {slow:?}");
    }
    let (_, ordered, withheld) = fates(&drive(&beside(1.0), 1, true, NEVER));
    assert_eq!((ordered, withheld), (BTreeSet::from([1]), vec![(0, WithheldReason::NoWinner)]));
}

#[test]
fn no_two_lost_replies_wait_on_one_host() {
    let beside = |with: &str| {
        one_cell(&format!(
            "kind = \"lost-reply\"\ntarget = \"share\"\nshare = 1.0\nfor_ms = 900\nwith = \"too\"\n\
             with_after_ms = 200\n[faults.too]\nkind = \"{with}\"\ntarget = \"host-leading-most\"\nfor_ms = 900"
        ))
    };
    let verifying = VerificationDelays { says_after: 500 * MS, ..VerificationDelays::default() };
    let (_, ordered, withheld) = fates(&drive_verifying(&beside("lost-reply"), 1, verifying));
    assert_eq!((ordered, withheld), (BTreeSet::from([0]), vec![(1, WithheldReason::NoHealthyHost)]));
    let (_, ordered, withheld) = fates(&drive_verifying(&beside("partition"), 1, verifying));
    assert_eq!((ordered, withheld), (BTreeSet::from([0, 1]), Vec::new()));
}

#[test]
fn faults_that_were_due_after_a_cell_was_cut_short_are_withheld() {
    let cell = together("parent-delete");
    let (_, intended, _) = hit(&drive(&cell, 1, true, NEVER))[0];
    let (_, ordered, withheld) = fates(&drive(&cell, 1, true, intended + 5 * MS));
    assert_eq!(ordered, BTreeSet::from([0]));
    assert_eq!(withheld, [2, 1, 3].map(|id| (id, WithheldReason::CutShort)));
}

/// Whether the injection of fault 0 is verified.
fn is_verified(events: &[Event]) -> bool {
    let of = |event: &Event| match event {
        Event::Verification(verification) if verification.stage == VerificationStage::Injected => {
            Some(verification.verified)
        }
        _ => None,
    };
    events.iter().find_map(of).expect("a verification")
}

#[test]
fn a_heal_waits_for_no_verification_and_what_is_not_verified_by_then_is_unverified() {
    let cell = one_cell("kind = \"pause\"\nfor_ms = 700");
    for (takes, verified) in [(0, true), (500 * MS, true), (900 * MS, false)] {
        let events = drive_verifying(&cell, 1, VerificationDelays { takes, ..VerificationDelays::default() });
        let (_, intended, _) = hit(&events)[0];
        assert_eq!(healed(&events, 0), Some(intended + 700 * MS), "{takes}");
        assert_eq!(is_verified(&events), verified, "{takes}");
    }
}

#[test]
fn an_effect_that_was_seen_is_verified_though_its_time_is_over_before_the_other_questions_are_answered() {
    let verifying = VerificationDelays { takes: 900 * MS, is_seen: true, ..VerificationDelays::default() };
    let events = drive_verifying(&one_cell("kind = \"pause\"\nfor_ms = 700"), 1, verifying);
    assert!(is_verified(&events));
}

#[test]
fn a_fault_that_is_not_healed_is_verified_however_long_that_takes() {
    let verifying = VerificationDelays { takes: 900 * MS, ..VerificationDelays::default() };
    let events = drive_verifying(&one_cell("kind = \"resign\""), 1, verifying);
    assert!(is_verified(&events));
}

#[test]
fn a_process_that_dies_for_longer_than_it_was_to_be_dead_is_verified_after_that() {
    let cell = one_cell("kind = \"crash\"\nfor_ms = 700");
    for (takes, verified, heals_after) in [(0, true, 3_000), (600 * MS, true, 3_600), (800 * MS, false, 3_700)] {
        let events = drive_verifying(&cell, 1, VerificationDelays { says_after: 3_000 * MS, takes, is_seen: false });
        let (_, intended, _) = hit(&events)[0];
        assert_eq!(is_verified(&events), verified, "{takes}");
        assert_eq!(healed(&events, 0), Some(intended + heals_after * MS), "{takes}");
    }
}
