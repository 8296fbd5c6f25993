//! `--repeat`: rounds over all cells, each repetition with draws of its own, and the figures of all together.

mod run_support;

use std::path::Path;
use std::process::Command;

use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;
use run_support::scenario::calm;
use run_support::{Bench, summary_of};

fn names(summary: &Summary) -> Vec<&str> {
    summary.cells.iter().map(|cell| cell.info.name.as_str()).collect()
}

/// The moments at which faults of a cell were intended.
fn intended(summary: &Summary, name: &str) -> Vec<u64> {
    let cell = summary.cells.iter().find(|cell| cell.info.name == name).expect("a cell of this name");
    cell.faults.receipts.iter().map(|receipt| receipt.intended).collect()
}

#[test]
fn a_repeated_run_goes_over_all_cells_in_rounds_and_pools_what_they_show() {
    let bench = Bench::new();
    let run = [
        "run",
        "quick",
        "--ensemble",
        "embedded",
        "--set",
        "election.groups=4",
        "--only",
        "naive-resign",
        "--only",
        "naive-expire",
        "--repeat",
        "2",
        "--out",
        "record",
        "--json",
    ];
    let ran = bench.run(&run).expect(0);
    bench.assert_nothing_left();
    let summary = ran.summary();
    assert_eq!(names(&summary), ["naive-resign", "naive-expire", "naive-resign-r2", "naive-expire-r2"]);
    assert_eq!((summary.manifest.cells_planned, summary.manifest.cells.len()), (4, 4));
    for (pool, name) in summary.pools.iter().zip(["naive-resign", "naive-expire"]) {
        assert_eq!((pool.name.as_str(), pool.planned, pool.pooled, pool.verdict), (name, 2, 2, Verdict::Pass));
        let each = summary.cells.iter().filter(|cell| cell.info.name.starts_with(name));
        let completed: u64 = each.map(|cell| cell.handovers.completed).sum();
        assert!(pool.handovers.completed == completed && completed > 4, "{pool:#?}");
    }
    for told in ["All repetitions of each configuration together", "Each repetition", "2 of 2"] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    assert_eq!(summary_of(&bench.path("record")), summary);
    let mut recount = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/recount"));
    recount.arg("record");
    bench.at_home(&mut recount);
    bench.start(recount).end().expect(0);
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
    let ran = bench.run(&["check", "record", "--salvage", "--json"]).expect(3);
    let pool = &ran.summary().pools[0];
    assert_eq!((pool.verdict, pool.planned, pool.pooled), (Verdict::Inconclusive, 3, 2));
    assert!(ran.err.contains("naive-crash: 2 of 3 repetitions are in its figures; 1 left no record"), "{}", ran.err);
}
