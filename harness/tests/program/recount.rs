//! The independent recount of a record: it agrees with correct records, and detects summaries changed by hand.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run_support::Bench;
use hustings_record::{Event, MANIFEST_FILE, Manifest, Nanos, Phase, SegmentWriter, read_segment, seal_segment};
use serde_json::{Value, json};

/// The recount's output for the record, and its exit code.
fn recount(bench: &Bench, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/recount"));
    command.args(arguments);
    bench.at_home(&mut command);
    let ran = bench.start(command).end();
    (ran.code, ran.out + &ran.err)
}

fn simulated(bench: &Bench, scenario: &str, sets: &[&str]) {
    bench.run(&[&["simulate", scenario, "--out", "record", "--quiet"], sets].concat()).expect(0);
}

/// Changes these figures of a part of the summary: all at once, because each recount takes a while.
fn change(part: &mut Value, figures: &[(&str, Value)]) {
    for (figure, changed) in figures {
        let place = part.pointer_mut(&format!("/{}", figure.replace('.', "/")));
        let place = place.unwrap_or_else(|| panic!("no {figure}"));
        assert_ne!(place, changed, "{figure} is as it was");
        *place = changed.clone();
    }
}

/// The recount names each of these figures of a cell.
fn named(figures: &[(&str, Value)], said: &str) {
    for (figure, _) in figures {
        let listed = format!("{figure}.").replace(".0.", "[0].");
        let named = listed.trim_end_matches('.');
        assert!(said.contains(&format!("  {named}")), "{figure} is not named: {said}");
    }
}

/// Changes the summary of the bench's record, and restores it.
fn broken(bench: &Bench, edit: impl FnOnce(&mut Value)) -> (i32, String) {
    let path = bench.path("record/summary.json");
    let whole = fs::read(&path).expect("a summary");
    let mut summary = serde_json::from_slice(&whole).expect("a summary");
    edit(&mut summary);
    fs::write(&path, summary.to_string()).expect("written");
    let said = recount(bench, &["record"]);
    fs::write(&path, whole).expect("written");
    said
}

#[test]
fn a_figure_that_was_changed_by_hand_is_named() {
    let bench = Bench::new();
    simulated(&bench, "quick", &["--set", "election.groups=6"]);
    let (code, said) = recount(&bench, &["record"]);
    assert_eq!(code, 0, "{said}");
    let figures = [
        ("split_brain.active.seen", json!(1)),
        ("split_brain.active.upper_95", json!(0.01)),
        ("split_brain.possible", json!(1)),
        ("writes.total", json!(77)),
        ("writes.unfenced.seen", json!(1)),
        ("handovers.planned", json!(77)),
        ("handovers.unplanned", json!(1)),
        ("failover.whole.n", json!(77)),
        ("failover.whole.p50", json!(1)),
        ("failover.whole.max", json!(1)),
        ("failover.act.mean", json!(1)),
        ("failover.whole.curve", json!([[1, 1.0]])),
        ("fan_out.woken", json!([0, 0, 0])),
        ("leaderless.share", json!(0.5)),
        ("leaderless.longest_ns", json!(1)),
        ("effect.without_write", json!(0.5)),
        ("ownership.zombies", json!(3)),
        ("enrolment.sessions", json!(1)),
        ("stalls.count", json!(1)),
        ("wholeness.terms", json!(1)),
        ("injections.0.lost", json!(77)),
        ("injections.0.failover.p50", json!(1)),
        ("injections.0.until_write.longest", json!(1)),
        ("injections.0.woken", json!(77)),
        ("faults.verified", json!(0)),
        ("faults.planned", json!(77)),
        ("faults.planned_verified", json!(0)),
        ("faults.lost", json!(1)),
        ("faults.verifications.0.verified", json!(false)),
        ("verdict", json!("fail")),
        ("info.recipe", json!("naive")),
    ];
    let (code, said) = broken(&bench, |summary| {
        change(&mut summary["cells"][1], &figures);
    });
    assert_eq!(code, 1, "{said}");
    named(&figures, &said);
}

