//! The attribution of lost leads to faults, in simulated records: faults that a leader survived, and unverified faults.

use hustings_record::{CellRecord, Event, FaultKind};
use hustings_reports::analysis::summarise_cell;
use hustings_reports::summary::CellSummary;
use hustings_reports::verdict::Verdict;
use hustings_workloads::scenario::{Cell, Scenario};

use crate::records::{cells, record};

/// Eight leaders resign 1.5 s after one of their hosts briefly lost its connections.
fn outlived(hosts: u32, candidates: u32) -> Vec<Cell> {
    let text = format!(
        "name = \"outlived\"\n[ensemble]\nservers = 3\ntick_ms = 200\n[election]\ngroups = 8\nhosts = {hosts}\n\
         candidates_per_group = {candidates}\nsession_timeout_ms = 2000\nstep_down = \"on-expiry\"\nwork_interval_ms = 20\n\
         [phases]\nwarm_up_ms = 300\ndrain_ms = 500\n[faults.drop]\nkind = \"disconnect\"\ntarget = \"host-leading-most\"\n\
         with = \"go\"\nwith_after_ms = 1500\n[faults.go]\nkind = \"resign\"\ntarget = \"leaders\"\ngroups = 8\n[matrix]\n\
         recipe = [\"predecessor-watch\"]\nfault = [\"drop\"]\n[[expect]]\noverlap = \"any\"\nstale_writes = \"any\"\n\
         unplanned = \"any\"\nbecause = \"nothing is expected\"\n"
    );
    Scenario::parse(&text, "outlived", &[]).unwrap_or_else(|error| panic!("{error}")).cells()
}

#[test]
fn resignations_after_an_outlived_disconnect_count_from_the_end_of_belief() {
    let summary = summarise_cell(&record(&outlived(4, 3)[0], 1));
    let whole = summary.failover.whole.expect("failovers");
    assert_eq!((whole.n, summary.handovers.completed), (8, 8));
    assert!(whole.max < 10_000_000, "{whole:?}");
}

#[test]
fn answered_resignations_are_handovers_that_are_retaken_where_nobody_else_stands() {
    let summary = summarise_cell(&record(&outlived(3, 1)[0], 1));
    let handovers = summary.handovers;
    assert_eq!((handovers.completed, handovers.retaken), (8, 8), "{handovers:?}");
}

/// Cells with all kinds of faults that can be simulated.
fn of_all_kinds() -> Vec<Cell> {
    let mut all = cells("quick", &[]);
    all.extend(cells("gauntlet", &[]));
    all.extend(cells("quorum-loss", &[]));
    all.extend(cells("split-brain", &[]));
    all.extend(cells("pauses", &[]));
    all
}

/// The record with only unverified verifications, or without any.
fn unverified(mut record: CellRecord, kept: bool) -> CellRecord {
    for segment in &mut record.segments {
        for event in &mut segment.events {
            if let Event::Verification(verification) = event {
                verification.verified = false;
            }
        }
        segment.events.retain(|event| kept || !matches!(event, Event::Verification(_)));
    }
    record
}

/// Why this summary is wrong for a cell without any verified fault.
fn dishonest(summary: &CellSummary) -> Option<String> {
    let failed = summary.checks.iter().filter(|check| check.verdict == Verdict::Fail);
    let failed: Vec<String> = failed.map(|check| format!("{}: {}", check.name, check.reason())).collect();
    if !failed.is_empty() {
        return Some(failed.join("; "));
    }
    (summary.verdict == Verdict::Pass).then(|| "it passes".to_owned())
}

#[test]
fn a_fault_that_is_not_verified_is_neither_a_failure_nor_a_pass() {
    let mut wrong = Vec::new();
    let mut kinds = std::collections::BTreeSet::new();
    for cell in of_all_kinds().into_iter().filter(|cell| !cell.self_test) {
        let record = record(&cell, 1);
        if record.info.fault_kind == FaultKind::None {
            continue;
        }
        kinds.extend(cell.kinds());
        for kept in [true, false] {
            if let Some(why) = dishonest(&summarise_cell(&unverified(record.clone(), kept))) {
                wrong.push(format!("{} (verifications {}) {why}", cell.name, if kept { "unverified" } else { "gone" }));
            }
        }
    }
    assert!(wrong.is_empty(), "{kinds:?}\n{}", wrong.join("\n"));
}
