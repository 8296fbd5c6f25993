//! For every check of the registry: it can report a problem, and it neither needs nor disturbs the others.

use hustings_reports::analysis::summarise_cell;
use hustings_reports::check::{CHECKERS, CellSummary};
use hustings_reports::index::{Index, plausible};
use proptest::prelude::*;

use crate::elections::outvoted;
use crate::failovers::unverified_fault;
use crate::leads::{late_successor, orphan};
use crate::participation::dropped_out;
use crate::promptness::sleeper;
use crate::sessions::{crashed_as_leader_was_lost, killed};
use crate::stray_writes::late;
use crate::tokens::{grants_by_first_token, writes_with_first_token};
use crate::*;

/// A check, an artificial record that it must not pass, and its worst possible verdict.
type FailingRecord = (&'static str, fn() -> Cell, Verdict);

const RED: &[FailingRecord] = &[
    ("split-brain", || partition(25_600), Fail),
    ("stale-writes", stale_write, Fail),
    ("stray-writes", late, Fail),
    ("write-tokens", writes_with_first_token, Fail),
    ("grant-tokens", grants_by_first_token, Fail),
    ("handovers", false_failover, Fail),
    ("liveness", late_successor, Fail),
    ("effect", refused_owner, Fail),
    ("participation", dropped_out, Fail),
    ("promptness", sleeper, Fail),
    ("failover", unverified_fault, Inconclusive),
    ("fan-out", herd, Fail),
    ("servers", miscounted, Inconclusive),
    ("ownership", orphan, Fail),
    ("sessions", never_established, Inconclusive),
    ("server-elections", outvoted, Fail),
    ("verification", unverified_fault, Inconclusive),
    ("enrolment", never_led, Inconclusive),
    ("stalls", stalled, Inconclusive),
    ("programs", garbage, Fail),
    ("witness", unseen_znode, Fail),
    ("record", endless, Inconclusive),
];

fn stale_write() -> Cell {
    let mut cell = pause(30_005, &[30_002]);
    cell.info.fencing = Fencing::Unfenced;
    cell
}

fn refused_owner() -> Cell {
    let mut cell = Cell::new("lock-race", 1, 3, FaultKind::None);
    let (old_czxid, old_session) = (cell.czxid(0, 0), cell.session(0, 0));
    let how = FencingMethod::Resource;
    cell.coordinator.push(Event::Fence { t: ms(20_000), group: 0, by: 1, old_czxid, old_session, how, done: true });
    cell.write(0, 0, 20_001);
    cell
}

fn herd() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 5, FaultKind::Resign);
    let node = cell.node(0, 0);
    (2..4).for_each(|host| cell.notify(0, host, &node, 20_004));
    cell.resign(0, 20_000);
    cell
}

fn miscounted() -> Cell {
    let mut cell = Cell::new("naive", 1, 4, FaultKind::Resign);
    cell.resign(0, 20_000);
    cell.servers_differ = 2;
    cell
}

fn never_established() -> Cell {
    let mut cell = killed();
    (0..3).for_each(|host| cell.host(host).retain(|event| !matches!(event, Event::Session { .. })));
    cell
}

fn never_led() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    cell.host(0).retain(|event| !matches!(event, Event::Grant { .. } | Event::Granted { .. }));
    cell
}

fn stalled() -> Cell {
    let mut cell = partition(22_000);
    cell.host(0).push(Event::Stall { from: ms(24_000), to: ms(25_000), ran_ns: 0, program: false });
    cell
}

fn garbage() -> Cell {
    let mut cell = Cell::new("foreign:mine", 1, 3, FaultKind::None);
    let (name, version, can) = ("mine".to_owned(), "1".to_owned(), Vec::new());
    cell.host(0).push(Event::Program(Box::new(ProgramInfo {
        t: ms(1_500),
        name,
        version,
        can,
        belief: EvidenceSource::Report,
        why: None,
    })));
    let text = "it said \"hey\", which is no message".to_owned();
    cell.host(0).push(Event::Misbehaved { t: ms(12_000), cand: None, since: None, what: Misbehaviour::Garbage, text });
    cell
}

/// A candidate reports a znode whose creation was never seen on its link, unlike everything else.
fn unseen_znode() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    cell.info.parameters.insert("witness".to_owned(), "true".to_owned());
    for host in 0..3 {
        let (session, node, czxid) = (cell.session(0, host), cell.node(0, host), cell.czxid(0, host));
        let (t, cand) = (ms(2_000), u32::from(host));
        cell.observer.push(Event::Session { t, session, timeout_ms: T, asked_ms: T, connect_ns: ms(5) });
        if host > 0 {
            cell.observer.push(Event::Created { t, cand, session, node, czxid });
        }
    }
    cell
}

fn endless() -> Cell {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
    cell.endless = true;
    cell
}

#[test]
fn every_checker_is_shown_red_by_a_made_record() {
    for (name, ..) in RED {
        assert!(CHECKERS.iter().any(|checker| checker.name == *name), "{name} is no checker");
    }
    for checker in CHECKERS {
        let red = RED.iter().find(|(name, ..)| *name == checker.name);
        let (name, made, worst) = red.unwrap_or_else(|| panic!("no made record shows {} red", checker.name));
        assert!(*worst > Verdict::Pass, "{name} is shown to pass");
        let summary = made().summary();
        assert_eq!(check(&summary, name).verdict, *worst, "{name}: {:#?}", check(&summary, name));
        assert!(summary.verdict >= *worst, "{name}");
    }
}

/// The sections filled in by the checks in this order; the results sorted by name.
fn judged(cell: &CellRecord, order: &[usize]) -> CellSummary {
    let (cell, implausible) = plausible(cell);
    let index = Index::new(&cell, implausible);
    let mut summary = CellSummary::blank(&index);
    for checker in order.iter().map(|&place| &CHECKERS[place]).filter(|checker| (checker.applies)(&index)) {
        checker.run(&index, &mut summary);
    }
    summary.checks.sort_by(|a, b| a.name.cmp(&b.name));
    summary
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn in_whatever_order_checkers_run_they_say_the_same(
        order in Just((0..CHECKERS.len()).collect::<Vec<_>>()).prop_shuffle(),
        red in 0..RED.len() + 1,
    ) {
        let cell = RED.get(red).map_or_else(|| crashed_as_leader_was_lost(300), |(_, made, _)| made());
        let record = cell.record();
        let mut summary = summarise_cell(&record.cells[0]);
        summary.checks.sort_by(|a, b| a.name.cmp(&b.name));
        summary.timelines.clear();
        summary.injections.clear();
        summary.correlated_expiries.clear();
        summary.exceptions.clear();
        prop_assert_eq!(judged(&record.cells[0], &order), summary);
    }
}
