//! The analysis of records: every check passes a clean one, fails its violation, and is inconclusive without evidence.

mod builder;
mod confounders;
mod corners;
mod deadlines;
mod echoes;
mod effect;
mod elections;
mod ensemble;
#[path = "../common/events.rs"]
mod events;
mod exports;
mod failover_timelines;
mod failovers;
mod foreign;
mod harness;
mod injections;
mod leads;
mod leaks;
mod load;
mod losses;
mod meetings;
mod observed;
mod oracle;
mod outages;
mod overlaps;
mod parameters;
mod participation;
#[path = "../common/plain.rs"]
mod plain;
mod plans;
mod pools;
mod promptness;
mod proofs;
mod recoveries;
mod registry;
mod replays;
mod runs;
mod self_tests;
mod sessions;
mod stalls;
mod stray_writes;
mod tokens;
mod tuning;
mod void;
mod voiding;
mod wake_ups;
mod windows;
mod write_gaps;
mod writes;

// What many of these files need: each takes it in by `use crate::*`.
use builder::{Cell, END, T, TEAR_DOWN, TICK, check, ms};
use hustings_record::*;
use hustings_reports::analysis::summarise;
use hustings_reports::summary::{CellSummary, Summary};
use hustings_reports::verdict::Verdict::{self, Fail, Inconclusive, Pass};
use leads::{cut_off_failover, false_failover, partition, pause};

#[test]
fn a_clean_crash_cell_passes_every_check() {
    for recipe in ["predecessor-watch", "naive", "lock-race"] {
        let mut cell = Cell::new(recipe, 3, 4, FaultKind::Crash);
        cell.crash(20_000, 300);
        let summary = cell.summary();
        let bad: Vec<_> = summary.checks.iter().filter(|c| c.verdict != Verdict::Pass).collect();
        assert!(bad.is_empty(), "{recipe}: {bad:#?}");
        assert_eq!((summary.handovers.completed, summary.handovers.unplanned), (3, 0));
        assert_eq!(summary.timeout_ms, Some(4_000));
        assert!(!summary.timelines.is_empty() && summary.timelines.len() <= 6);
    }
}

#[test]
fn a_clean_resign_cell_passes_every_check() {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    cell.resign(1, 30_000);
    let summary = cell.summary();
    let bad: Vec<_> = summary.checks.iter().filter(|c| c.verdict != Verdict::Pass).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    // From the end of belief at +1 ms to the confirmed grant at +5.01 ms.
    assert_eq!(summary.failover.whole.unwrap().max, 4_010_000);
    assert_eq!(summary.verdict, Verdict::Pass);
}

#[test]
fn a_self_test_is_caught_only_by_what_its_bug_must_show() {
    let judged = |must_show: Vec<FindingKind>| {
        let mut cell = leads::false_failover();
        (cell.info.self_test, cell.info.must_show) = (true, must_show);
        let summary = cell.summary();
        (summary.checks[0].name.clone(), summary.verdict, summary.checks[0].headline.clone())
    };
    assert_eq!(judged(vec![FindingKind::Unplanned]).1, Verdict::Pass);
    assert_eq!(judged(vec![]).1, Verdict::Pass, "records of old do not say what must be seen");
    let (name, verdict, headline) = judged(vec![FindingKind::FanOut, FindingKind::Watches]);
    assert_eq!((name.as_str(), verdict), ("self-test", Verdict::Inconclusive));
    assert!(headline.contains("by any of fan-out, participation"), "{headline}");
}
