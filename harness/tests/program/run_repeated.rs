//! `--repeat`: rounds over all cells, each repetition with its own draws, and pooled figures.

use std::path::Path;
use std::process::Command;

use crate::run_support::scenario::calm;
use crate::run_support::{Bench, summary_of};
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;

fn names(summary: &Summary) -> Vec<&str> {
    summary.cells.iter().map(|cell| cell.info.name.as_str()).collect()
}

/// The intended times of a cell's faults.
fn intended(summary: &Summary, name: &str) -> Vec<u64> {
    let cell = summary.cells.iter().find(|cell| cell.info.name == name).expect("a cell of this name");
    cell.faults.verifications.iter().map(|verification| verification.intended).collect()
}

#[test]
fn a_repeated_run_goes_over_all_cells_in_rounds_on_one_ensemble() {
    let bench = Bench::new();
    let text = calm() + "\n[matrix]\nrecipe = [\"naive\", \"lock-race\", \"poll-race\"]\n";
    let more = ["--ensemble", "embedded", "--only", "naive-*", "--only", "lock-*", "--repeat", "2"];
    let ran = bench.record(&text, &more).expect(0);
    assert_eq!(ran.err.matches("ensemble: embedded:").count(), 1, "{}", ran.err);
    let summary = ran.summary();
    assert_eq!(names(&summary), ["naive-calm", "lock-race-calm", "naive-calm-r2", "lock-race-calm-r2"]);
    assert_eq!((summary.manifest.cells_planned, summary.manifest.cells.len()), (4, 4));
    for (pool, name) in summary.pools.iter().zip(["naive-calm", "lock-race-calm"]) {
        assert_eq!((pool.name.as_str(), pool.planned, pool.pooled, pool.verdict), (name, 2, 2, Verdict::Pass));
        let each = summary.cells.iter().filter(|cell| cell.info.name.starts_with(name));
        let writes: u64 = each.map(|cell| cell.writes.total).sum();
        assert!(pool.writes.total == writes && writes > 0, "{pool:#?}");
    }
    assert_eq!(summary.pools.len(), 2);
    assert_eq!(summary_of(&bench.path("record")), summary);
    let mut recount = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/recount"));
    recount.arg("record");
    bench.at_home(&mut recount);
    bench.start(recount).end().expect(0);
}

#[test]
fn what_repetitions_show_is_told_of_all_of_them_together() {
    let bench = Bench::new();
    let run = ["simulate", "quick", "--only", "*-crash", "--repeat", "5", "--out", "record", "--json"];
    let ran = bench.run(&run).expect(0);
    let summary = ran.summary();
    assert_eq!((summary.pools.len(), summary.cells.len()), (3, 15));
    for pool in &summary.pools {
        let each =
            summary.cells.iter().filter(|cell| cell.info.repetition.as_ref().is_some_and(|one| one.of == pool.name));
        let each: Vec<_> = each.collect();
        let handovers: u64 = each.iter().map(|cell| cell.handovers.completed).sum();
        let whole = pool.failover.whole.as_ref().expect("failovers");
        assert_eq!((each.len(), pool.handovers.completed, whole.n), (5, handovers, handovers));
        let beliefs = pool.split_brain.active.injections;
        assert_eq!((pool.handovers.injections, beliefs), (5, 0), "a crash each, and the dead believe nothing");
        let medians = pool.medians.expect("medians");
        assert!(medians.least <= whole.p50 && whole.p50 <= medians.most && medians.least < medians.most, "{pool:#?}");
    }
    let [pools, each] =
        ["All repetitions of each configuration together", "Every repetition passed."].map(|told| ran.err.find(told));
    assert!(pools.is_some() && pools < each && ran.err.contains("5 of 5"), "{}", ran.err);
}

#[test]
fn the_first_repetition_is_what_the_cell_would_be_alone_and_the_others_are_not() {
    let bench = Bench::new();
    let simulate = |out: &str, more: &[&str]| {
        let run = ["simulate", "quick", "--only", "lock-race-expire", "--seed", "5", "--out", out, "-q"];
        bench.run(&[&run[..], more].concat()).expect(0);
        summary_of(&bench.path(out))
    };
    let (alone, repeated) = (simulate("alone", &[]), simulate("repeated", &["--repeat", "3"]));
    assert!(alone.pools.is_empty() && alone.cells[0].info.repetition.is_none());
    let mut first = repeated.cells[0].clone();
    first.info.repetition = None;
    assert_eq!(first, alone.cells[0]);
    let times =
        ["lock-race-expire", "lock-race-expire-r2", "lock-race-expire-r3"].map(|name| intended(&repeated, name));
    assert!(times[0] != times[1] && times[1] != times[2] && times[0] != times[2], "{times:?}");
    assert!(repeated.manifest.command.contains("--repeat 3"), "{}", repeated.manifest.command);
    assert_eq!(simulate("again", &["--repeat", "3"]), repeated, "and the same again by the same seed");
}

#[test]
fn how_often_is_told_before_anything_is_run_and_nonsense_is_refused() {
    let bench = Bench::new();
    let told = bench.run(&["run", "quick", "--only", "naive-*", "--repeat", "7", "--dry-run"]).expect(0).out;
    assert!(told.contains("4 cells, each 7 times in 7 rounds"), "{told}");
    for bad in ["0", "1001", "-1", "many", "1.5", ""] {
        for command in ["run", "simulate"] {
            let times = format!("--repeat={bad}");
            bench.run(&[command, "quick", &times]).expect(2).error(&["--repeat"]);
        }
    }
    for search in [["--seeds", "0..5"], ["--schedule", "5"]] {
        bench.run(&[&["simulate", "quick", "--repeat", "2"], &search[..]].concat()).expect(2).error(&["--repeat"]);
    }
    let twins = calm().replace("[faults.calm]", "[faults.calm-r2]\nkind = \"none\"\nfor_ms = 500\n[faults.calm]");
    let file = bench.file("twins.toml", &twins).display().to_string();
    bench.run(&["run", &file, "--dry-run"]).expect(0);
    bench.run(&["run", &file, "--dry-run", "--repeat", "2"]).expect(2).error(&["--repeat", "calm-r2", "otherwise"]);
    assert!(!bench.path("runs").exists());
}

#[test]
fn a_repetition_whose_events_are_lost_is_left_out_and_named() {
    let bench = Bench::new();
    bench.run(&["simulate", "quick", "--only", "naive-crash", "--repeat", "3", "--out", "record", "-q"]).expect(0);
    let lost = bench.path("record/events/naive-crash-r2/coordinator.jsonl.zst");
    std::fs::write(&lost, "nothing").expect("written");
    // It describes the record before the damage.
    std::fs::remove_file(bench.path("record/summary.json")).expect("removed");
    let ran = bench.run(&["check", "record", "--salvage", "--json"]).expect(3);
    let pool = &ran.summary().pools[0];
    assert_eq!((pool.verdict, pool.planned, pool.pooled), (Verdict::Inconclusive, 3, 2));
    assert!(ran.err.contains("naive-crash: 2 of 3 repetitions are in its figures; 1 left no record"), "{}", ran.err);
}