#[test]
fn a_figure_that_nobody_recounts_is_told() {
    let bench = Bench::new();
    simulated(&bench, "quick", &["--set", "election.groups=3", "--set", "matrix.recipe=[\"naive\"]"]);
    let (code, said) = broken(&bench, |summary| summary["cells"][0]["handovers"]["lucky"] = json!(1));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("handovers.lucky: unknown"), "{said}");
    let (code, said) = broken(&bench, |summary| {
        summary["cells"][0]["handovers"].as_object_mut().expect("a section").remove("planned");
    });
    assert_eq!(code, 1, "{said}");
    let (code, said) = broken(&bench, |summary| {
        summary["cells"].as_array_mut().expect("cells").pop();
    });
    assert_eq!(code, 1, "{said}");
}

/// Not every fault shows a bug: a resignation shows nothing of one that ignores the end of its session.
#[test]
fn a_self_test_that_one_of_its_cells_catches_is_a_pass_for_the_recount_too() {
    let bench = Bench::new();
    let test = "self_test={recipe=\"broken:ignores-session-loss\"}";
    let faults = "matrix.fault=[\"resign\",\"partition\"]";
    let one = "matrix.recipe=[\"naive\"]";
    simulated(&bench, "quick", &["--set", "election.groups=3", "--set", test, "--set", faults, "--set", one]);
    let (code, said) = recount(&bench, &["record"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = broken(&bench, |summary| {
        let cells = summary["cells"].as_array_mut().expect("cells");
        let tests = cells.iter_mut().filter(|cell| cell["info"]["self_test"] == true);
        tests.for_each(|cell| cell["verdict"] = json!("inconclusive"));
    });
    assert!(code == 1 && said.contains("whole: recounted inconclusive at least"), "{said}");
}

#[test]
fn figures_of_all_repetitions_together_are_recounted() {
    let bench = Bench::new();
    simulated(
        &bench,
        "quick",
        &["--set", "election.groups=4", "--only", "*-crash", "--only", "*-resign", "--repeat", "3"],
    );
    let (code, said) = recount(&bench, &["record"]);
    assert_eq!(code, 0, "{said}");
    let figures = [
        ("pooled", json!(2)),
        ("failed", json!(1)),
        ("verdict", json!("fail")),
        ("medians.most", json!(1)),
        ("repetitions.1.p50", json!(1)),
        ("handovers.injections", json!(77)),
        ("failover.whole.n", json!(1)),
        ("failover.whole.p50", json!(1)),
        ("failover.act.curve", json!([[1, 1.0]])),
        ("failover.excess.over_floor.max", json!(1)),
        ("failover.floor.mean", json!(1)),
        ("split_brain.active.n", json!(1)),
        ("split_brain.active.upper_95", json!(0.01)),
        ("writes.total", json!(1)),
        ("without_leader.share", json!(0.5)),
        ("without_write.longest_ns", json!(1)),
    ];
    let (code, said) = broken(&bench, |summary| {
        let pools = summary["pools"].as_array_mut().expect("pools");
        let crashed = pools.iter_mut().find(|pool| pool["name"] == "naive-crash").expect("a pool");
        change(crashed, &figures);
    });
    assert_eq!(code, 1, "{said}");
    for (figure, _) in figures {
        let named = format!("].{}", figure.replace(".1.", "[1]."));
        assert!(said.contains("  pools[") && said.contains(&named), "{figure} is not named: {said}");
    }
    let (code, said) = broken(&bench, |summary| _ = summary.as_object_mut().expect("a summary").remove("pools"));
    assert_eq!(code, 1, "{said}");
    let (code, said) = broken(&bench, |summary| summary["pools"][0]["lucky"] = json!(1));
    assert!(code == 1 && said.contains("pools[0].lucky: unknown"), "{said}");
}

#[test]
fn elections_of_the_servers_are_recounted() {
    let bench = Bench::new();
    simulated(&bench, "quorum-loss", &["--set", "election.groups=5", "--set", "matrix.fault=[\"kill\",\"clock\"]"]);
    let (code, said) = recount(&bench, &["record"]);
    assert_eq!(code, 0, "{said}");
    let figures = [
        ("ensemble.elections.0.winner", json!(9)),
        ("ensemble.elections.0.outage.0", json!(1)),
        ("ensemble.watch.writes.longest.least_ns", json!(1)),
        ("ensemble.watch.lulls", json!(2)),
    ];
    let (code, said) = broken(&bench, |summary| change(&mut summary["cells"][0], &figures));
    assert_eq!(code, 1, "{said}");
    named(&figures, &said);
}

/// Moves the tear-down to this share of the measured window, in every cell, as when the run is interrupted.
fn interrupt(record: &Path, share: f64) {
    let path = record.join(MANIFEST_FILE);
    let mut manifest: Manifest = serde_json::from_slice(&fs::read(&path).expect("read")).expect("a manifest");
    let segments = manifest.cells.iter_mut().flat_map(|cell| &mut cell.segments);
    for segment in segments.filter(|segment| segment.file.contains("coordinator")) {
        let sealed = record.join("events").join(&segment.file);
        let (mut events, _) = read_segment(&sealed).expect("a segment");
        end_early(&mut events, share);
        let plain = sealed.with_extension("");
        let mut writer = SegmentWriter::create(&plain).expect("made");
        events.iter().for_each(|event| writer.push(event).expect("written"));
        writer.flush().expect("written");
        let made = seal_segment(&plain).expect("sealed");
        assert_eq!(made.path, sealed);
        fs::remove_file(plain).expect("removed");
        (segment.sealed, segment.plain) = (Some((made.bytes, made.crc)), Some(made.plain));
    }
    fs::write(path, manifest.to_sealed_json().expect("json")).expect("written");
}

fn end_early(events: &mut Vec<Event>, share: f64) {
    let begins = |wanted: Phase| {
        let mut times = events.iter().filter_map(|event| {
            let Event::Phase { t, phase } = event else { return None };
            (*phase == wanted).then_some(*t)
        });
        times.next().expect("the phase")
    };
    let (from, to) = (begins(Phase::Measure), begins(Phase::TearDown));
    let end = from + ((to - from) as f64 * share) as Nanos;
    events.retain(|event| !matches!(event, Event::Phase { t, phase: Phase::Drain } if *t >= end));
    for event in events {
        if let Event::Phase { t, phase: Phase::TearDown } = event {
            *t = end;
        }
    }
}

#[test]
fn a_run_that_is_interrupted_at_any_moment_is_recounted() {
    let faults = "matrix.fault=[\"resign\",\"partition\"]";
    for (scenario, sets) in [
        ("quick", &["--set", "election.groups=5", "--set", faults][..]),
        ("split-brain", &["--set", "election.groups=4"][..]),
    ] {
        for share in [0.1, 0.4] {
            let bench = Bench::new();
            simulated(&bench, scenario, sets);
            interrupt(&bench.path("record"), share);
            let made = bench.run(&["report", "record"]);
            assert!([0, 1, 3].contains(&made.code), "{}", made.err);
            let (code, said) = recount(&bench, &["record"]);
            assert_eq!(code, 0, "{scenario}, {share}: {said}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    let bench = Bench::new();
    assert_eq!(recount(&bench, &[]).0, 2);
    assert_eq!(recount(&bench, &["--help-me"]).0, 2);
    assert_eq!(recount(&bench, &["nowhere"]).0, 4);
    simulated(&bench, "quick", &["--set", "election.groups=2", "--set", "matrix.recipe=[\"naive\"]"]);
    let segment = crate::run_support::files(&bench.path("record"), "coordinator.jsonl.zst").remove(0);
    let whole = fs::read(&segment).expect("read");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x10;
    fs::write(&segment, flipped).expect("written");
    assert_eq!(recount(&bench, &["record"]).0, 4);
    fs::write(&segment, whole).expect("written");
    assert_eq!(recount(&bench, &["record"]).0, 0);
}
