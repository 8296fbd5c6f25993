//! Searches by scripts and careless users, and the folders for records.

use std::fs;

use crate::run_support::Bench;

const CRASH: [&str; 4] = ["--set", "matrix.fault=[\"crash\"]", "--set", "matrix.recipe=[\"naive\"]"];

#[test]
fn a_search_tells_machines_what_it_came_to() {
    let bench = Bench::new();
    let search = |sets: &[&str]| {
        let ran = bench.run(&[&["simulate", "quick", "--seeds", "0..40", "--all", "--json"][..], sets].concat());
        let told: serde_json::Value = serde_json::from_str(&ran.out).expect("nothing else is on standard output");
        (ran.code, told[0].clone())
    };
    let (code, told) = search(&CRASH);
    assert_eq!((code, told["tried"].as_u64(), told["recipe"].as_str()), (0, Some(40), Some("naive")));
    assert_eq!(told["found"].as_array().map(Vec::len), Some(0));
    assert!(told["handovers"].as_u64() > Some(40), "{told}");

    let broken =
        ["--set", "allow_broken=true", "--set", "matrix.recipe=[\"broken:wakes-everybody\"]", CRASH[0], CRASH[1]];
    let (code, told) = search(&broken);
    assert_eq!(code, 1);
    let found = &told["found"][0];
    assert!(found["fails"].as_array().is_some_and(|fails| fails.iter().any(|name| name == "fan-out")), "{found}");
    assert!(found["again"].as_str().is_some_and(|again| again.starts_with("hustings simulate quick")), "{found}");
}

#[test]
fn steps_that_a_schedule_does_not_have_are_refused() {
    let bench = Bench::new();
    let replay = |steps: &str| {
        bench
            .run(&[&["simulate", "quick", "--schedule", "5", "--steps", steps, "--out", "record"][..], &CRASH].concat())
    };
    replay("0,999").expect(2).error(&["--steps 999", "the schedule of seed 5 has"]);
    assert!(!bench.path("record").exists());
}

#[test]
fn a_search_without_candidates_is_refused() {
    let bench = Bench::new();
    bench
        .run(&["simulate", "sequential-start", "--seeds", "0..10"])
        .expect(2)
        .error(&["sequential-start", "candidates"]);
}

#[test]
fn a_folder_with_something_in_it_takes_no_record() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mine")).expect("made");
    let mine = bench.file("mine/summary.json", "my own");
    for command in [&["simulate", "quick"][..], &["run", "quick"], &["run", "quick", "--dry-run"]] {
        let ran = bench.run(&[command, &["--out", "mine"], &CRASH].concat()).expect(4);
        ran.error(&["mine is not empty", "choose another --out"]);
    }
    assert_eq!(fs::read_to_string(mine).expect("it is there"), "my own");
    fs::create_dir(bench.path("empty")).expect("made");
    bench.run(&[&["simulate", "quick", "--out", "empty"][..], &CRASH].concat()).expect(0);
}

#[test]
fn records_that_are_begun_in_one_second_have_folders_of_their_own() {
    let bench = Bench::new();
    let small = ["--set", "election.groups=1", "-q"];
    let simulate = || bench.start(bench.command(&[&["simulate", "quick"][..], &CRASH, &small].concat()));
    let running: Vec<_> = (0..4).map(|_| simulate()).collect();
    running.into_iter().for_each(|run| _ = run.end().expect(0));
    let made: Vec<_> =
        fs::read_dir(bench.path("runs")).expect("made").map(|entry| entry.expect("one").path()).collect();
    assert_eq!(made.len(), 4, "{made:?}");
    assert!(made.iter().all(|record| record.join("report.html").exists()), "{made:?}");
}
